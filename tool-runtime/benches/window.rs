//! Measures the planning of a context window, by the length of the conversation.
//!
//! With the feature `sqlite`, also measures the saving of one step of a session.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "../json/benches/rounds.rs"]
mod rounds;

use rounds::Rounds;
use tool_runtime::__workspace::WindowState;
use tool_runtime::agent::window::Window;
use tool_runtime::{AssistantPart, Message, ToolCall, ToolResult};

const LENGTHS: [usize; 4] = [10, 100, 1_000, 10_000];

/// Token limit of a window that evicts messages.
const TOKENS: u64 = 8_000;

fn main() {
    println!(
        "| messages | whole conversation ns | max {TOKENS} tokens | without earlier calls | new cut |"
    );
    println!("|---|---|---|---|---|");
    for length in LENGTHS {
        let messages = conversation(length);
        let mut rounds = Rounds::new(50, if length > 1_000 { 5 } else { 50 });
        let limited = || Window::new().max_tokens(TOKENS);
        for window in [Window::new(), limited(), limited().drop_earlier_tool_calls()] {
            let state = window.plan(&messages, 0, &WindowState::default()).state;
            let messages = messages.clone();
            rounds.add(move || window.plan(&messages, 0, &state).messages.len());
        }
        rounds.add(move || limited().plan(&messages, 0, &WindowState::default()).messages.len());
        let ns: Vec<_> = rounds.run().iter().map(|ns| format!("{ns:.0}")).collect();
        println!("| {length} | {} |", ns.join(" | "));
    }
    #[cfg(feature = "sqlite")]
    saves();
}

/// Returns a conversation of one run: a question, then calls with results of some fifty tokens.
fn conversation(length: usize) -> Vec<Message> {
    let step = |number: usize| {
        let call = ToolCall::new(format!("call_{number}"), "forecast", r#"{"city": "Oslo"}"#);
        let result = ToolResult::success(&call, "Four degrees and light rain. ".repeat(6));
        let reply = Message::Assistant { id: None, parts: vec![AssistantPart::Call(call)] };
        [reply, Message::Tool { results: vec![result] }]
    };
    let first = [Message::system("Be brief."), Message::user("What should I wear in Oslo?")];
    first.into_iter().chain((0..(length - 2) / 2).flat_map(step)).collect()
}

/// Measures saving two more messages of a conversation in a database file.
#[cfg(feature = "sqlite")]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench stops at the first failure"
)]
fn saves() {
    use std::time::Instant;

    use tool_runtime::agent::session::{SessionStore, SessionWrite};
    use tool_runtime::store::Sqlite;

    const SAVES: u32 = 200;
    let folder = std::env::temp_dir().join(format!("sessions-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    println!("\n| messages before | µs of a save |");
    println!("|---|---|");
    for length in LENGTHS {
        let messages = conversation(length);
        let file = folder.join(format!("{length}.db"));
        let micros = runtime.block_on(async {
            let store = Sqlite::open(file).await.unwrap();
            let write = SessionWrite::create().messages(0, &messages).state("{}");
            let mut revision = store.save("s", write).await.unwrap();
            let started = Instant::now();
            for number in 0..SAVES as usize {
                let new = &messages[length - 2..];
                let write =
                    SessionWrite::update(revision).messages(length + 2 * number, new).state("{}");
                revision = store.save("s", write).await.unwrap();
            }
            (started.elapsed() / SAVES).as_micros()
        });
        println!("| {length} | {micros} |");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
