//! Outputs, errors and arguments of bodies.

use serde_json::json;
use tool_dynamic::{ArgumentField, ArgumentType, ElementType};
use tool_runtime::{Arguments, ToolContext, ToolErrorKind};

use super::fixture::{build, run, script};

#[tokio::test]
async fn output_is_text_or_json() {
    for (body, expected, is_json) in [
        ("return 'a b';", "a b", false),
        ("return 1.5;", "1.5", true),
        ("return { b: 1, a: [true, null] };", r#"{"a":[true,null],"b":1}"#, true),
        ("return null;", "null", true),
        ("const unused = 1;", "ok (the body returned no value)", false),
        ("(args) => 1", "ok (the body returned no value)", false),
        ("return await Promise.resolve(7);", "7", true),
        ("return (await Promise.all([1, 2].map(async n => n * 2))).join('-');", "2-4", false),
        ("return new Date(0).toISOString();", "1970-01-01T00:00:00.000Z", false),
        ("return [...'añ😀'].length;", "3", true),
        ("return JSON.stringify(args);", "{}", false),
    ] {
        let output = run(&script(body), "{}").await.unwrap();
        assert_eq!((output.as_text(), output.is_json()), (expected, is_json), "{body}");
    }
}

#[tokio::test]
async fn body_receives_arguments_with_defaults() {
    let stop = ElementType::new(ArgumentType::Object)
        .member(ArgumentField::new("name", ArgumentType::String))
        .member(ArgumentField::new("days", ArgumentType::Integer).default_value(1));
    let spec = script("return args;")
        .field(ArgumentField::new("limit", ArgumentType::Integer).default_value(3))
        .field(ArgumentField::new("note", ArgumentType::String).optional())
        .field(ArgumentField::new("stops", ArgumentType::List).items(stop));
    let output = run(&spec, r#"{"stops": [{"name": "Oslo"}, {"name": "Rome", "days": 2}]}"#);
    let expected = json!({
        "limit": 3,
        "stops": [{ "name": "Oslo", "days": 1 }, { "name": "Rome", "days": 2 }],
    });
    assert_eq!(output.await.unwrap().as_text(), expected.to_string());
}

#[tokio::test]
async fn errors_name_the_line_of_the_body() {
    for (body, expected) in [
        (
            "const a = 1;\nreturn a.b.c;",
            "TypeError: cannot read property 'c' of undefined\nat line 2: `return a.b.c;`",
        ),
        ("throw new Error('no rain');", "Error: no rain\nat line 1: `throw new Error('no rain');`"),
        ("const f = () => {\n  undefined_name();\n};\nf();", "at line 2: `undefined_name();`"),
        ("let a = 1;\nawait null;\na = b;", "at line 3: `a = b;`"),
        ("undeclared = 1;", "ReferenceError"),
        ("throw 'text';", "It threw text"),
        ("throw { a: [1] };", r#"It threw {"a":[1]}"#),
        ("throw () => 1;", "It threw () => 1"),
        ("throw { toJSON() { throw 1; } };", "can't be converted to text"),
        ("JSON = 1; throw { a: 1 };", "can't be converted to text"),
        ("throw undefined;", "It threw undefined"),
        ("return 1n;", "BigInt"),
    ] {
        let error = run(&script(body), "{}").await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::ExecutionFailed, "{body}");
        assert!(error.text().contains(expected), "{body}: {error}");
    }
}

#[tokio::test]
async fn undefined_name_comes_with_advice() {
    for (body, expected) in [
        ("call_tool('a');", "To use `call_tool`, name each tool that the body calls in `tools`."),
        ("fetch('a');", "To use `fetch`, declare the capability `network` in `capabilities`."),
        ("require('fs');", "`require` does not exist in this engine: there are no modules"),
        ("await import('fs');", "In this engine, there are no modules"),
        ("setTimeout(() => 1, 1);", "`setTimeout` does not exist in this engine: there are no"),
        ("process.env;", "`process` does not exist in this engine"),
        ("new URL('a');", "`URL` does not exist in this engine"),
    ] {
        let error = run(&script(body), "{}").await.unwrap_err();
        assert!(error.text().contains(expected), "{body}: {error}");
    }
    let error = build(&script("import fs from 'fs';")).await.err().unwrap();
    assert!(error.text().contains("there are no modules"), "{error}");
    let error = run(&script("throw new Error('fetch is not defined');"), "{}").await.unwrap_err();
    assert!(!error.text().contains("capability"), "{error}");
}

#[tokio::test]
async fn body_that_can_not_be_parsed_is_not_built() {
    for (body, expected) in [
        ("const a = 1;\nreturn a +;", "at line 2: `"),
        ("if (true) {\n  return 1;\n", "at line 2: `"),
        ("import fs from 'fs';", "at line 1: `"),
        ("return 1; /* open", "at line 1: `"),
        ("return `open", "at line 1: `"),
        ("return 1; }\nfunction args() {", "at line "),
        // A body can't end its function to run code when it is parsed.
        ("}); while (true) {} (async () => {", "at line 1: `"),
        ("return 1; } while (true) {} async function f() {", "at line "),
        ("return 1; }, (() => { while (true) {} })(), async () => {", "at line "),
        ("return 1; }\n((() => { while (true) {} })())\n+ async function () {", "at line "),
        ("return 1; }]; while (true) {} [async () => {", "at line "),
    ] {
        let error = build(&script(body)).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments, "{body}");
        assert!(
            error.text().starts_with("The tool was not made. `body`: SyntaxError: "),
            "{error}"
        );
        assert!(error.text().contains(expected), "{body}: {error}");
    }
}

#[tokio::test]
async fn nothing_of_a_body_runs_when_it_is_built() {
    let spec = script("while (true) {}").timeout_seconds(1);
    build(&spec).await.unwrap();
}

#[tokio::test]
async fn console_follows_the_output_and_the_error() {
    let body = "console.log('a', { b: 1 }, undefined);\nconsole.error(2);";
    let output = run(&script(body), "{}").await.unwrap();
    assert_eq!(output.parts()[0].as_text(), Some("Console:\na {\"b\":1} undefined\n2"));
    let error = run(&script(&format!("{body}\nthrow 1;")), "{}").await.unwrap_err();
    assert!(error.text().ends_with("\nConsole:\na {\"b\":1} undefined\n2"), "{error}");
    let body = "for (let i = 0; i < 1e5; i++) console.log('x'.repeat(100));";
    let output = run(&script(body), "{}").await.unwrap();
    let console = output.parts()[0].as_text().unwrap();
    assert!(console.len() < 9_000 && console.ends_with("(the rest is omitted)"), "{console}");
}

#[tokio::test]
async fn calls_share_no_state() {
    let body = "globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count;";
    let tool = build(&script(body)).await.unwrap();
    for _ in 0..2 {
        let output = tool.call(Arguments::from("{}"), &ToolContext::default()).await.unwrap();
        assert_eq!(output.as_text(), "1");
    }
}
