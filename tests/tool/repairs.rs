//! Repairs that a tool accepts, by its effect, and the errors for those that it refuses.

use tool_runtime::json::FixKind;
use tool_runtime::{Dispatcher, ToolCall};

use super::*;

/// Writes lines.
#[tool(effect = "write")]
async fn write(#[arg(default)] lines: Vec<String>, note: Option<String>) -> String {
    format!("{} {note:?}", lines.join("+"))
}

/// Says nothing of its effect.
#[tool]
async fn post(#[arg(default)] lines: Vec<String>, note: Option<String>) -> String {
    format!("{} {note:?}", lines.join("+"))
}

/// Writes what there is.
#[tool(effect = "write", repair = "lossy")]
async fn write_all(#[arg(default)] lines: Vec<String>, note: Option<String>) -> String {
    format!("{} {note:?}", lines.join("+"))
}

/// Looks for lines.
#[tool(effect = "read")]
async fn look(#[arg(default)] lines: Vec<String>, note: Option<String>) -> String {
    format!("{} {note:?}", lines.join("+"))
}

/// Wants it plain.
#[tool(effect = "read", repair = "none")]
async fn plain(a: i64) -> i64 {
    a
}

/// A tool that writes never runs with truncated arguments.
#[tokio::test]
async fn truncated_arguments_are_refused_by_tools_with_effects() {
    for (text, accepted) in [
        (r#"{"lines": ["a", "b""#, "a+b None"),
        (r#"{"lines": ["a", "b"]"#, "a+b None"),
        (r#"{"lines": ["a"], "note": "b""#, "a Some(\"b\")"),
        (r#"{"lines": ["a"], "note": "b"#, "a Some(\"b\")"),
        (r#"{"lines": ["a"],"#, "a None"),
        (r#"{"lines": ["a"], "no"#, "a None"),
        ("{", " None"),
        ("```json\n{\"lines\": [\"a\"", "a None"),
    ] {
        for tool in [&write {} as &dyn Tool, &post {}] {
            let error = tool.call(text.into(), &ToolContext::default()).await.unwrap_err();
            assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
            assert!(error.text().contains("cut off"), "{text}: {}", error.text());
            assert!(error.text().contains("Send it whole"), "{text}: {}", error.text());
        }
        assert_eq!(call(&write_all {}, text).await.unwrap(), accepted, "{text}");
        assert_eq!(call(&look {}, text).await.unwrap(), accepted, "{text}");
    }
    // A missing closing bracket in the middle is not a truncation.
    let text = r#"{"lines": ["a", "b"}"#;
    assert_eq!(call(&write {}, text).await.unwrap(), "a+b None");
}

#[tokio::test]
async fn refusal_names_the_repair_and_its_position() {
    assert_eq!(
        refusal(&plain {}, "{\"a\": '1',}").await,
        "`plain` was not called: its arguments are wrong.\n\
         - this tool takes no such repair: leave out the quotes around this value at line 1 \
         column 7, near `{\"a\": '1',}`\n\
         - this tool takes no such repair: leave out the stray comma at line 1 column 10, near \
         `{\"a\": '1',}`\n\
         Call it again with this put right."
    );
    let text = refusal(&plain {}, "Here: {a: '1', b: 2,}").await;
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(text.contains("and 2 more of the kind"), "{text}");
}

#[tokio::test]
async fn whole_float_is_an_integer_without_repair() {
    for text in [r#"{"a": 3}"#, r#"{"a": 3.0}"#, r#"{"a": 3e0}"#] {
        assert_eq!(call(&plain {}, text).await.unwrap(), "3", "{text}");
    }
    assert!(refusal(&plain {}, r#"{"a": "3.0"}"#).await.contains("leave out the quotes"));
}

#[tokio::test]
async fn refused_arguments_are_emitted_to_observers() {
    let dispatcher = Dispatcher::new(tools![plain, write].try_into().unwrap());
    let batch = [("plain", "```{\"a\": 1}```"), ("write", "{\"lines\": [\"a\""), ("plain", "[1")];
    let calls = batch.map(|(name, text)| ToolCall::new("", name, text));
    let executions = dispatcher.dispatch(calls.into()).await;
    let kinds = |at: usize| executions[at].fixes.iter().map(|fix| fix.kind).collect::<Vec<_>>();
    assert_eq!(kinds(0), [FixKind::Fence, FixKind::Fence]);
    assert_eq!(kinds(1), [FixKind::MissingCloser, FixKind::MissingCloser]);
    assert_eq!(kinds(2), []);
    assert!(
        executions
            .iter()
            .all(|execution| execution.is_failure() && execution.decoded_arguments.is_none())
    );
}

#[tokio::test]
async fn arguments_of_another_tool_are_refused() {
    let tagged = "<function=look>{\"note\": \"b\"}</function>";
    let ctx = ToolContext::new(ToolCall::new("", "look", tagged));
    assert_eq!(look {}.call(tagged.into(), &ctx).await.unwrap().as_text(), " Some(\"b\")");
    for name in ["look", "Look", "functions.look", "default_api:look", "notes__look"] {
        let text = json!({"name": name, "arguments": {"note": "b"}});
        let call = ToolCall::new("", "look", text.to_string());
        let output = look {}.call(call.arguments.clone(), &ToolContext::new(call)).await;
        assert_eq!(output.unwrap().as_text(), " Some(\"b\")", "{name}");
    }
    for text in [
        json!({"name": "write", "arguments": {"note": "b"}}),
        json!({"name": "write", "parameters": {}}),
        json!({"function": "write", "arguments": {"note": "b"}}),
        json!({"type": "function", "function": {"name": "write", "arguments": "{\"note\": \"b\"}"}}),
        json!([{"name": "write", "arguments": {"note": "b"}}]),
        json!({"name": "write", "arguments": {"name": "look", "arguments": {"note": "b"}}}),
    ]
    .map(|envelope| envelope.to_string())
    .into_iter()
    .chain([
        "<function=write>{\"note\": \"b\"}</function>".to_owned(),
        "<tool_call>\n<invoke name=\"write\">{\"note\": \"b\"}</invoke>".to_owned(),
    ]) {
        let error = refusal(&look {}, text.as_str()).await;
        let advice =
            "the arguments are those of a call of `write`: call that tool, or send the arguments of `look`";
        assert!(error.contains(advice), "{text}: {error}");
    }
    // The name belongs to another tool of the same provider, or of another provider.
    let text = json!({"name": "jira__look", "arguments": {"note": "b"}}).to_string();
    let call = ToolCall::new("", "github__look", text);
    let output = look {}.call(call.arguments.clone(), &ToolContext::new(call)).await;
    assert!(output.unwrap_err().text().contains("`jira__look`"));
}

/// Takes a call as its arguments.
#[tool(effect = "read")]
async fn relay(name: String, arguments: Value) -> String {
    format!("{name} {arguments}")
}

#[tokio::test]
async fn tool_can_take_a_call_as_arguments() {
    let text = r#"{"name": "write", "arguments": {"note": "b"}}"#;
    assert_eq!(call(&relay {}, text).await.unwrap(), r#"write {"note":"b"}"#);
}

/// All members are optional, and others are ignored.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Filter {
    city: Option<String>,
    days: Option<u32>,
}

/// Deletes what fits.
#[tool(effect = "write")]
async fn delete(filter: Filter) -> String {
    format!("{:?} {:?}", filter.city, filter.days)
}

/// The type ignores unknown members, so the arguments in an envelope would be lost.
#[tokio::test]
async fn envelope_is_opened_or_refused_where_no_member_is_required() {
    for text in [
        r#"{"name": "delete", "arguments": {"city": "Oslo"}}"#,
        r#"{"tool": "delete", "params": {"city": "Oslo"}}"#,
        r#"{"name": "delete", "arguments": "{'city': 'Oslo',}"}"#,
        r#"{"name": "delete", "payload": {"city": "Oslo"}}"#,
        r#"{"toolName": "delete", "toolInput": {"city": "Oslo"}}"#,
        r#"{"city": "Oslo"}"#,
        r#"{"city": "Oslo", "reason": "x"}"#,
    ] {
        assert_eq!(call(&delete {}, text).await.unwrap(), "Some(\"Oslo\") None", "{text}");
    }
    for text in [
        r#"{"name": "delete", "body": {"city": "Oslo"}}"#,
        r#"{"payload": {"city": "Oslo"}}"#,
        r#"{"name": "other", "payload": {"city": "Oslo"}}"#,
        r#"{"name": "delete", "arguments": ["Oslo"]}"#,
        r#"{"name": "delete", "arguments": {"city": "Oslo"}, "thought": "hm"}"#,
        r#"{"name": "other", "arguments": {"city": "Oslo"}}"#,
    ] {
        let error = refusal(&delete {}, text).await;
        assert!(error.contains("alone"), "{text}: {error}");
    }
    assert_eq!(call(&delete {}, "{}").await.unwrap(), "None None");
}

#[tokio::test]
async fn backslash_with_two_meanings_is_refused_by_tools_with_effects() {
    let text = r#"{"note": "it costs \$5"}"#;
    let error = refusal(&write {}, text).await;
    assert!(error.contains("write a backslash that is part of this string twice"), "{error}");
    assert_eq!(call(&look {}, text).await.unwrap(), r#" Some("it costs \\$5")"#);
    let text = r#"{"note": "it\'s Oslo"}"#;
    assert_eq!(call(&write {}, text).await.unwrap(), r#" Some("it's Oslo")"#);
}
