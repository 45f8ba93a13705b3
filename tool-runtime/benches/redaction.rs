//! Measures the redaction of a result of 100 KB, by its content and the number of secrets.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::unwrap_used, reason = "a bench stops at the first failure")]

use std::time::{Duration, Instant};

use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, ToolContext, ToolError, tool, tools};

const SIZE: usize = 100_000;
const ROUNDS: usize = 30;

struct Text(String);

/// Returns the text of the extension.
#[tool(effect = "none")]
async fn text(ctx: &ToolContext) -> Result<String, ToolError> {
    Ok(ctx.require::<Text>()?.0.clone())
}

fn main() {
    let prose = "The quick brown fox jumps over the lazy dog, and back again. ";
    let json = r#"{"path": "C:\\work\\notes.txt", "text": "It said \"no\".\n"}, "#;
    let base64 = "TG9yZW0gaXBzdW0gZG9sb3Igc2l0IGFtZXQsIGNvbnNlY3RldHVyIGFkaXBpc2NpbmcK";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    println!("| secrets | prose µs | JSON with escapes µs | base64 µs |");
    println!("|---|---|---|---|");
    let without = runtime.block_on(least_time(prose, 0));
    for secrets in [1, 10, 1_000, 10_000] {
        let micros = [prose, json, base64].map(|line| {
            let least = runtime.block_on(least_time(line, secrets));
            least.saturating_sub(without).as_micros()
        });
        println!("| {secrets} | {} | {} | {} |", micros[0], micros[1], micros[2]);
    }
}

/// Returns the least time of a call that returns repetitions of a line.
async fn least_time(line: &str, secrets: usize) -> Duration {
    let keys = (0..secrets).map(|number| format!("sk-{number:08}-Zq7vR2xK9"));
    let dispatcher = Dispatcher::new(Registry::try_from(tools![text]).unwrap())
        .policy(Policy::new().secrets(keys).max_output_bytes(SIZE * 2))
        .extension(Text(line.repeat(SIZE / line.len())));
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let calls = vec![ToolCall::new("1", "text", "{}")];
        let start = Instant::now();
        let executions = dispatcher.dispatch(calls).await;
        least = least.min(start.elapsed());
        assert!(executions.iter().all(|execution| execution.result.error.is_none()));
    }
    least
}
