//! Local models: any server on this machine, for models with and without tool calling.
//!
//! `cargo run --example local_model --features openai -- --driver react "What is 17 times 23?"`
//!
//! - `native` uses the tool calls of the server.
//! - `text` also parses calls that the model writes into its text.
//! - `react` prompts the model to choose tools in JSON.

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use tool_runtime::drivers::{Driver, Native, ReAct, Text};
use tool_runtime::event::{EventKind, ModelEvent, ToolEvent};
use tool_runtime::providers::OpenAi;
use tool_runtime::{Agent, Event, StopReason, ToolError, tool, tools};

const SETUP: &str = "\
This example talks to a server on your machine that speaks OpenAI's chat completions. To start one:

    llama-server -hf Qwen/Qwen2.5-1.5B-Instruct-GGUF --port 8080
    export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_MODEL=qwen2.5

    ollama pull qwen2.5:1.5b
    export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=qwen2.5:1.5b

and then: cargo run --example local_model --features openai -- [--driver native|text|react] [QUESTION]";

/// Multiplies two numbers.
#[tool(effect = "none")]
async fn multiply(a: f64, b: f64) -> f64 {
    a * b
}

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Counts the occurrences of a letter in a word.
#[tool(effect = "none")]
async fn count_letter(
    word: &str,
    /// A single letter.
    letter: char,
) -> usize {
    word.to_lowercase().matches(letter.to_ascii_lowercase()).count()
}

/// Returns the temperature in a city.
#[tool(effect = "read")]
async fn temperature(
    /// City name, such as "Oslo".
    city: &str,
) -> Result<String, ToolError> {
    match city {
        "Oslo" => Ok("4 degrees".into()),
        "Rome" => Ok("19 degrees".into()),
        _ => Err(format!("there is no thermometer in {city}, only in Oslo and Rome").into()),
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

#[tool]
impl Notes {
    /// Writes a note for the user.
    #[tool(effect = "write")]
    async fn write_note(&self, text: String) -> Result<String, ToolError> {
        let mut notes = self.0.lock().map_err(|_| "the notes are not available")?;
        notes.push(text);
        Ok(format!("{} notes saved", notes.len()))
    }
}

/// Prints calls, repairs and results.
fn show(event: &Event) {
    match &event.kind {
        EventKind::Model(
            ModelEvent::ExtractionFailed { text, reason, .. }
            | ModelEvent::ValidationFailed { text, reason, .. },
        ) => println!("  ? {text}\n  ! {reason}"),
        EventKind::Tool(ToolEvent::Started { call, .. }) => println!("  → {call}"),
        EventKind::Tool(ToolEvent::Finished(execution)) => {
            execution.fixes.iter().for_each(|fix| println!("    {fix}"));
            println!("  ← {} ({:?})", execution.result.text, execution.duration);
        }
        _ => {}
    }
}

/// Parses the driver and the question from the command line.
fn arguments() -> Option<(Box<dyn Driver>, String)> {
    let (mut driver, mut question): (Box<dyn Driver>, _) = (Box::new(Native), Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word != "--driver" {
            question.push(word);
            continue;
        }
        driver = match words.next()?.as_str() {
            "native" => Box::new(Native),
            "text" => Box::new(Text::new()),
            "react" => Box::new(ReAct::new()),
            _ => return None,
        };
    }
    let question = if question.is_empty() {
        "What is 17 times 23? Write it down.".into()
    } else {
        question.join(" ")
    };
    Some((driver, question))
}

#[tokio::main]
async fn main() -> ExitCode {
    let (Some((driver, question)), Ok(model)) = (arguments(), OpenAi::from_env()) else {
        eprintln!("{SETUP}");
        return ExitCode::FAILURE;
    };
    println!("{question}");
    let tools = tools![multiply, add, count_letter, temperature, ..Notes::default()];
    let agent = Agent::new(model.timeout(Duration::from_secs(600)), tools)
        .system("Use the tools for everything that has to be exact. Answer in one sentence.")
        .driver(driver)
        .max_iterations(8)
        .on_event(show);
    match agent.run(question).await {
        Ok(answer) => {
            println!(
                "{answer}\n{} tokens in, {} out",
                answer.usage.input_tokens, answer.usage.output_tokens
            );
            ExitCode::SUCCESS
        }
        Err(stopped) => {
            eprintln!("{stopped}");
            if matches!(stopped.reason, StopReason::Model(_)) {
                eprintln!("\n{SETUP}");
            }
            ExitCode::FAILURE
        }
    }
}
