//! Tests of the ReAct driver: instructions, parsing and feedback.

mod runs;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::{any, prop_assert, proptest};
use serde_json::{Value, json};
use support::conversation::{assert_complete, echo, refuse, results};
use tool_runtime::drivers::{Driver, ReAct};
use tool_runtime::event::{EventKind, ModelEvent};
use tool_runtime::{
    Agent, AssistantPart, ChatModel, ChatOptions, ChatReply, ChatRequest, ContentPart,
    FinishReason, Image, Message, ModelError, Registry, ScriptedModel, ScriptedTurn, StopReason,
    ToolCall, ToolChoice, ToolDefinition, ToolResult, Tools, Usage, args, async_trait, tool, tools,
};

/// A query.
#[args]
struct Query {
    /// Some words.
    words: String,
    /// The place to search.
    place: Option<Place>,
    /// The number of results.
    #[schemars(range(min = 1, max = 9))]
    most: Option<u8>,
}

/// A place.
#[args]
struct Place {
    /// Its name.
    name: String,
    /// The place around it.
    parent: Option<Box<Place>>,
}

/// Finds things.
#[tool(effect = "read")]
async fn find(args: Query) -> String {
    let place =
        args.place.map(|place| format!("{} in {:?}", place.name, place.parent.map(|it| it.name)));
    format!("{} {place:?} {:?}", args.words, args.most)
}

/// Keeps a text.
#[tool(effect = "write")]
async fn keep(text: String) -> String {
    text
}

fn call(tool: &str, args: &Value) -> String {
    format!(r#"{{"thought": "t", "type": "call_tool", "tool": "{tool}", "args": {args}}}"#)
}

fn answer(text: &str) -> ChatReply {
    ChatReply::text(json!({ "thought": "", "type": "final_answer", "answer": text }).to_string())
}

/// Describes how a reply is parsed.
fn describe(text: &str) -> String {
    let registry = Registry::try_from(tools![find, keep, echo]).unwrap();
    let snapshot = registry.snapshot();
    let offered = snapshot.definitions();
    let messages = [Message::user("Go")];
    let request = ChatRequest::new(&messages).tools(&offered);
    match ReAct::new().parse(ChatReply::text(text), request) {
        Ok(reply) => {
            let part = |part: &AssistantPart| match part {
                AssistantPart::Call(call) => format!("call {call}"),
                AssistantPart::Text { text } => format!("text {text}"),
                AssistantPart::Reasoning(thought) => format!("thought {}", thought.text),
                _ => String::new(),
            };
            reply.parts.iter().map(part).collect::<Vec<_>>().join(" | ")
        }
        Err(error) if error.is_invalid() => format!("invalid: {}", error.feedback),
        Err(error) => format!("unparsable: {}", error.feedback),
    }
}

#[test]
fn decisions_parse_in_all_notations() {
    for (text, expected) in [
        (
            r#"{"thought": "I look.", "type": "call_tool", "tool": "find", "args": {"words": "a"}}"#,
            r#"thought I look. | call find({"words": "a"})"#,
        ),
        // In a fence, after prose, followed by invented text.
        (
            "Sure:\n```json\n{\"thought\": \"\", \"type\": \"call_tool\", \"tool\": \"find\", \"args\": {\"words\": \"a\"}}\n```\nObservation: b\n{\"type\": \"final_answer\", \"answer\": \"b\"}",
            r#"call find({"words": "a"})"#,
        ),
        // With alternative member names.
        (r#"{"action": "find", "action_input": {"words": "a"}}"#, r#"call find({"words": "a"})"#),
        (r#"{"name": "find", "arguments": "{\"words\": \"a\"}"}"#, r#"call find({"words": "a"})"#),
        (r#"{"type": "find", "args": {"words": "a"}}"#, r#"call find({"words": "a"})"#),
        (
            r#"{"type": "tool", "tool": "functions.FIND", "args": {"words": "a"}}"#,
            r#"call find({"words": "a"})"#,
        ),
        (r#"{"action": "Final Answer", "action_input": "b"}"#, "text b"),
        (r#"{"thought": "x", "answer": "b"}"#, "thought x | text b"),
        (r#"{"type": "final_answer", "tool": "", "args": {}, "answer": "b"}"#, "text b"),
        (
            r#"{"type": "call_tool", "tool": "find", "args": {"words": "a"}, "answer": ""}"#,
            r#"call find({"words": "a"})"#,
        ),
        ("Thought: I know.\nFinal Answer: b", "text b"),
        (
            "Thought: I look.\nAction: find\nAction Input: {\"words\": \"a\"}",
            "thought Thought: I look. | call find({\"words\": \"a\"})",
        ),
        (
            "<tool_call>{\"name\": \"find\", \"arguments\": {\"words\": \"a\"}}</tool_call>",
            r#"call find({"words": "a"})"#,
        ),
        // Reasoning is no decision.
        (
            "<think>{\"type\": \"final_answer\", \"answer\": \"no\"}</think>{\"type\": \"final_answer\", \"answer\": \"yes\"}",
            "text yes",
        ),
        (
            "Perhaps {\"type\": \"final_answer\", \"answer\": \"no\"}?\n</think>\n\n{\"type\": \"final_answer\", \"answer\": \"yes\"}",
            "text yes",
        ),
        // Markup of reasoning inside a decision is part of it.
        (
            r#"{"type": "call_tool", "tool": "find", "args": {"words": "a <think>[b]</think> c"}}"#,
            r#"call find({"words": "a <think>[b]</think> c"})"#,
        ),
        // Damaged: the text of the arguments is kept, and the tool decides about its repair.
        (
            r#"{"type": "call_tool", "tool": "find", "args": {words: 'a',}}"#,
            "call find({words: 'a',})",
        ),
        (
            r#"{"type": "call_tool", "tool": "find", "args": {"words": "a"#,
            r#"call find({"words": "a)"#,
        ),
        (
            "{\n  // I look.\n  \"type\": \"call_tool\", /* it */ \"tool\": \"find\", \"args\": {\"words\": \"a\"}\n}",
            r#"call find({"words": "a"})"#,
        ),
        (
            r#"{"type": "final_answer", "answer": "He said "hi" there", "thought": "x"}"#,
            r#"text He said "hi" there"#,
        ),
        // The call is a nested object.
        (
            r#"{"thought": "x", "action": {"name": "find", "input": {"words": "a"}}}"#,
            r#"thought x | call find({"words": "a"})"#,
        ),
        (
            r#"{"tool_calls": [{"type": "function", "function": {"name": "find", "arguments": "{\"words\": \"a\"}"}}]}"#,
            r#"call find({"words": "a"})"#,
        ),
        (
            r#"{"type": "call_tool", "tool": {"name": "find"}, "args": {"words": "a"}}"#,
            r#"call find({"words": "a"})"#,
        ),
        // Arguments beside the tool's name.
        (
            r#"{"type": "call_tool", "tool": "find", "words": "a", "most": 3}"#,
            r#"call find({"words": "a", "most": 3})"#,
        ),
        (
            r#"{"type": "final_answer", "answer": "two\nlines \"quoted\" é"}"#,
            "text two\nlines \"quoted\" é",
        ),
        // The digits are kept as the model wrote them.
        (
            r#"{"type": "call_tool", "tool": "echo", "args": {"text": 12345678901234567890123}}"#,
            r#"call echo({"text": 12345678901234567890123})"#,
        ),
    ] {
        assert_eq!(describe(text), expected, "{text}");
    }
}

#[test]
fn invalid_decisions_get_feedback() {
    for (text, kind, parts) in [
        (
            "It is nice today.",
            "unparsable",
            &["exactly one JSON object", "call_tool", "final_answer"][..],
        ),
        ("", "unparsable", &["exactly one JSON object"]),
        (r#"{"words": "a"}"#, "unparsable", &["exactly one JSON object"]),
        (r#"{"type": "call_tool"}"#, "unparsable", &["exactly one JSON object"]),
        (r#"{"type": "final_answer", "answer": "cut of"#, "unparsable", &["breaks off"]),
        (r#"{"type": "final_answer", "answer": ""}"#, "unparsable", &["is empty"]),
        (r#"{"type": "final_answer", "answer": " \n"}"#, "unparsable", &["is empty"]),
        // Damage hides the arguments.
        (
            r#"{"type": "call_tool", "tool": "find" "args" {"words": "a"}}"#,
            "unparsable",
            &["exactly one JSON object"],
        ),
        (
            r#"{"type": "call_tool", "tool": "fly", "args": {}}"#,
            "invalid",
            &["no tool `fly`", "echo, find, keep"],
        ),
        (
            r#"{"type": "call_tool", "tool": "find", "args": {"most": 12}}"#,
            "invalid",
            &["args of `find` are wrong", "`words` is missing", "`most`: expected"],
        ),
        (
            r#"{"type": "call_tool", "tool": "find", "args": {"words": "a", "place": {"name": "b", "parent": {"nam": 1}}}}"#,
            "invalid",
            &["`place.parent.nam"],
        ),
        (r#"{"type": "call_tool", "tool": "find", "args"#, "invalid", &["args of `find`"]),
    ] {
        let output = describe(text);
        assert!(output.starts_with(kind), "{text}: {output}");
        for part in parts {
            assert!(output.contains(part), "{text}: {output}");
        }
    }
}

/// A tool that takes anything would accept its own schema.
#[test]
fn tool_definition_is_no_decision() {
    let reset = ToolDefinition::new("reset", "Forgets all.", json!({ "type": "object" }));
    let messages = [Message::user("Go")];
    let offered = [&reset];
    let request = ChatRequest::new(&messages).tools(&offered);
    let text = r#"{"name": "reset", "parameters": {"type": "object", "properties": {}}}"#;
    let error = ReAct::new().parse(ChatReply::text(text), request).unwrap_err();
    assert!(error.is_invalid() && error.fallback.is_none(), "{error:?}");
    assert!(error.feedback.contains("the schema"), "{}", error.feedback);
}

proptest! {
    #[test]
    fn prose_is_no_decision_and_nothing_panics(text in any::<String>()) {
        let output = describe(&text);
        if !text.contains('{') && !text.contains(':') {
            prop_assert!(output.starts_with("unparsable"), "{output}");
        }
    }

    /// A truncated decision is parsed as itself or as a truncated one.
    #[test]
    fn truncated_decision_invents_no_arguments(words in "[a-z]{0,8}", cut in 0..90_usize) {
        let whole = call("find", &json!({ "words": words }));
        let text = whole.get(..cut.min(whole.len())).unwrap();
        let output = describe(text);
        if let Some(args) = output.strip_prefix("thought t | call find(") {
            let args = args.strip_suffix(')').unwrap();
            prop_assert!(json!({ "words": words }).to_string().starts_with(args), "{output}");
        }
    }
}

/// Streamed deltas add up to the parsed decision.
#[test]
fn streamed_deltas_equal_parsed_decision() {
    use tool_runtime::Delta;
    let registry = Registry::try_from(tools![find, keep, echo]).unwrap();
    let snapshot = registry.snapshot();
    let offered = snapshot.definitions();
    let messages = [Message::user("Go")];
    let request = ChatRequest::new(&messages).tools(&offered);
    let driver = ReAct::new();
    for (text, thought, args, expected_answer) in [
        (call("find", &json!({ "words": "a\"}{ é \n" })), "t", json!({ "words": "a\"}{ é \n" }).to_string(), ""),
        (r#"{"thought": "Ich weiß \u00e9 \ud83d\ude00.", "type": "final_answer", "answer": "Zwei\nZeilen"}"#.to_owned(), "Ich weiß é 😀.", String::new(), "Zwei\nZeilen"),
        ("<think>hm {</think>\n{\"type\": \"call_tool\", \"tool\": \"keep\", \"args\": {\"text\": \"x\"}} more".to_owned(), "hm {", r#"{"text": "x"}"#.to_owned(), ""),
        ("hm {\"tool\": \"find\", \"args\": {\"words\"\n</think>\n{\"type\": \"call_tool\", \"tool\": \"keep\", \"args\": {\"text\": \"x\"}}".to_owned(), "hm {\"tool\": \"find\", \"args\": {\"words\"", r#"{"text": "x"}"#.to_owned(), ""),
        ("no decision".to_owned(), "", String::new(), ""),
    ] {
        for len in [1, 2, 3, 7, 1000] {
            let mut decode = driver.stream_decoder(request).unwrap();
            let (mut reasoning, mut output, mut answer) = (String::new(), String::new(), String::new());
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let end = (len.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap();
                let (piece, after) = rest.split_at(end);
                rest = after;
                decode(Delta::Text(piece), &mut |delta: Delta<'_>| match delta {
                    Delta::Reasoning(text) => reasoning.push_str(text),
                    // A new call replaces the arguments of the previous one.
                    Delta::Call { .. } => output.clear(),
                    Delta::Arguments { text, .. } => output.push_str(text),
                    Delta::Text(text) => answer.push_str(text),
                    _ => {}
                });
            }
            assert_eq!((reasoning.trim(), output.as_str(), answer.as_str()), (thought, args.as_str(), expected_answer), "{text} by {len}");
        }
    }
}
