//! Measures the overhead of the agent loop: the time per turn by the length of the conversation and
//! the memory of 10,000 agents at once.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench stops at the first failure and prints its figures"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use allocation_counter::measure;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Message, ModelError, ToolCall, ToolResult,
    async_trait, tool, tools,
};

const AGENTS: usize = 10_000;
/// Number of turns of one run: calls, and an answer at the end.
const TURNS: u32 = 5;

/// Adds two numbers.
#[tool(effect = "none")]
async fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Model that makes calls until the last turn and then answers.
struct CallingModel;

#[async_trait]
impl ChatModel for CallingModel {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let messages =
            request.messages.iter().rev().take_while(|it| !matches!(it, Message::User { .. }));
        Ok(match messages.count() / 2 {
            turn if turn + 1 < TURNS as usize => {
                ChatReply::default().call("add", format!(r#"{{"a": {turn}, "b": 2}}"#))
            }
            _ => ChatReply::text("done"),
        })
    }
}

/// Returns a conversation of so many messages: questions, calls, results and answers.
fn history(length: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    for turn in 0.. {
        let call = ToolCall::new(format!("call_{turn}"), "add", r#"{"a": 20, "b": 22}"#);
        let results = vec![ToolResult::success(&call, "42")];
        let parts = vec![tool_runtime::AssistantPart::Call(call)];
        messages.push(Message::user("What is 20 and 22?"));
        messages.push(Message::Assistant { parts });
        messages.push(Message::Tool { results });
        messages.push(Message::assistant("It is 42."));
        if messages.len() + 4 > length {
            break;
        }
    }
    messages.truncate(length / 4 * 4);
    messages.push(Message::user("And now?"));
    messages
}

/// Returns the least time of one turn.
fn per_turn(runtime: &Runtime, length: usize) -> Duration {
    let agent = Agent::new(CallingModel, tools![add]);
    let history = history(length);
    let rounds = (2_000_000 / (length + 100)).max(20);
    let run = |messages: Vec<Message>| {
        let start = Instant::now();
        let answer = runtime.block_on(agent.run(messages)).unwrap();
        let elapsed = start.elapsed();
        black_box(answer);
        elapsed
    };
    (0..rounds).map(|_| run(history.clone())).min().unwrap() / TURNS
}

/// Model that replies once all agents have sent a request.
struct Gate(AtomicUsize, Semaphore);

#[async_trait]
impl ChatModel for Gate {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        if self.0.fetch_add(1, Ordering::Relaxed) + 1 == AGENTS {
            self.1.close();
        }
        let _ = self.1.acquire().await;
        Ok(ChatReply::text("done"))
    }
}

fn main() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    println!("| messages | µs per turn | ns per turn and message |");
    println!("|---|---|---|");
    for length in [0, 10, 100, 1_000, 10_000] {
        let time = per_turn(&runtime, length);
        let ns = time.as_nanos() as f64;
        println!("| {length} | {:.2} | {:.1} |", ns / 1e3, ns / length.max(1) as f64);
    }
    let start = Instant::now();
    let mut finished = 0;
    let counted = measure(|| {
        runtime.block_on(async {
            let model = Arc::new(Gate(AtomicUsize::new(0), Semaphore::new(0)));
            let agent = Agent::new(model, tools![add]);
            let runs: Vec<_> = (0..AGENTS)
                .map(|_| {
                    let agent = agent.clone();
                    tokio::spawn(async move { agent.run("Hello").await.is_ok() })
                })
                .collect();
            for run in runs {
                finished += usize::from(run.await.unwrap());
            }
        });
    });
    assert_eq!(finished, AGENTS);
    println!(
        "\n{AGENTS} agents at once: {} bytes each at most, {} allocations each, {:.2} s",
        counted.bytes_max / AGENTS as u64,
        counted.count_total / AGENTS as u64,
        start.elapsed().as_secs_f64()
    );
}
