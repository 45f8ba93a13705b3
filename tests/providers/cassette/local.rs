//! Whole runs of a small model that was trained for code (Qwen2.5-Coder-0.5B behind llama.cpp): ten
//! questions with each driver, recorded once and replayed since. `cargo test … --test providers
//! local -- --nocapture` prints the table.
//!
//! To record again, set `RECORD_FROM=…` as in `recorded.rs`. The native runs need a server whose
//! chat template encodes calls (port 8091), the others one whose template leaves them in the text
//! (port 8092).

use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tool_runtime::agent::Limits;
use tool_runtime::drivers::{Driver, Native, ReAct, Text};
use tool_runtime::event::{EventKind, ModelEvent};
use tool_runtime::http::{Cassette, ReqwestTransport};
use tool_runtime::providers::OpenAi;
use tool_runtime::{Agent, ChatOptions, Message, tool, tools};

/// Adds two whole numbers.
#[tool(effect = "none")]
async fn add(left: i64, right: i64) -> Option<i64> {
    left.checked_add(right)
}

/// Multiplies two whole numbers.
#[tool(effect = "none")]
async fn multiply(left: i64, right: i64) -> Option<i64> {
    left.checked_mul(right)
}

/// Tells the weather of a city.
#[tool(effect = "read")]
async fn get_weather(
    /// City name, such as Oslo.
    city: String,
) -> String {
    format!("4 degrees and rain in {city}")
}

/// Finds a person's e-mail address.
#[tool(effect = "read")]
async fn find_address(
    /// First name.
    name: String,
) -> String {
    format!("{}@example.org", name.to_lowercase())
}

/// Counts the letters of a word.
#[tool(effect = "none")]
async fn count_letters(word: String) -> usize {
    word.chars().count()
}

/// Puts a reminder on the list.
#[tool(effect = "write")]
async fn add_reminder(
    /// What to be reminded of.
    text: String,
    /// In how many minutes.
    minutes: u32,
) -> String {
    format!("Reminder in {minutes} minutes: {text}")
}

/// Questions, and the tool that each one needs.
const QUESTIONS: [(&str, &str); 10] = [
    ("What is 1234 times 5678?", "multiply"),
    ("Add 999999 and 27.", "add"),
    ("What is the weather in Oslo?", "get_weather"),
    ("Do I need an umbrella in Bergen today?", "get_weather"),
    ("What is Ada's e-mail address?", "find_address"),
    ("Find the address of Grace.", "find_address"),
    ("How many letters has the word strawberry?", "count_letters"),
    ("Count the letters of \"Donaudampfschiff\".", "count_letters"),
    ("Remind me in 15 minutes to call Ada.", "add_reminder"),
    ("Add a reminder: buy milk, in 60 minutes.", "add_reminder"),
];

/// Results of the runs with a driver.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    /// Runs in which the required tool succeeded.
    right_tool: usize,
    /// Runs that ended with an answer.
    answered: usize,
    calls: usize,
    /// Calls that succeeded.
    succeeded: usize,
    /// Calls whose arguments were repaired.
    repaired: usize,
    /// Replies that could not be parsed.
    unparsable: usize,
}

async fn runs(name: &str, port: u16, driver: impl Driver + Clone + 'static) -> Table {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("cassettes").join(format!("local_{name}.json"));
    let base = format!("http://127.0.0.1:{port}/v1");
    let cassette = match env::var("RECORD_FROM") {
        Ok(_) => Cassette::record(path, ReqwestTransport::new()),
        Err(_) => Cassette::replay(path).unwrap(),
    };
    let model = OpenAi::new(base, "qwen2.5-coder-0.5b-instruct")
        .timeout(Duration::from_secs(600))
        .transport(cassette.clone());
    let unparsable = Arc::new(AtomicUsize::new(0));
    let finished_calls = Arc::<Mutex<Vec<(String, bool, bool)>>>::default();
    let (failures, sink) = (Arc::clone(&unparsable), Arc::clone(&finished_calls));
    let agent = Agent::new(
        model,
        tools![add, multiply, get_weather, find_address, count_letters, add_reminder],
    )
    .system(
        "Use a tool for everything that has to be looked up or exact. Then answer in one sentence.",
    )
    .options(ChatOptions::default().temperature(0.0).max_tokens(200))
    .limits(Limits::default().max_iterations(4).max_repeats(2))
    .driver(driver)
    .on_event(move |event| {
        if let Some(execution) = event.execution() {
            let recorded_calls =
                (execution.call.name.clone(), execution.is_success(), execution.was_repaired());
            sink.lock().unwrap().push(recorded_calls);
        }
        if let EventKind::Model(
            ModelEvent::ExtractionFailed { .. } | ModelEvent::ValidationFailed { .. },
        ) = event.kind
        {
            failures.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut table = Table::default();
    for (question, expected) in QUESTIONS {
        let ended = agent.run(question).await;
        let recorded_calls = std::mem::take(&mut *finished_calls.lock().unwrap());
        let is_right =
            recorded_calls.iter().any(|(name, is_success, _)| name == expected && *is_success);
        table.right_tool += usize::from(is_right);
        table.answered += usize::from(ended.is_ok());
        table.calls += recorded_calls.len();
        table.succeeded += recorded_calls.iter().filter(|(_, is_success, _)| *is_success).count();
        table.repaired += recorded_calls.iter().filter(|(_, _, is_repaired)| *is_repaired).count();
        let transcript = match &ended {
            Ok(answer) => &answer.transcript,
            Err(stopped) => &stopped.transcript,
        };
        let last_reply = transcript.iter().rev().find(|it| matches!(it, Message::Assistant { .. }));
        println!(
            "{name} | {question} | {} | {}",
            recorded_calls
                .iter()
                .map(|(name, ok, _)| format!("{name} {ok}"))
                .collect::<Vec<_>>()
                .join(", "),
            match &ended {
                Ok(answer) => answer.text.replace('\n', " "),
                Err(stopped) => format!(
                    "{stopped}; last: {}",
                    last_reply.map(Message::text).unwrap_or_default().replace('\n', " ")
                ),
            }
        );
    }
    table.unparsable = unparsable.load(Ordering::SeqCst);
    assert_eq!(cassette.unplayed_count(), 0);
    println!("{name}: {table:?}");
    table
}

#[tokio::test]
async fn local_model_calls_tools_with_the_native_driver() {
    let table = runs("native", 8091, Native).await;
    let expected =
        Table { right_tool: 3, answered: 7, calls: 11, succeeded: 8, repaired: 0, unparsable: 0 };
    assert_eq!(table, expected);
}

/// The same server, whose template misses most calls that the model writes: the fallback finds
/// them.
#[tokio::test]
async fn local_model_calls_tools_with_the_text_fallback() {
    let table = runs("fallback", 8091, Text::new()).await;
    let expected =
        Table { right_tool: 9, answered: 0, calls: 32, succeeded: 22, repaired: 0, unparsable: 0 };
    assert_eq!(table, expected);
}

#[tokio::test]
async fn local_model_calls_tools_with_the_text_driver() {
    let table = runs("text", 8092, Text::new()).await;
    // With its own template this model keeps calling as long as tools are offered.
    let expected =
        Table { right_tool: 9, answered: 0, calls: 90, succeeded: 66, repaired: 4, unparsable: 0 };
    assert_eq!(table, expected);
}

#[tokio::test]
async fn local_model_answers_with_the_react_driver() {
    let table = runs("react", 8092, ReAct::new()).await;
    let expected =
        Table { right_tool: 8, answered: 10, calls: 10, succeeded: 10, repaired: 0, unparsable: 0 };
    assert_eq!(table, expected);
}
