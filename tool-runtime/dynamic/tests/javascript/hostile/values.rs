//! Values that attack the conversion of outputs, errors and arguments.

use tool_runtime::ToolErrorKind;

use super::{Attack, violations};
use crate::fixture::{run, script};

/// Values that have no text, and a part of the error.
const VALUES: &[Attack] = &[
    ("cyclic output", "const a = {}; a.a = a; return a;", "circular"),
    ("giant output", "return 'x'.repeat(300000);", "at most 262144"),
    ("giant object", "return Array(100000).fill('xyz');", "at most 262144"),
    ("getter in the output", "return { get a() { while (true) {} } };", "time limit"),
    ("getter that throws", "return { get a() { throw new Error('got'); } };", "got"),
    (
        "proxy in the output",
        "return new Proxy({}, { ownKeys() { while (true) {} } });",
        "Proxy is not defined",
    ),
    ("toJSON loop", "return { toJSON() { while (true) {} } };", "time limit"),
    ("then in the output", "return { then() { while (true) {} } };", "time limit"),
    ("hostile error", "throw { toString() { while (true) {} } };", "time limit"),
    (
        "hostile message",
        "const e = new Error(''); Object.defineProperty(e, 'message', { get() { while (true) {} } \
         }); throw e;",
        "time limit",
    ),
    ("giant message", "throw new Error('x'.repeat(1e6));", ""),
    ("lone surrogate", "return { a: '\\ud800' };", "JSON"),
    ("console loop", "console.log({ toJSON() { while (true) {} } });", "time limit"),
    ("cyclic list", "const a = []; a.push([a]); return a;", "circular"),
    ("large integer in the output", "return { n: [1n] };", "BigInt"),
    ("lone surrogate as text", "return '\\ud800';", ""),
    ("invalid date", "return new Date(8.64e15 + 1).toISOString();", "RangeError"),
    ("thrown null", "throw null;", "It threw null"),
    ("thrown undefined", "throw undefined;", "It threw undefined"),
    ("thrown symbol", "throw Symbol('x');", "can't be converted to text"),
    ("thrown function", "throw () => 1;", "It threw () => 1"),
    ("thrown object without a text", "throw { __proto__: null };", "can't be converted to text"),
    ("thrown text that is long", "throw 'x'.repeat(1e6);", "It threw xxx"),
    (
        "rejected promise",
        "await Promise.reject({ toString() { throw 1; } });",
        "can't be converted",
    ),
    (
        "name that is a loop",
        "const e = new Error(''); Object.defineProperty(e, 'name', { get() { while (true) {} } }); \
         throw e;",
        "time limit",
    ),
    (
        "name that is a symbol",
        "const e = new Error('m'); e.name = Symbol('x'); throw e;",
        "Error: m",
    ),
    (
        "hook of the stack",
        "Error.prepareStackTrace = () => { while (true) {} }; x();",
        "time limit",
    ),
    (
        "stack that is a loop",
        "const e = new Error(''); Object.defineProperty(e, 'stack', { get() { while (true) {} } }); \
         throw e;",
        "time limit",
    ),
    ("arguments with a loop", "call_tool('x', { get a() { while (true) {} } });", "time limit"),
    ("arguments that are cyclic", "const a = {}; a.a = a; await call_tool('x', a);", "circular"),
    ("arguments with an integer", "await call_tool('x', { n: 1n });", "BigInt"),
    (
        "arguments that are long",
        "await call_tool('x', { a: 'x'.repeat(3e5) });",
        "more than 262144",
    ),
    ("tool that is an object", "await call_tool({ toString: () => 'x' }, {});", "Error"),
    ("tool that is a list", "await call_tool(['x'], {});", "Error"),
];

#[tokio::test]
async fn hostile_values_are_errors() {
    let violations = violations(VALUES).await;
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[tokio::test]
async fn values_without_json_are_null_or_omitted() {
    for (value, expected) in [
        ("NaN", "null"),
        ("-Infinity", "null"),
        ("-0", "0"),
        ("[undefined, () => 1, Symbol('x'), NaN]", "[null,null,null,null]"),
        ("{ a: undefined, b: () => 1, [Symbol('x')]: 1, c: 1 }", r#"{"c":1}"#),
        ("Symbol('x')", "ok (the body returned no value)"),
        ("() => 1", "ok (the body returned no value)"),
        ("new Map([[1, 2]])", "{}"),
        ("new Date(NaN)", "null"),
        ("[, 1]", "[null,1]"),
        ("Object.create({ inherited: 1 })", "{}"),
        ("new String('boxed')", "boxed"),
    ] {
        let output = run(&script(&format!("return {value};")), "{}").await.unwrap();
        assert_eq!(output.as_text().trim_matches('"'), expected, "{value}");
    }
}

#[tokio::test]
async fn invisible_characters_of_errors_are_shown() {
    let body = "throw new Error('read\\u{202e}\\u{e0041} p\\u{430}ypal.com');";
    let error = run(&script(body), "{}").await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::ExecutionFailed);
    let expected = "Error: read<U+202E><U+E0041> p<U+0430>ypal.com\n";
    assert!(error.text().contains(expected), "{error}");
}

#[tokio::test]
async fn console_keeps_a_part_of_values_that_share_a_text() {
    // 1 TB, if all of it was kept.
    let body = "console.log(...Array(60000).fill('x'.repeat(1 << 24))); return 1;";
    let output = run(&script(body), "{}").await.unwrap();
    assert_eq!(output.as_text(), "1");
    let console = output.parts()[0].as_text().unwrap();
    assert!(console.len() < 9_000 && console.ends_with("(the rest is omitted)"), "{console}");
}
