//! What of a conversation goes out: laws that hold for any conversation, and what a long one looks like.

#[path = "support/histories.rs"]
mod histories;
#[path = "window/laws.rs"]
mod laws;
#[path = "window/steps.rs"]
mod steps;
#[path = "window/summaries.rs"]
mod summaries;

use tool_runtime::{AssistantPart, Message, ToolCall, ToolResult};

/// A reply that calls a tool, and its result of about so many tokens.
fn called(id: &str, tokens: usize) -> [Message; 2] {
    let call = ToolCall::new(id, "t", "{}");
    let result = ToolResult::success(&call, "abcd".repeat(tokens));
    let said = Message::Assistant { parts: vec![AssistantPart::Call(call)] };
    [said, Message::Tool { results: vec![result] }]
}

/// A message in so many tokens.
fn long(who: fn(String) -> Message, text: &str, tokens: usize) -> Message {
    who(format!("{text} {}", "abcd".repeat(tokens)))
}

/// The first word of each message; the ids of its calls and results.
fn outline(messages: &[Message]) -> String {
    let word = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let each = messages.iter().map(|message| match message {
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
    each.collect::<Vec<_>>().join(" ")
}
