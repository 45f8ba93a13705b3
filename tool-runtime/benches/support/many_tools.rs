//! Measures what the number of registered tools costs a dispatch: after a change of the registry,
//! and for unknown names.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tool_runtime::{Dispatcher, ToolCall, tool};

use super::listed::{Listed, registry};

const COUNTS: [usize; 4] = [100, 1_000, 10_000, 100_000];
const UNKNOWN_NAMES: usize = 1_000;

/// Logs a user in.
#[tool(effect = "read")]
async fn enter(#[arg(secret)] word: String) -> usize {
    word.len()
}

pub(super) fn measure() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    println!("\n| tools | call of a tool with secrets after a change | 1,000 unknown names |");
    println!("|---|---|---|");
    for count in COUNTS {
        let registry = registry(count, "small");
        registry.register(Arc::new(enter {})).unwrap();
        let dispatcher = Dispatcher::new(registry.clone());
        let dispatch = |calls: Vec<ToolCall>| -> Duration {
            let started = Instant::now();
            let executions = runtime.block_on(dispatcher.dispatch(calls));
            drop(executions);
            started.elapsed()
        };
        let changed = (0..20).map(|round| {
            registry.register(Arc::new(Listed::new(count + round, "small"))).unwrap();
            dispatch(vec![ToolCall::new("1", "enter", r#"{"word": "hunter22"}"#)])
        });
        let changed = changed.min().unwrap();
        let names = (0..UNKNOWN_NAMES).map(|n| ToolCall::new("", format!("toool_{n}"), "{}"));
        let unknown = dispatch(names.collect());
        println!("| {count} | {changed:.1?} | {unknown:.0?} |");
    }
}
