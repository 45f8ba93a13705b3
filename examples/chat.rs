//! Chat: a conversation with a real model that uses tools.
//!
//! `cargo run --example chat --features openai -- "How many days from 2024-02-01 to 2024-03-01?"`
//! answers one question. Without a question, the program reads one question per line.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use tool_runtime::agent::Prompt;
use tool_runtime::event::ToolEvent;
use tool_runtime::providers::OpenAi;
use tool_runtime::{
    Agent, Answer, Event, Message, StopReason, Stopped, ToolError, Tools, args, tool, tools,
};

const SETUP: &str = "\
This example talks to any server that speaks OpenAI's chat completions:

    OPENAI_MODEL=gpt-5-mini OPENAI_API_KEY=sk-…
    OPENAI_MODEL=qwen3      OPENAI_BASE_URL=http://127.0.0.1:11434/v1";

#[args]
#[derive(Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Calculates with two numbers.
#[tool(effect = "none", idempotent)]
async fn calculate(left: f64, operation: Operation, right: f64) -> Result<f64, ToolError> {
    Ok(match operation {
        Operation::Add => left + right,
        Operation::Subtract => left - right,
        Operation::Multiply => left * right,
        Operation::Divide if right == 0.0 => return Err("division by 0 is undefined".into()),
        Operation::Divide => left / right,
    })
}

/// Counts the days from one date to another.
#[tool(effect = "none", idempotent)]
async fn days_between(
    /// The first date, as YYYY-MM-DD.
    from: &str,
    /// The second date, as YYYY-MM-DD.
    to: &str,
) -> Result<i64, ToolError> {
    Ok(day_number(to)? - day_number(from)?)
}

/// Counts the days up to a date of the Gregorian calendar, from a fixed day.
fn day_number(date: &str) -> Result<i64, ToolError> {
    let parts: Vec<i64> = date.split('-').filter_map(|part| part.parse().ok()).collect();
    let &[year @ 1..=9999, month @ 1..=12, day @ 1..=31] = parts.as_slice() else {
        return Err(format!("{date:?} is not a date: write it as YYYY-MM-DD").into());
    };
    // If the year begins in March, the leap day is its last day.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    Ok(365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day)
}

#[args]
#[derive(Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Meters,
    Kilometers,
    Miles,
    Feet,
}

/// Converts a length from one unit to another.
#[tool(effect = "none", idempotent)]
async fn convert_length(
    /// The number to convert.
    value: f64,
    /// The unit of the number.
    from: Unit,
    /// The unit to convert to.
    to: Unit,
) -> f64 {
    let meters = |unit| match unit {
        Unit::Meters => 1.0,
        Unit::Kilometers => 1000.0,
        Unit::Miles => 1609.344,
        Unit::Feet => 0.3048,
    };
    value * meters(from) / meters(to)
}

/// Prints the calls and their results.
fn show(event: &Event) {
    match event.tool_event() {
        Some(ToolEvent::Started { call, .. }) => println!("  → {call}"),
        Some(ToolEvent::Finished(execution)) => {
            println!("  ← {} ({:?})", execution.result.text, execution.duration)
        }
        _ => {}
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let model = match OpenAi::from_env() {
        Ok(model) => model.timeout(Duration::from_secs(600)),
        Err(error) => {
            eprintln!("{error}\n\n{SETUP}");
            return ExitCode::FAILURE;
        }
    };
    let chat = Chat {
        without_tools: Agent::new(model.clone(), Tools::new()),
        agent: Agent::new(model, tools![calculate, days_between, convert_length])
            .system("Use the tools for everything that has to be exact. Answer in one sentence.")
            .max_iterations(4)
            .on_event(show),
    };

    let question = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    if question.is_empty() {
        return match chat.read_questions().await {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    match chat.answer(question).await {
        Ok(answer) => println!("{answer}"),
        Err(stopped) => {
            eprintln!("{stopped}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

struct Chat {
    agent: Agent,
    without_tools: Agent,
}

impl Chat {
    /// Runs the agent. If it reaches its limit of requests, an agent without tools answers.
    ///
    /// Small models sometimes repeat calls instead of answering.
    async fn answer(&self, prompt: impl Into<Prompt>) -> Result<Answer, Stopped> {
        match self.agent.run(prompt).await {
            Err(Stopped { reason: StopReason::IterationLimit(_), mut transcript, .. }) => {
                transcript.push(Message::user("Answer now, in words, from what the tools gave."));
                self.without_tools.run(transcript).await
            }
            outcome => outcome,
        }
    }

    /// Answers one question per line until the input ends.
    ///
    /// The conversation continues after a run that stopped without an answer.
    async fn read_questions(&self) -> io::Result<()> {
        let mut conversation = Vec::new();
        let mut lines = io::stdin().lock().lines();
        loop {
            print!("> ");
            io::stdout().flush()?;
            let Some(line) = lines.next().transpose()? else { return Ok(()) };
            if line.trim().is_empty() {
                continue;
            }
            conversation.push(Message::user(line));
            conversation = match self.answer(conversation).await {
                Ok(answer) => {
                    println!("{answer}");
                    answer.transcript
                }
                Err(stopped) => {
                    eprintln!("{stopped}");
                    stopped.transcript
                }
            };
        }
    }
}
