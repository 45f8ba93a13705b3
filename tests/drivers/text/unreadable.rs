//! Tests of marked calls that can't be parsed: they never become the answer without another
//! attempt.

use std::sync::Arc;

use tool_runtime::drivers::Text;
use tool_runtime::drivers::text::extract;
use tool_runtime::{Agent, ChatOptions, ChatReply, ScriptedModel, ToolChoice, tool, tools};

use super::{lookup, tools as offered};

/// Calls without a name, with an impossible name, or with placeholders for arguments.
const UNREADABLE: [&str; 17] = [
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
];

/// Texts that mention markup, or quote it.
const ANSWERS: [&str; 12] = [
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
];

/// Searches.
#[tool(effect = "read")]
async fn search(query: String) -> String {
    format!("{query} was found")
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
    for text in UNREADABLE.iter().copied().chain([long_name.as_str()]) {
        assert_eq!(extract(text, &lookup(&tools)).calls, [], "{text}");
        assert_eq!(requests(text).await, (2, "Then not.".to_owned()), "{text}");
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
    for reply in UNREADABLE.into_iter().chain([long.as_str()]) {
        let model = Arc::new(ScriptedModel::new([reply, reply, reply].map(ChatReply::text)));
        let agent = Agent::new(Arc::clone(&model), tools![search]).driver(Text::new());
        let stopped = agent.run("Find x.").await.unwrap_err();
        assert_eq!((stopped.reason.code(), model.remaining()), ("MISREAD", 0), "{reply}");
        let error = stopped.reason.to_string();
        let (format, marker) = match reply.find("Action:") {
            Some(at) => ("in the format `react`: ", at),
            None => ("in the format `", reply.find(['<', '[']).expect("a marker")),
        };
        assert!(error.contains(format), "{error}");
        let quoted: String = reply[marker..].chars().take(7).collect();
        assert!(error.contains(&format!(": \"{quoted}")), "{error}");
        assert!(error.len() < 1000, "{error}");
        // The transcript has no markup, so the run can be resumed.
        assert_eq!(stopped.transcript.len(), 1, "{reply}");
    }
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
