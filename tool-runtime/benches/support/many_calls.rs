//! Measures the assembly of replies with many calls, for each provider.

use std::sync::Arc;
use std::time::Instant;

use tokio::runtime::Builder;
use tool_runtime::providers::{Anthropic, Gemini, Mistral, Ollama, OpenAi, OpenAiResponses};
use tool_runtime::{ChatModel, ChatRequest, Delta};

use super::FixedResponse;
use super::call_streams::{anthropic, chat, gemini, ollama, responses};

const COUNTS: [usize; 2] = [10_000, 100_000];
const ROUNDS: usize = 3;
const BASE: &str = "http://models.invalid/v1";

/// A format: its name, its client for a body, and the body of a number of calls.
type Format = (&'static str, fn(FixedResponse) -> Box<dyn ChatModel>, fn(usize) -> String);

macro_rules! client {
    ($client:ident) => {
        |body| {
            let model = $client::new(BASE, "m").max_calls_per_reply(u32::MAX);
            Box::new(model.transport(body))
        }
    };
}

const FORMATS: [Format; 7] = [
    ("anthropic", client!(Anthropic), anthropic),
    ("gemini", client!(Gemini), gemini),
    ("mistral", client!(Mistral), |calls| chat(calls, false)),
    ("ollama", client!(Ollama), ollama),
    ("openai", client!(OpenAi), |calls| chat(calls, false)),
    ("openai, each call in two pieces", client!(OpenAi), |calls| chat(calls, true)),
    ("responses", client!(OpenAiResponses), responses),
];

/// Prints the time of each format for each number of calls, and its growth.
pub(super) fn measure() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    println!("\n| format | 10,000 calls ms | 100,000 calls ms | exponent | MB/s |");
    println!("|---|---|---|---|---|");
    for (name, client, body) in FORMATS {
        let rows = COUNTS.map(|count| {
            let body: Arc<str> = body(count).into();
            let model = client(FixedResponse(Arc::clone(&body)));
            let time = (0..ROUNDS).map(|_| {
                let start = Instant::now();
                let mut deltas = 0;
                let mut sink = |_: Delta<'_>| deltas += 1;
                let reply = runtime.block_on(model.stream(ChatRequest::new(&[]), &mut sink));
                assert_eq!(reply.unwrap().parts.len(), count, "{name}");
                start.elapsed().as_secs_f64()
            });
            (time.fold(f64::MAX, f64::min), body.len() as f64)
        });
        let [short, long] = rows;
        let exponent = (long.0 / short.0).log(long.1 / short.1);
        let [short_ms, long_ms] = [short, long].map(|(time, _)| time * 1e3);
        println!(
            "| {name} | {short_ms:.0} | {long_ms:.0} | {exponent:.2} | {:.0} |",
            long.1 / long.0 / 1e6
        );
    }
}
