//! ReAct: a model without tool calling chooses tools and answers in JSON, step by step.
//!
//! Run it with `cargo run --example react`. It needs no key and no network: the replies of the
//! model are scripted. One reply is not JSON and one names an unknown tool. The model receives the
//! error and tries again.

use tool_runtime::agent::StreamItem;
use tool_runtime::drivers::ReAct;
use tool_runtime::event::{EventKind, ModelEvent, ToolEvent};
use tool_runtime::{Agent, ChatReply, Event, ScriptedModel, ScriptedTurn, tool, tools};

/// Returns the temperature in a city.
#[tool(effect = "read")]
async fn temperature(city: String) -> String {
    format!("4 degrees in {city}")
}

/// Returns the rain forecast for a city.
#[tool(effect = "read")]
async fn rain(
    city: String,
    /// Days ahead.
    days: u8,
) -> String {
    format!("{city} in {days} days: rain from noon on")
}

/// Scripts the replies of a small model and the messages that it expects.
fn script() -> ScriptedModel {
    ScriptedModel::new([
        ScriptedTurn::new(ChatReply::text("Let me see. The temperature in Oslo would help.")),
        ScriptedTurn::new(ChatReply::text(
            r#"{"thought": "I look at it.", "type": "call_tool", "tool": "thermometer", "args": {}}"#,
        ))
        .expect_last("call_tool"),
        ScriptedTurn::new(ChatReply::text(
            r#"{"thought": "Another name, then.", "type": "call_tool", "tool": "temperature", "args": {"city": "Oslo"}}"#,
        ))
        .expect_last("temperature"),
        // The JSON has a code fence, single quotes and a number in quotes. It is repaired.
        ScriptedTurn::new(ChatReply::text(
            "```json\n{'thought': 'And rain?', 'type': 'call_tool', 'tool': 'rain', \
             'args': {'city': 'Oslo', 'days': '1'}}\n```",
        ))
        .expect_last("4 degrees"),
        ScriptedTurn::new(ChatReply::text(
            r#"{"thought": "That is all.", "type": "final_answer", "answer": "A coat and an umbrella."}"#,
        ))
        .expect_last("rain from noon on"),
    ])
}

/// Prints errors, calls and results.
fn show(event: &Event) {
    match &event.kind {
        EventKind::Model(ModelEvent::ExtractionFailed { text, reason, .. }) => {
            println!("unparsed {text}\nfeedback {}", indented(reason));
        }
        EventKind::Model(ModelEvent::ValidationFailed { reason, .. }) => {
            println!("invalid\nfeedback {}", indented(reason));
        }
        EventKind::Tool(ToolEvent::Finished(execution)) => {
            println!("call     {}\nresult   {}", execution.call, execution.result.text);
        }
        _ => {}
    }
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n         ")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::new(script(), tools![temperature, rain]).driver(ReAct::new());
    let mut stream = agent.stream("What should I wear in Oslo tomorrow?");
    while let Some(piece) = stream.next().await {
        match piece {
            StreamItem::Reasoning(thought) => println!("thought  {thought}"),
            StreamItem::Text(answer) => println!("answer   {answer}"),
            StreamItem::Event(event) => show(&event),
            _ => {}
        }
    }
    // The transcript holds calls and results, so another driver can continue the conversation.
    let answer = stream.finish().await?;
    let calls = answer.transcript.iter().flat_map(|message| message.calls()).count();
    println!("\n{} messages with {calls} calls", answer.transcript.len());
    Ok(())
}
