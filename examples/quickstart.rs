//! Quickstart: functions become tools, a model calls them, and errors go back to the model.
//!
//! Run it with `cargo run --example quickstart`. It needs no key and no network: the replies of the
//! model are scripted.

use std::time::{Duration, Instant};

use tokio::time::sleep;
use tool_runtime::event::{EventKind, ModelEvent, ToolEvent};
use tool_runtime::{Agent, ChatReply, Event, ScriptedModel, ScriptedTurn, args, tool, tools};

/// The city and the day of a forecast.
#[args]
struct Forecast {
    /// City name, such as "Oslo".
    city: String,
    /// Days ahead. Default: today.
    days: Option<u8>,
}

/// Returns the weather forecast for a city.
#[tool(effect = "read", idempotent, timeout = "5s")]
async fn forecast(args: Forecast) -> String {
    // The sleep stands for a request to a weather service.
    sleep(Duration::from_millis(120)).await;
    format!("{} in {} days: rain, 7 degrees", args.city, args.days.unwrap_or(0))
}

/// Finds trains to a city.
#[tool(effect = "read", idempotent)]
async fn trains(
    /// The destination.
    city: &str,
    /// The earliest hour of departure.
    after: Option<u8>,
) -> Vec<String> {
    sleep(Duration::from_millis(80)).await;
    [8, 11, 15]
        .into_iter()
        .filter(|hour| *hour >= after.unwrap_or(0))
        .map(|hour| format!("{hour}:05 to {city}"))
        .collect()
}

/// Books a seat on a train.
#[tool(effect = "write")]
async fn book(
    /// The train, such as "11:05 to Oslo".
    train: String,
    /// The number of seats.
    seats: u8,
) -> Result<String, String> {
    match train.as_str() {
        "11:05 to Oslo" => Err(format!("{train} is full: offer another train")),
        _ => Ok(format!("{seats} seat(s) on the {train}, coach 4")),
    }
}

/// Scripts the replies of the model and the messages that it expects.
fn script() -> ScriptedModel {
    ScriptedModel::new([
        // The two calls of this reply run concurrently.
        ScriptedTurn::new(
            ChatReply::text("I'll look at the weather and the trains.")
                .call("forecast", r#"{"city": "Oslo", "days": 2}"#)
                .call("trains", r#"{"city": "Oslo", "after": 10}"#),
        ),
        // Prose and a code fence surround the JSON. The arguments are repaired.
        ScriptedTurn::new(ChatReply::default().call(
            "book",
            "Here you are:\n```json\n{\"train\": \"11:05 to Oslo\", \"seats\": 1}\n```",
        ))
        .expect_last("11:05 to Oslo"),
        // The tool returned an error. Now the model omits an argument.
        ScriptedTurn::new(ChatReply::default().call("book", r#"{"train": "15:05 to Oslo"}"#))
            .expect_last("is full"),
        // The model receives the validation error and corrects the call.
        ScriptedTurn::new(
            ChatReply::default().call("book", r#"{"train": "15:05 to Oslo", "seats": 1}"#),
        )
        .expect_last("seats"),
        ScriptedTurn::new(ChatReply::text("You're on the 15:05 to Oslo. Take an umbrella."))
            .expect_last("coach 4"),
    ])
}

/// Prints one line for each event.
fn show(at: Duration, event: &Event) {
    let line = |label: &str, text: &str| {
        println!(
            "{:>5} ms  {label:<8}  {}",
            at.as_millis(),
            text.replace('\n', "\n                    ")
        );
    };
    match &event.kind {
        EventKind::Model(ModelEvent::Replied { text, calls, .. })
            if !calls.is_empty() && !text.is_empty() =>
        {
            line("model", text);
        }
        EventKind::Tool(ToolEvent::Started { call, .. }) => line("started", &call.to_string()),
        EventKind::Tool(ToolEvent::Finished(execution)) => {
            for fix in &execution.fixes {
                line("repaired", &fix.to_string());
            }
            let outcome = if execution.result.is_success() { "finished" } else { "failed" };
            line(outcome, &format!("{}: {}", execution.call.name, execution.result.text));
        }
        _ => {}
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let agent = Agent::new(script(), tools![forecast, trains, book])
        .system("You plan trips.")
        .on_event(move |event| show(started.elapsed(), event));

    let answer = agent.run("Get me to Oslo the day after tomorrow, not too early.").await?;
    println!("\n{answer}");
    Ok(())
}
