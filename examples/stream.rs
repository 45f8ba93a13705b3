//! Streaming: prints the text of a reply as it arrives, and the partial arguments of its calls.
//!
//! This example uses the model directly, without an agent. To stream a whole run, use
//! `Agent::stream`.
//!
//! `cargo run --example stream --features openai -- "Plan three days in Oslo."`

use std::io::{Write, stdout};

use tool_runtime::json::Partial;
use tool_runtime::providers::OpenAi;
use tool_runtime::{ChatModel, ChatRequest, Delta, Message, Registry, tool, tools};

/// Saves a plan for the user.
#[tool(effect = "none")]
async fn keep_plan(
    /// The title of the plan.
    title: String,
    /// The steps, in order.
    steps: Vec<String>,
) -> String {
    format!("{title}: {} steps", steps.len())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let question = std::env::args().nth(1).unwrap_or_else(|| "Plan three days in Oslo.".into());
    let model = OpenAi::from_env()?;
    let messages = [Message::user(question)];
    let snapshot = Registry::try_from(tools![keep_plan])?.snapshot();
    let definitions = snapshot.definitions();

    // The partial arguments of each call.
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
            Delta::Arguments { index: place, text } => {
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
        println!("\n{} tokens in, {} out", usage.input_tokens, usage.output_tokens);
    }
    Ok(())
}
