//! Measures the overhead of the agent loop: the time per turn by the length of the conversation and
//! by the calls of a reply, and the memory of 10,000 agents at once.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench stops at the first failure and prints its figures"
)]

#[expect(dead_code, reason = "only the floor is measured here")]
#[path = "support/contenders.rs"]
mod contenders;
#[path = "../json/benches/rounds.rs"]
mod rounds;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use allocation_counter::measure;
use rounds::Rounds;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tool_runtime::__workspace::Step;
use tool_runtime::agent::{Limits, Turn};
use tool_runtime::{
    Agent, AssistantPart, ChatModel, ChatReply, ChatRequest, Message, ModelError, ScriptedModel,
    ToolCall, ToolResult, async_trait, tool, tools,
};

const AGENTS: usize = 10_000;
/// Number of turns of one run: calls, and an answer at the end.
const TURNS: u32 = 5;
/// Numbers of calls of one reply.
const CALLS: [usize; 4] = [100, 1_000, 10_000, 40_000];

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
        let parts = vec![AssistantPart::Call(call)];
        messages.push(Message::user("What is 20 and 22?"));
        messages.push(Message::Assistant { id: None, parts });
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

/// Returns the least nanoseconds of the floor of `ratios`, without which a time of a turn could not
/// be compared with those of another machine.
fn floor_ns() -> f64 {
    let mut rounds = Rounds::new(1_000, 1_000);
    rounds.add(contenders::floor());
    rounds.run().into_iter().sum()
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

/// Returns a reply with so many calls.
fn reply_with_calls(count: usize) -> ChatReply {
    let call =
        |n| AssistantPart::Call(ToolCall::new("", "add", format!(r#"{{"a": {n}, "b": 2}}"#)));
    ChatReply::new((0..count).map(call).collect())
}

/// Returns the nanoseconds for each call that a turn takes to record a reply with `count` calls and
/// their results, in portions of so many.
fn per_call(count: usize, portion: usize) -> f64 {
    let reply = reply_with_calls(count);
    let run = || {
        let limits = Limits::default().max_calls_per_reply(None);
        let mut turn = Turn::new(vec![Message::user("Go")], 20).with_limits(limits);
        let reply = reply.clone();
        let start = Instant::now();
        turn.on_reply(reply).unwrap();
        let Step::RunCalls(calls) = turn.next() else { return Duration::MAX };
        turn.begin_calls(std::time::UNIX_EPOCH);
        for calls in calls.chunks(portion) {
            let results = calls.iter().map(|call| ToolResult::success(call, "42")).collect();
            turn.on_partial_results(results).unwrap();
        }
        start.elapsed()
    };
    let least = (0..5).map(|_| run()).min().unwrap();
    least.as_nanos() as f64 / count as f64
}

/// Returns the nanoseconds for each call of a run with one reply of `count` calls and an answer.
fn per_dispatched_call(runtime: &Runtime, count: usize) -> f64 {
    let run = || {
        let model = ScriptedModel::new([reply_with_calls(count), ChatReply::text("Done.")]);
        let limits = Limits::default().max_calls_per_reply(None);
        let agent = Agent::new(model, tools![add]).limits(limits);
        let start = Instant::now();
        black_box(runtime.block_on(agent.run("Go")).unwrap());
        start.elapsed()
    };
    let least = (0..3).map(|_| run()).min().unwrap();
    least.as_nanos() as f64 / count as f64
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
    let floor = floor_ns();
    println!("| messages | µs per turn | ns per turn and message | × floor |");
    println!("|---|---|---|---|");
    for length in [0, 10, 100, 1_000, 10_000] {
        let ns = per_turn(&runtime, length).as_nanos() as f64;
        let (us, each, ratio) = (ns / 1e3, ns / length.max(1) as f64, ns / floor);
        println!("| {length} | {us:.2} | {each:.1} | {ratio:.1} |");
    }
    println!("\n| calls of one reply | turn, ns per call | results one by one | agent |");
    println!("|---|---|---|---|");
    for count in CALLS {
        let [at_once, one_by_one] = [count, 1].map(|portion| per_call(count, portion));
        let agent = per_dispatched_call(&runtime, count);
        println!("| {count} | {at_once:.0} | {one_by_one:.0} | {agent:.0} |");
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
    let seconds = start.elapsed().as_secs_f64();
    let [bytes, allocations] =
        [counted.bytes_max, counted.count_total].map(|total| total / AGENTS as u64);
    println!("\n| agents at once | bytes each at most | allocations each | s |");
    println!("|---|---|---|---|");
    println!("| {AGENTS} | {bytes} | {allocations} | {seconds:.2} |");
}
