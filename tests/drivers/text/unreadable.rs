//! Tests of marked calls that can't be parsed: they never become the answer without another
//! attempt.

use std::sync::Arc;

use super::extract;
use serde_json::json;
use tool_runtime::__workspace::ToolLookup;
use tool_runtime::drivers::Text;
use tool_runtime::{
    Agent, ChatOptions, ChatReply, Message, ScriptedModel, ToolChoice, ToolDefinition, tool, tools,
};

use super::{lookup, tools as offered};

/// Calls without a name, with an impossible name, or with placeholders for arguments.
const UNREADABLE: [&str; 21] = [
    r#"<tool_call>{"arguments": {"query": "x"}}</tool_call>"#,
    r#"<tool_call>{"name": "search!", "arguments": {"query": "x"}}</tool_call>"#,
    r#"<tool_call>{"name": "search", "arguments": {"query": <query>}}</tool_call>"#,
    r#"<tool_call>{"name": "search", "arguments": {...}}</tool_call>"#,
    r#"<tool_call>{"name": "search", "arguments": <arguments>}</tool_call>"#,
    r#"I'll look.

<tool_call>{"name": "", "arguments": {}}</tool_call>"#,
    "<tool_call>",
    "<tool_call><function=search><parameter=query><query></parameter></function></tool_call>",
    "<tool_call>search<arg_key>query</arg_key><arg_value>[your query here]</arg_value></tool_call>",
    "<function_calls><invoke name=\"search\"><parameter name=\"query\">...</parameter></invoke></function_calls>",
    "<function=><parameter=query>x</parameter></function>",
    "[TOOL_CALLS]sea!rch[ARGS]{\"query\": \"x\"}",
    "<|channel|>commentary to=functions.sea!rch <|message|>{\"query\": \"x\"}<|call|>",
    "<tool_call>{\"name\": \"search\", \"arguments\": {...}}</tool_call><|im_end|>",
    "Thought: I look.\nAction: search",
    "Action: sea!rch\nAction Input: {\"query\": \"x\"}",
    "Action: look_it_up\nAction Input: x",
    "<tool_call>{\"name\": \"search!\", \"arguments\": {}}</tool_call>\nI'll wait for it.",
    // A name with a blank.
    "<tool_call>find it\n<arg_key>query</arg_key><arg_value>x</arg_value></tool_call>",
    "<|tool_call>call:find it{query:<|\"|>x<|\"|>}<tool_call|>",
    "[TOOL_CALLS]find it[ARGS]{\"query\": \"x\"}",
];

/// Calls of offered tools in formats that are not known.
const UNKNOWN_FORMATS: [&str; 18] = [
    r#"<functioncall>{"name": "search", "arguments": {"query": "x"}}</functioncall>"#,
    r#"<TOOL_CALL>{"name": "search", "arguments": {"query": "x"}}</TOOL_CALL>"#,
    r#"<tool name="search">{"query": "x"}</tool>"#,
    "<search><query>x</query></search>",
    r#"[TOOL_REQUEST]{"name": "search", "arguments": {"query": "x"}}[END_TOOL_REQUEST]"#,
    "I'll look.\n\n<longcat_tool_call>search\n<longcat_arg_key>query</longcat_arg_key></longcat_tool_call>",
    "<|begin_of_tool_call|>{\"name\": \"search\"}<|end_of_tool_call|>",
    "Thought: I look.\nAction: search[x]",
    "Action: search\nArguments: {\"query\": \"x\"}",
    "ACTION 1: search(\"x\")",
    "<tool_use>\n<tool_name>search</tool_name>\n<parameters>{\"query\": \"x\"}</parameters>\n</tool_use>",
    "<search query=\"x\"/>",
    "✿FUNCTION✿: search\n✿ARGS✿: {\"query\": \"x\"}",
    "Tool: search\nArguments: {\"query\": \"x\"}",
    "<functioncall>{\"name\": \"search\", \"arguments\": {}}</functioncall>\nI'll wait for it.",
    "Action: search[x]\nObservation: y",
    "<fn name=\"search\">{\"query\": \"x\"}</fn>",
    // Of a tool that is not offered.
    "<functioncall>{\"name\": \"lookup\", \"arguments\": {}}</functioncall>",
];

/// Calls of an offered tool that have no markup of calls, or two meanings.
const EXPRESSIONS: [&str; 26] = [
    "@search(query=\"x\")",
    "I'll look.\n\n@search({\"query\": \"x\"})\n\nI'll wait for it.",
    "[[search({\"query\": \"x\"})]]",
    "[[search(query=\"x\")]]\n\nI'll wait for it.",
    "{{search(query=\"x\")}}",
    "search(query=\"x\")",
    "search({\n  \"query\": \"x\"\n})",
    "await search({ query: \"x\" });",
    "search: {\"query\": \"x\"}",
    "Calling search with {\"query\": \"x\"}",
    "Calling `search` with the arguments:\n{\"query\": \"x\"}",
    "Tool: search\nInput: x",
    "I'll look.\n\nTool: search\nInput: {\"query\": \"x\"}",
    "[search] {\"query\": \"x\"}",
    "-> search(query=\"x\")",
    "tool_name: search\narguments:\n  query: x",
    "assistant to=functions.searchcommentary json{\"query\": \"x\"}",
    "<ctrl42>call\nprint(default_api.search(query='x'))<ctrl43>",
    "<ctrl42>call:search{query:<escape>x<escape>}",
    r#"{"tool": "search", "Tool": "find", "arguments": {"query": "x"}}"#,
    r#"<tool_call>{"tool": "search", "Tool": "find", "arguments": {"query": "x"}}</tool_call>"#,
    r#"<tool_call>{"name": "search", "name": "find", "arguments": {"query": "x"}}</tool_call>"#,
    r#"<tool_call>{"toolName": "find", "tool_name": "search", "query": "x"}</tool_call>"#,
    r#"<tool_call>{"name": "search", "arguments": {"query": "x"}, "input": {"query": "y"}}</tool_call>"#,
    r#"[{"name": "search", "Name": "find", "arguments": {"query": "x"}}]"#,
    "<tool_call>[{\"name\": \"search\", \"Name\": \"find\", \"arguments\": {}}]</tool_call>",
];

/// Texts that mention markup, or quote it.
const ANSWERS: [&str; 47] = [
    "The answer is 4.",
    "<tool_call> is the tag that models write.",
    "Models write <tool_call>",
    "Write `<tool_call>{...}</tool_call>`",
    "Write\n```\n<tool_call>{\"name\": …, \"arguments\": {...}}</tool_call>\n```",
    "For example:\n<tool_call>{\"name\": \"search\", \"arguments\": {...}}</tool_call>",
    "> <tool_call>{...}</tool_call>",
    "<tool_call>{...}</tool_call> is the form.",
    "The list is [1, 2]",
    "Action: search for the customer",
    "Write `Action: search`",
    "Thought: I know.\nAction: None\nAction Input: None\nFinal Answer: 4",
    "<b>search</b>",
    "[search](https://x.io)",
    "For example:\n<functioncall>{\"name\": \"search\"}</functioncall>",
    "```\n<search><query>x</query></search>\n```",
    "> Action: search[x]",
    "Action: we have to search (again)",
    "<functioncall>{\"name\": \"search\", \"arguments\": {}}</functioncall>\nThis is only an example.",
    "To call it:\n<tool_call>{...}</tool_call>\nThe dots stand for the arguments.",
    // Markup that shows something to the user.
    "<!DOCTYPE html>\n<html>\n<body>\n<search>\n<input name=\"query\">\n</search>\n</body>\n</html>",
    "<search>\n<form><input name=\"query\"></form>\n</search>",
    "<toolbar>\n<button>search</button>\n</toolbar>",
    "<catalog>\n  <tool name=\"search\"/>\n</catalog>",
    "<?xml version=\"1.0\"?>\n<actions>\n<action name=\"search\"/>\n</actions>",
    "<function>\n<title>Full text search</title>\n</function>",
    "<action>search the archive</action>",
    "The type is:\n\nfn search(query: Vec<String>) -> Option<Tool>",
    "<T: Tool>search(query: Vec<T>)",
    "<Search query={x} />",
    "<action android:name=\"search\"/>",
    "<function-group>\n<function>Search</function>\n</function-group>",
    "[Call search](https://x.io)",
    "Call: search the archive, please (soon)",
    "<tools><tool name=\"search\"/></tools>",
    "<tools><tool name=\"hammer\"/></tools>",
    "<tools>\n  <tool name=\"hammer\"/>\n  <tool name=\"search\"></tool>\n</tools>",
    "<tools>\n<item>hammer</item>\n</tools>",
    "<Tool name=\"search\"/>",
    "The signature is:\n\nsearch(query: str)",
    "You could call it like this:\n\nsearch(query=\"x\")",
    "> @search(query=\"x\")",
    "Write `[[search({\"query\": \"x\"})]]`",
    "@search(query=\"x\")\ndef find():\n    return (1)",
    "Tool: search\nInput: a query\nOutput: the hits",
    "[[search]]",
    "{\"name\": \"Ann\", \"Name\": \"Bob\"}",
];

/// Searches.
#[tool(effect = "read")]
async fn search(query: String) -> String {
    format!("{query} was found")
}

/// Returns all texts that no format can read.
pub(super) fn texts() -> impl Iterator<Item = &'static str> {
    UNREADABLE.into_iter().chain(UNKNOWN_FORMATS).chain(EXPRESSIONS)
}

async fn requests(reply: &str) -> (usize, String) {
    let model = ScriptedModel::new([ChatReply::text(reply), ChatReply::text("Then not.")]);
    let model = Arc::new(model);
    let agent = Agent::new(Arc::clone(&model), tools![search]).driver(Text::new());
    let run = agent.run("Find x.").await.expect("an answer");
    (2 - model.remaining(), run.text)
}

#[tokio::test]
async fn unreadable_call_is_never_an_answer() {
    let tools = offered::all();
    let long_name =
        format!(r#"<tool_call>{{"name": "{}", "arguments": {{}}}}</tool_call>"#, "a".repeat(200));
    for text in UNREADABLE.into_iter().chain(UNKNOWN_FORMATS).chain([long_name.as_str()]) {
        assert_eq!(extract(text, &lookup(&tools)).calls, [], "{text}");
        assert_eq!(requests(text).await, (2, "Then not.".to_owned()), "{text}");
    }
}

#[tokio::test]
async fn call_without_markup_or_with_two_meanings_is_never_an_answer() {
    let tools = offered::all();
    for text in EXPRESSIONS {
        assert_eq!(extract(text, &lookup(&tools)).calls, [], "{text}");
        assert_eq!(requests(text).await, (2, "Then not.".to_owned()), "{text}");
    }
}

/// Several members may name one tool, and a name may be an argument.
#[test]
fn call_with_one_meaning_is_read() {
    let text_field = json!({"type": "string"});
    let schema = json!({"properties": {"name": text_field, "query": text_field}});
    let user = ToolDefinition::new("add_user", "Does it.", schema);
    let tools = ToolLookup::new(&[&user]);
    for (object, arguments) in [
        (r#"{"tool": "add_user", "name": "Ann"}"#, r#"{"name": "Ann"}"#),
        (
            r#"{"tool": "add_user", "Tool": "add_user", "args": {"query": "x"}}"#,
            r#"{"query": "x"}"#,
        ),
        (r#"{"tool": "add_user", "name": "addUser", "args": {}}"#, "{}"),
        (r#"{"tool": "add_user", "action": "use", "args": {"query": "x"}}"#, r#"{"query": "x"}"#),
        (r#"{"tool": "add_user", "args": [], "kwargs": {"query": "x"}}"#, r#"{"query": "x"}"#),
        (r#"{"name": "add_user", "function": {"name": "add_user", "arguments": {}}}"#, "{}"),
    ] {
        let text = format!("<tool_call>{object}</tool_call>");
        let calls = extract(&text, &tools).calls;
        assert_eq!(calls.len(), 1, "{object}");
        assert_eq!(calls[0].to_string(), format!("add_user({arguments})"), "{object}");
    }
}

#[tokio::test]
async fn mentioned_markup_is_an_answer() {
    for text in ANSWERS {
        assert_eq!(requests(text).await, (1, text.to_owned()), "{text}");
    }
}

#[tokio::test]
async fn unreadable_call_ends_the_run_after_the_last_attempt() {
    let long = format!("<tool_call>{{{}</tool_call>", "x".repeat(100_000));
    for reply in UNREADABLE.into_iter().chain(UNKNOWN_FORMATS).chain([long.as_str()]) {
        let model = Arc::new(ScriptedModel::new([reply, reply, reply].map(ChatReply::text)));
        let agent = Agent::new(Arc::clone(&model), tools![search]).driver(Text::new());
        let stopped = agent.run("Find x.").await.unwrap_err();
        assert_eq!((stopped.reason.code(), model.remaining()), ("UNPARSABLE_REPLY", 0), "{reply}");
        let error = stopped.reason.to_string();
        let is_known = !UNKNOWN_FORMATS.contains(&reply);
        let label = reply.to_lowercase();
        let label = label.find("action").or_else(|| label.find("tool:"));
        let (format, marker) = match label.filter(|_| !reply.contains('<')) {
            Some(at) if is_known => ("in the format `react`: ", at),
            Some(at) => ("can't be read: ", at),
            None if is_known => ("in the format `", reply.find(['<', '[', '✿']).expect("a marker")),
            None => ("can't be read: ", reply.find(['<', '[', '✿']).expect("a marker")),
        };
        assert!(error.contains(format), "{error}");
        let quoted: String = reply[marker..].chars().take(7).collect();
        assert!(error.contains(&format!(": \"{quoted}")), "{error}");
        assert!(error.len() < 1000, "{error}");
        // The transcript has no markup, so the run can be resumed.
        assert_eq!(stopped.transcript.len(), 1, "{reply}");
    }
}

/// The feedback names what is wrong with the JSON, or nothing if that can be read.
#[tokio::test]
async fn feedback_names_the_problem_of_the_json() {
    let placeholder = Some("this is a placeholder: write the value itself at line 1 column ");
    let ellipsis = Some("something is left out here: write it in full");
    for (reply, problem) in [
        (UNREADABLE[2], placeholder),
        (UNREADABLE[4], placeholder),
        (UNREADABLE[3], ellipsis),
        (UNREADABLE[13], ellipsis),
        (r#"[TOOL_CALLS]search[ARGS]{"query": <query>}"#, placeholder),
        (UNREADABLE[0], None),
        (UNREADABLE[7], None),
        (UNREADABLE[12], None),
    ] {
        let model = Arc::new(ScriptedModel::new([reply, reply, reply].map(ChatReply::text)));
        let agent = Agent::new(Arc::clone(&model), tools![search]).driver(Text::new());
        let error = agent.run("Find x.").await.unwrap_err().reason.to_string();
        let after_markup = match problem {
            Some(problem) => format!("\": {problem}"),
            None => "\". Send it again".to_owned(),
        };
        assert!(error.contains(&after_markup), "{reply}: {error}");
        assert!(!error.contains("Send one JSON"), "{error}");
    }
}

/// The limit bounds the time that one reply holds its thread.
#[tokio::test]
async fn reply_with_too_many_calls_is_rejected() {
    let call = r#"<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>"#;
    let object = r#"{"name": "search", "arguments": {"query": "x"}},"#;
    for reply in [
        format!("{call}\n").repeat(10_001),
        call.repeat(40_000),
        format!("[TOOL_CALLS][{}]", object.repeat(10_001).trim_end_matches(',')),
    ] {
        let model = ScriptedModel::new([ChatReply::text(reply), ChatReply::text("None.")]);
        let agent = Agent::new(model, tools![search]).driver(Text::new());
        let answer = agent.run("Find x.").await.expect("an answer");
        let has_result = answer.transcript.iter().any(|it| matches!(it, Message::Tool { .. }));
        assert_eq!((answer.text.as_str(), has_result), ("None.", false));
    }
    let reply = call.repeat(10_000);
    let search = ToolDefinition::new("search", "Does it.", json!({"type": "object"}));
    assert_eq!(extract(&reply, &ToolLookup::new(&[&search])).calls.len(), 10_000);
}

/// A turn may offer tools and allow no call.
#[tokio::test]
async fn call_that_is_not_allowed_is_never_an_answer() {
    for reply in [
        r#"<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>"#,
        r#"{"name": "search", "arguments": {"query": "x"}}"#,
        UNREADABLE[0],
    ] {
        let model = ScriptedModel::new([ChatReply::text(reply), ChatReply::text("Then not.")]);
        let options = ChatOptions::default().tool_choice(ToolChoice::None);
        let agent = Agent::new(model, tools![search]).options(options).driver(Text::new());
        assert_eq!(agent.run("Find x.").await.expect("an answer").text, "Then not.", "{reply}");
    }
}
