//! Tests of the names by which a text calls tools.

use super::extract;
use serde_json::json;
use tool_runtime::__workspace::ToolLookup;
use tool_runtime::drivers::Text;
use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, ToolDefinition, tool, tools};

fn definitions(names: &[&str]) -> Vec<ToolDefinition> {
    let schema = json!({ "type": "object" });
    names.iter().map(|name| ToolDefinition::new(*name, "Does it.", schema.clone())).collect()
}

/// A name counts if exactly one tool can be meant.
#[test]
fn written_names_find_the_only_tool_that_is_meant() {
    for (written, offered, expected) in [
        ("get_time", &["get_time", "getTime"][..], Some("get_time")),
        ("getTime", &["get_time", "getTime"], Some("getTime")),
        ("GetTime", &["get_time", "getTime"], None),
        ("GetTime", &["get_time"], Some("get_time")),
        ("get-time", &["getTime"], Some("getTime")),
        ("GET_TIME", &["get_time", "set_time"], Some("get_time")),
        ("functions.get_time", &["get_time"], Some("get_time")),
        ("functions.getTime", &["get_time"], Some("get_time")),
        ("lookup_isbnjson", &["lookup_isbn"], Some("lookup_isbn")),
        ("lookup_isbn_json", &["lookup_isbn"], Some("lookup_isbn")),
        ("to_json", &["to_json", "to"], Some("to_json")),
        ("functions_f_2", &["f"], Some("f")),
        ("functions.f:12", &["f"], Some("f")),
        ("f_2", &["f"], Some("f")),
        ("f_2", &["f", "f_2"], Some("f_2")),
        ("F_2", &["f", "f2"], Some("f2")),
        ("f2", &["f"], None),
        ("f_v2", &["f"], None),
        ("json", &["f"], None),
        ("_2", &["f"], None),
        ("", &["f"], None),
    ] {
        let tools = definitions(offered);
        let lookup = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
        let found = lookup.find(written).map(|tool| tool.name.as_str());
        assert_eq!(found, expected, "{written} of {offered:?}");
    }
}

/// Each marked form of a call of a tool that isn't offered.
#[test]
fn marked_calls_of_unknown_tools_are_calls() {
    let tools = definitions(&["delete_file"]);
    let lookup = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
    for text in [
        r#"<tool_call>{"name": "remove_file", "arguments": {"path": "a"}}</tool_call>"#,
        r#"<tool_call>{"name": "remove_file", "arguments": {"path": "a"}}"#,
        r#"<tool_call>[{"name": "remove_file", "arguments": {"path": "a"}}]</tool_call>"#,
        "<tool_call><function=remove_file><parameter=path>a</parameter></function></tool_call>",
        "<function=remove_file><parameter=path>a</parameter></function>",
        r#"<function=remove_file>{"path": "a"}</function>"#,
        "<tool_call>remove_file<arg_key>path</arg_key><arg_value>a</arg_value></tool_call>",
        r#"[TOOL_CALLS]remove_file[ARGS]{"path": "a"}"#,
        r#"<|python_tag|>remove_file.call(path="a")"#,
        r#"<function_calls>remove_file(path="a")</function_calls>"#,
        r#"<|channel|>commentary to=functions.remove_file<|message|>{"path": "a"}<|call|>"#,
        "```tool_code\nremove_file(path='a')\n```",
        r#"<tool_call>{{"name": "remove_file", "arguments": {{"path": "a"}}}}</tool_call>"#,
        r#"<function_calls><invoke name="remove_file">{"path": "a"}</invoke></function_calls>"#,
        r#"<|tool_call>call:remove_file(path="a")<tool_call|>"#,
        r#"<tool_call>{"name": "remove file", "arguments": {"path": "a"}}</tool_call>"#,
        r#"assistantcommentary to=functions.remove_file json{"path": "a"}"#,
        "to=functions.remove_file json\n{\"path\": \"a\"}",
        "Action: remove_file\nAction Input: {\"path\": \"a\"}",
        "**Action:** remove_file\n**Action Input:** {\"path\": \"a\"}",
    ] {
        let parsed = extract(text, &lookup);
        let calls: Vec<_> = parsed.calls.iter().map(ToString::to_string).collect();
        assert_eq!(calls.len(), 1, "{text}: {parsed:?}");
        assert!(calls[0].starts_with("remove_file({"), "{text}: {calls:?}");
        assert_eq!(parsed.text, "", "{text}");
    }
}

/// `Action:` occurs in prose, too: an object behind it is a call of an unknown tool only if it has
/// arguments.
#[test]
fn object_without_arguments_behind_a_label_is_text() {
    let tools = definitions(&["delete_file"]);
    let lookup = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
    for label in ["Action:", "Action: ", "### Action:\n", "**Action:** ", "Action:\n```json\n"] {
        for (object, expected) in [
            (r#"{"name": "Ann", "age": 3}"#, None),
            (r#"{"name": "Ann"}"#, None),
            (r#"{"action": "Ann", "action_input": {}}"#, Some("Ann")),
            (r#"{"name": "delete_file", "path": "a"}"#, Some("delete_file")),
        ] {
            let text =
                format!("{label}{object}{}", if label.contains("```") { "\n```" } else { "" });
            let parsed = extract(&text, &lookup);
            let call = parsed.calls.first().map(|call| call.name.as_str());
            assert_eq!(call, expected, "{text}");
            if expected.is_none() {
                assert_eq!(parsed.text, text);
            }
        }
    }
}

/// All keys by which models write a call, in each combination, with and without a marker.
#[test]
fn keys_of_calls_are_known_in_text() {
    let tools = definitions(&["delete_file"]);
    let lookup = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
    let names = [
        "name",
        "tool",
        "tool_name",
        "function",
        "function_name",
        "action",
        "recipient_name",
        "toolName",
        "functionName",
        "Name",
        "tool-name",
    ];
    let arguments = [
        "payload",
        "data",
        "inputs",
        "toolInput",
        "Arguments",
        "toolArgs",
        "arguments",
        "parameters",
        "params",
        "input",
        "args",
        "kwargs",
        "tool_input",
        "tool_args",
        "tool_arguments",
        "action_input",
        "function_args",
    ];
    for name in names {
        for arguments in arguments {
            let call = format!(r#"{{"{name}": "delete_file", "{arguments}": {{"path": "a"}}}}"#);
            for text in [
                call.clone(),
                format!("<tool_call>{call}</tool_call>"),
                format!(r#"{{"tool_uses": [{call}]}}"#),
                format!(r#"{{"tool_calls": [{call}]}}"#),
                format!(r#"{{"tool_use": {call}}}"#),
                format!(r#"<tool_call>{{"function_call": {call}}}</tool_call>"#),
                format!(
                    r#"{{"jsonrpc": "2.0", "method": "tools/call", "params": {call}, "id": 1}}"#
                ),
            ] {
                let parsed = extract(&text, &lookup);
                let calls: Vec<_> = parsed.calls.iter().map(ToString::to_string).collect();
                assert_eq!(calls, [r#"delete_file({"path": "a"})"#], "{text}");
                assert_eq!(parsed.text, "", "{text}");
            }
        }
    }
}

/// With one comparison for each offered tool, this would take minutes.
#[test]
fn many_unknown_names_are_looked_up_among_many_tools() {
    const TOOLS: usize = 10_000;
    const CALLS: usize = 25_000;
    let names: Vec<_> = (0..TOOLS).map(|at| format!("tool_with_number_{at:06}_of_many")).collect();
    let tools = definitions(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let lookup = ToolLookup::new(&tools.iter().collect::<Vec<_>>());
    let call = |at| format!("<function=other_with_number_{at:06}_of_many>{{}}</function>\n");
    let text: String = (0..CALLS).map(call).collect();
    let calls = extract(&text, &lookup).calls;
    assert_eq!(calls.len(), CALLS);
    assert_eq!(calls[7].name, "other_with_number_000007_of_many");
}

/// Deletes a file.
#[tool(effect = "write")]
async fn delete_file(path: String) -> String {
    format!("{path} is gone")
}

/// The model receives the error of a native call, and goes on.
#[tokio::test]
async fn marked_call_of_unknown_tool_is_answered_with_nearest_name() {
    let call = r#"<tool_call>{"name": "delete_files", "arguments": {"path": "a"}}</tool_call>"#;
    let model = ScriptedModel::new([ChatReply::text(call), ChatReply::text("Done.")]);
    let agent = Agent::new(model, tools![delete_file]).driver(Text::new());
    let answer = agent.run("Delete a.").await.expect("an answer");
    assert_eq!(answer.text, "Done.");
    let Message::Tool { results } = &answer.transcript[2] else { panic!("{answer:?}") };
    assert!(!results[0].is_success());
    assert!(results[0].text.contains("Did you mean `delete_file`?"), "{}", results[0].text);
}
