//! Models that decide in JSON: what they are told, what is read of them, and what they are told is wrong.

#[path = "support/conversation.rs"]
#[expect(dead_code, reason = "shared with tests that use the rest")]
mod conversation;
#[path = "react/runs.rs"]
mod runs;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use conversation::{assert_complete, echo, refuse, results};
use proptest::prelude::{any, prop_assert, proptest};
use serde_json::{Value, json};
use tool_runtime::drivers::{Driver, MisreadKind, ReAct};
use tool_runtime::event::{EventKind, ModelEvent};
use tool_runtime::{
    Agent, AssistantPart, ChatModel, ChatOptions, ChatReply, ChatRequest, Finish, Image, Message,
    ModelError, Registry, ScriptedModel, ScriptedTurn, StopReason, ToolCall, ToolChoice,
    ToolDefinition, ToolResult, Tools, Usage, UserPart, args, async_trait, tool, tools,
};

/// What to look for.
#[args]
struct Query {
    /// Some words.
    words: String,
    /// Where.
    place: Option<Place>,
    /// How many.
    #[schemars(range(min = 1, max = 9))]
    most: Option<u8>,
}

/// A place.
#[args]
struct Place {
    /// Its name.
    name: String,
    /// What it lies in.
    within: Option<Box<Place>>,
}

/// Finds things.
#[tool(effect = "read")]
async fn find(args: Query) -> String {
    let place =
        args.place.map(|place| format!("{} in {:?}", place.name, place.within.map(|it| it.name)));
    format!("{} {place:?} {:?}", args.words, args.most)
}

/// Keeps it.
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

/// What is read of a reply.
fn read(text: &str) -> String {
    let registry = Registry::try_from(tools![find, keep, echo]).unwrap();
    let snapshot = registry.snapshot();
    let offered = snapshot.definitions();
    let messages = [Message::user("Go")];
    let request = ChatRequest::new(&messages).tools(&offered);
    match ReAct::new().read(ChatReply::text(text), request) {
        Ok(reply) => {
            let part = |part: &AssistantPart| match part {
                AssistantPart::Call(call) => format!("call {call}"),
                AssistantPart::Text { text } => format!("text {text}"),
                AssistantPart::Reasoning(thought) => format!("thought {}", thought.text),
                _ => String::new(),
            };
            reply.parts.iter().map(part).collect::<Vec<_>>().join(" | ")
        }
        Err(misread) => format!("{:?}: {}", misread.kind, misread.told),
    }
}

#[test]
fn decisions_are_read_however_they_are_written() {
    for (text, meant) in [
        (
            r#"{"thought": "I look.", "type": "call_tool", "tool": "find", "args": {"words": "a"}}"#,
            r#"thought I look. | call find({"words": "a"})"#,
        ),
        // In a fence, behind prose, with more behind it that was made up.
        (
            "Sure:\n```json\n{\"thought\": \"\", \"type\": \"call_tool\", \"tool\": \"find\", \"args\": {\"words\": \"a\"}}\n```\nObservation: b\n{\"type\": \"final_answer\", \"answer\": \"b\"}",
            r#"call find({"words": "a"})"#,
        ),
        // In the words of others.
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
        // What it thinks aloud is no decision.
        (
            "<think>{\"type\": \"final_answer\", \"answer\": \"no\"}</think>{\"type\": \"final_answer\", \"answer\": \"yes\"}",
            "text yes",
        ),
        (
            "Perhaps {\"type\": \"final_answer\", \"answer\": \"no\"}?\n</think>\n\n{\"type\": \"final_answer\", \"answer\": \"yes\"}",
            "text yes",
        ),
        // What a decision tells of thoughts is a part of it.
        (
            r#"{"type": "call_tool", "tool": "find", "args": {"words": "a <think>[b]</think> c"}}"#,
            r#"call find({"words": "a <think>[b]</think> c"})"#,
        ),
        // Damaged: the text of the arguments is kept, for the tool to allow what is done about it.
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
        // The call is an object of its own.
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
        // The digits that the model wrote.
        (
            r#"{"type": "call_tool", "tool": "echo", "args": {"text": 12345678901234567890123}}"#,
            r#"call echo({"text": 12345678901234567890123})"#,
        ),
    ] {
        assert_eq!(read(text), meant, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    for (text, kind, parts) in [
        (
            "It is nice today.",
            "Extraction",
            &["exactly one JSON object", "call_tool", "final_answer"][..],
        ),
        ("", "Extraction", &["exactly one JSON object"]),
        (r#"{"words": "a"}"#, "Extraction", &["exactly one JSON object"]),
        (r#"{"type": "call_tool"}"#, "Extraction", &["exactly one JSON object"]),
        (r#"{"type": "final_answer", "answer": "cut of"#, "Extraction", &["breaks off"]),
        (r#"{"type": "final_answer", "answer": ""}"#, "Extraction", &["is empty"]),
        (r#"{"type": "final_answer", "answer": " \n"}"#, "Extraction", &["is empty"]),
        // Damage hides the arguments.
        (
            r#"{"type": "call_tool", "tool": "find" "args" {"words": "a"}}"#,
            "Extraction",
            &["exactly one JSON object"],
        ),
        (
            r#"{"type": "call_tool", "tool": "fly", "args": {}}"#,
            "Validation",
            &["no tool `fly`", "echo, find, keep"],
        ),
        (
            r#"{"type": "call_tool", "tool": "find", "args": {"most": 12}}"#,
            "Validation",
            &["args of `find` are wrong", "`words` is missing", "`most`: expected"],
        ),
        (
            r#"{"type": "call_tool", "tool": "find", "args": {"words": "a", "place": {"name": "b", "within": {"nam": 1}}}}"#,
            "Validation",
            &["`place.within.nam"],
        ),
        (r#"{"type": "call_tool", "tool": "find", "args"#, "Validation", &["args of `find`"]),
    ] {
        let told = read(text);
        assert!(told.starts_with(kind), "{text}: {told}");
        for part in parts {
            assert!(told.contains(part), "{text}: {told}");
        }
    }
}

/// A tool that takes anything would take its own schema too.
#[test]
fn a_definition_is_no_decision() {
    let reset = ToolDefinition::new("reset", "Forgets all.", json!({ "type": "object" }));
    let messages = [Message::user("Go")];
    let offered = [&reset];
    let request = ChatRequest::new(&messages).tools(&offered);
    let text = r#"{"name": "reset", "parameters": {"type": "object", "properties": {}}}"#;
    let misread = ReAct::new().read(ChatReply::text(text), request).unwrap_err();
    assert_eq!((misread.kind, misread.otherwise), (MisreadKind::Validation, None));
    assert!(misread.told.contains("the schema"), "{}", misread.told);
}

proptest! {
    #[test]
    fn nothing_panics_and_prose_is_no_decision(text in any::<String>()) {
        let told = read(&text);
        if !text.contains('{') && !text.contains(':') {
            prop_assert!(told.starts_with("Extraction"), "{told}");
        }
    }

    /// However it is cut, a decision is read as itself or as one that is not whole.
    #[test]
    fn a_cut_decision_invents_nothing(words in "[a-z]{0,8}", cut in 0..90_usize) {
        let whole = call("find", &json!({ "words": words }));
        let text = whole.get(..cut.min(whole.len())).unwrap();
        let told = read(text);
        if let Some(args) = told.strip_prefix("thought t | call find(") {
            let args = args.strip_suffix(')').unwrap();
            prop_assert!(json!({ "words": words }).to_string().starts_with(args), "{told}");
        }
    }
}

/// What was told piece by piece is what was meant.
#[test]
fn pieces_add_up() {
    use tool_runtime::{Delta, drivers::Listener};
    let registry = Registry::try_from(tools![find, keep, echo]).unwrap();
    let snapshot = registry.snapshot();
    let offered = snapshot.definitions();
    let messages = [Message::user("Go")];
    let request = ChatRequest::new(&messages).tools(&offered);
    let driver = ReAct::new();
    for (text, thought, args, said) in [
        (call("find", &json!({ "words": "a\"}{ é \n" })), "t", json!({ "words": "a\"}{ é \n" }).to_string(), ""),
        (r#"{"thought": "Ich weiß \u00e9 \ud83d\ude00.", "type": "final_answer", "answer": "Zwei\nZeilen"}"#.to_owned(), "Ich weiß é 😀.", String::new(), "Zwei\nZeilen"),
        ("<think>hm {</think>\n{\"type\": \"call_tool\", \"tool\": \"keep\", \"args\": {\"text\": \"x\"}} more".to_owned(), "hm {", r#"{"text": "x"}"#.to_owned(), ""),
        ("hm {\"tool\": \"find\", \"args\": {\"words\"\n</think>\n{\"type\": \"call_tool\", \"tool\": \"keep\", \"args\": {\"text\": \"x\"}}".to_owned(), "hm {\"tool\": \"find\", \"args\": {\"words\"", r#"{"text": "x"}"#.to_owned(), ""),
        ("no decision".to_owned(), "", String::new(), ""),
    ] {
        for len in [1, 2, 3, 7, 1000] {
            let mut listener: Box<dyn Listener> = driver.listener(request).unwrap();
            let (mut heard, mut told, mut answer) = (String::new(), String::new(), String::new());
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let end = (len.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap();
                let (piece, behind) = rest.split_at(end);
                rest = behind;
                listener.hear(Delta::Text(piece), &mut |delta| match delta {
                    Delta::Reasoning(text) => heard.push_str(text),
                    // What was told of another call is void.
                    Delta::Call { .. } => told.clear(),
                    Delta::Arguments { text, .. } => told.push_str(text),
                    Delta::Text(text) => answer.push_str(text),
                    _ => {}
                });
            }
            assert_eq!((heard.trim(), told.as_str(), answer.as_str()), (thought, args.as_str(), said), "{text} by {len}");
        }
    }
}
