//! Context windows: properties of any conversation, and examples of long ones.

mod properties;
mod steps;
mod summaries;

use tool_runtime::{AssistantPart, Message, ToolCall, ToolResult};

/// Returns a reply with a call, and its result of about so many tokens.
fn call_and_result(id: &str, tokens: usize) -> [Message; 2] {
    let call = ToolCall::new(id, "t", "{}");
    let result = ToolResult::success(&call, "abcd".repeat(tokens));
    let reply = Message::Assistant { id: None, parts: vec![AssistantPart::Call(call)] };
    [reply, Message::Tool { results: vec![result] }]
}

/// Returns a message of so many tokens.
fn long(make: fn(String) -> Message, text: &str, tokens: usize) -> Message {
    make(format!("{text} {}", "abcd".repeat(tokens)))
}

/// Returns the first word of each message, and the ids of calls and results.
fn outline(messages: &[Message]) -> String {
    let word = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let texts = messages.iter().map(|message| match message {
        Message::Tool { results } => {
            let ids: Vec<_> = results.iter().map(|result| result.call.as_str()).collect();
            format!("={}", ids.join(","))
        }
        Message::Assistant { .. } if message.calls().next().is_some() => {
            let ids: Vec<_> = message.calls().map(|call| call.id.as_str()).collect();
            format!("{}!{}", word(&message.text()), ids.join(","))
        }
        message => word(&message.text()),
    });
    texts.collect::<Vec<_>>().join(" ")
}
