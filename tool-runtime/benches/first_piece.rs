//! Measures the time to the first piece of a streamed reply, and the time of the whole reply: with
//! no hook, with one that changes nothing, with one that changes pieces, and with one that holds
//! replies back.
//!
//! The model sends 1,000 pieces of 16 bytes and takes no time itself, so that all of it is the
//! runtime's. A piece is sent each time the run is polled.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::unwrap_used, reason = "a bench stops at the first failure")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tool_runtime::agent::{ModelHook, ReplyChanges, StreamItem};
use tool_runtime::models::DeltaSink;
use tool_runtime::{
    Agent, ChatModel, ChatReply, ChatRequest, Delta, ModelError, RunContext, Tools, async_trait,
};

const PIECES: usize = 1_000;
const PIECE: &str = "A piece of text ";
const RUNS: usize = 200;

struct Pieces;

#[async_trait]
impl ChatModel for Pieces {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        Ok(ChatReply::text(PIECE.repeat(PIECES)))
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        for _ in 0..PIECES {
            deltas(Delta::Text(PIECE));
            tokio::task::yield_now().await;
        }
        self.reply(request).await
    }
}

struct Hook(ReplyChanges);

impl ModelHook for Hook {
    fn reply_changes(&self) -> ReplyChanges {
        self.0
    }

    fn on_delta(&self, pending: &mut String, is_last: bool, _: &RunContext<'_>) -> String {
        // The last word may be incomplete.
        let end = if is_last { pending.len() } else { pending.rfind(' ').map_or(0, |at| at + 1) };
        let rest = pending.split_off(end);
        std::mem::replace(pending, rest).replace("text", "words")
    }
}

/// Returns the times to the first piece and to the end of the run.
async fn measure(agent: &Agent) -> [Duration; 2] {
    let start = Instant::now();
    let mut stream = agent.stream("Go");
    let mut first = None;
    while let Some(item) = stream.next().await {
        if let StreamItem::Text(text) = item {
            first.get_or_insert_with(|| start.elapsed());
            black_box(text);
        }
    }
    [first.unwrap_or_default(), start.elapsed()]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    println!("| hook | first piece (µs) | whole reply (µs) |\n|---|---|---|");
    let rows = [
        ("none", None),
        ("changes nothing", Some(ReplyChanges::Nothing)),
        ("changes pieces", Some(ReplyChanges::Pieces)),
        ("holds replies back", Some(ReplyChanges::Whole)),
    ];
    for (name, changes) in rows {
        let agent = Agent::new(Pieces, Tools::new());
        let agent = match changes {
            Some(changes) => agent.model_hook(Hook(changes)),
            None => agent,
        };
        let mut times: Vec<_> = (0..RUNS).map(|_| runtime.block_on(measure(&agent))).collect();
        times.sort_unstable();
        let [first, whole] = times.get(RUNS / 2).unwrap().map(|time| time.as_secs_f64() * 1e6);
        println!("| {name} | {first:.1} | {whole:.0} |");
    }
}
