//! ReAct: a model without tool calling decides in JSON, step by step, which tool to use and what to answer.
//!
//! `cargo run --example react` needs no key and no network: the model's replies are a script. One of them
//! can't be read and one names a tool that there is not; it is told so, and asked again.

use tool_runtime::agent::StreamItem;
use tool_runtime::drivers::ReAct;
use tool_runtime::event::{EventKind, ModelEvent, ToolEvent};
use tool_runtime::{Agent, ChatReply, Event, ScriptedModel, ScriptedTurn, tool, tools};

/// Tells how warm it is in a city.
#[tool(effect = "read")]
async fn temperature(city: String) -> String {
    format!("4 degrees in {city}")
}

/// Tells whether it will rain in a city.
#[tool(effect = "read")]
async fn rain(
    city: String,
    /// Days ahead.
    days: u8,
) -> String {
    format!("{city} in {days} days: rain from noon on")
}

/// What the model says in this example, as small models do, and what it has to have been told before.
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
        // In a fence, with single quotes and a number as text: repaired as all arguments are.
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

fn show(event: &Event) {
    match &event.kind {
        EventKind::Model(ModelEvent::ExtractionFailed { text, reason, .. }) => {
            println!("unread   {text}\n  told   {}", indented(reason));
        }
        EventKind::Model(ModelEvent::ValidationFailed { reason, .. }) => {
            println!("invalid\n  told   {}", indented(reason));
        }
        EventKind::Tool(ToolEvent::Finished(done)) => {
            println!("calls    {}\nsees     {}", done.call, done.result.text);
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
            StreamItem::Reasoning(thought) => println!("thinks   {thought}"),
            StreamItem::Text(answer) => println!("answers  {answer}"),
            StreamItem::Event(event) => show(&event),
            _ => {}
        }
    }
    // The conversation is kept as calls and results: any other driver can go on with it.
    let answer = stream.finish().await?;
    let calls = answer.transcript.iter().flat_map(|message| message.calls()).count();
    println!("\n{} messages with {calls} calls", answer.transcript.len());
    Ok(())
}
