//! Time from the call of `shell_exec` to its result, for a command that does nothing.
//!
//! `cargo bench -p tool-shell --bench sandbox` prints the 10th and the 50th
//! percentile of 100 calls.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench stops at the first failure and prints its figures"
)]

use std::time::Instant;

use tool_runtime::dispatch::Permissions;
use tool_runtime::shell::{Sandbox, Shell};
use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, tools};

const CALLS: usize = 100;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = std::env::temp_dir().join("tool-shell-sandbox-bench");
    std::fs::create_dir_all(&folder).unwrap();
    println!("{:16} {:>10} {:>10}", "sandbox", "p10", "p50");
    for sandbox in [Sandbox::none(), Sandbox::read_only(), Sandbox::workspace_write()] {
        let shell = Shell::new(&folder, sandbox);
        let status = shell.check().unwrap();
        let allowed = Permissions::default().tool("shell_exec", Permission::Allow);
        let dispatcher = Dispatcher::new(Registry::try_from(tools![..shell]).unwrap())
            .policy(Policy::new().permissions(allowed));
        let mut times: Vec<_> = (0..CALLS)
            .map(|_| {
                let call = ToolCall::new("1", "shell_exec", r#"{"argv": ["true"]}"#);
                let start = Instant::now();
                let execution = runtime.block_on(dispatcher.dispatch(vec![call])).remove(0);
                assert!(execution.is_success(), "{}", execution.result.text);
                start.elapsed()
            })
            .collect();
        times.sort();
        let (p10, p50) = (times[CALLS / 10], times[CALLS / 2]);
        println!("{:16} {p10:>10.1?} {p50:>10.1?}", status.sandbox());
    }
}
