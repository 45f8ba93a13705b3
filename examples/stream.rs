//! Shows a reply while it is being said: words as they come, and the arguments of a call as far as they
//! are there.
//!
//! `cargo run --example stream --features openai -- "Plan three days in Oslo."`

use std::io::{Write, stdout};

use tool_runtime::json::Partial;
use tool_runtime::providers::OpenAi;
use tool_runtime::{ChatModel, ChatRequest, Delta, Message, Registry, tool, tools};

/// Keeps a plan for the user to see.
#[tool(effect = "none")]
async fn keep_plan(
    /// What it is called.
    title: String,
    /// What is done, in order.
    steps: Vec<String>,
) -> String {
    format!("{title}: {} steps", steps.len())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let question = std::env::args().nth(1).unwrap_or_else(|| "Plan three days in Oslo.".into());
    let model = OpenAi::from_env()?;
    let messages = [Message::user(question)];
    let offered = Registry::try_from(tools![keep_plan])?.snapshot();
    let definitions = offered.definitions();

    // Of each call, what is there of its arguments.
    let mut calls = Vec::new();
    let request = ChatRequest::new(&messages).tools(&definitions);
    let reply = model
        .stream(request, &mut |delta| match delta {
            Delta::Text(text) => {
                print!("{text}");
                let _ = stdout().flush();
            }
            Delta::Call { name, .. } => {
                println!("\n→ {name}");
                calls.push(Partial::new());
            }
            Delta::Arguments { place, text } => {
                if let Some(arguments) = calls.get_mut(place) {
                    arguments.push(text);
                    if let Some(value) = arguments.value() {
                        println!("  {}", value.to_value());
                    }
                }
            }
            _ => {}
        })
        .await?;

    if let Some(usage) = reply.usage {
        println!("\n{} tokens in, {} out", usage.input, usage.output);
    }
    Ok(())
}
