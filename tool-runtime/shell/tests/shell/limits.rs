//! Limits of memory and processes.

use std::fs;

use serde_json::json;
use tool_runtime::shell::Sandbox;

use super::fixture::Fixture;

/// Allocates 1 GiB without using it, so that nothing happens if it succeeds.
const ALLOCATE: &str = "python3 -c 'bytearray(1 << 30); print(\"THROUGH\")'";

/// Uses 100 MiB in each of 8 processes at once.
const ALLOCATE_IN_MANY: &str = "for i in 1 2 3 4 5 6 7 8; do \
    python3 -c 'x = b\"x\" * (100 << 20); import time; time.sleep(2); print(\"THROUGH\")' & \
    done; wait";

/// Starts 100 processes that live at the same time.
const FORK: &str = "python3 -c '
import os, time
for i in range(100):
    if os.fork() == 0: time.sleep(1); os._exit(0)
print(\"THROUGH\")'";

#[tokio::test]
async fn memory_of_each_process_is_limited() {
    for (memory, is_allocated) in [(256 << 20, false), (4 << 30, true)] {
        let fixture = Fixture::new(Sandbox::read_only().max_memory_bytes(memory));
        let (_, output) = fixture.run(ALLOCATE).await;
        assert_eq!(output.contains("THROUGH"), is_allocated, "{output}");
    }
}

#[tokio::test]
async fn limits_that_the_status_does_not_except_hold_for_all_processes() {
    let fixture = Fixture::new(Sandbox::read_only().max_memory_bytes(256 << 20).max_processes(40));
    let status = fixture.shell.check().unwrap();
    let is_excepted = |text: &str| status.not_enforced().iter().any(|it| it.contains(text));
    println!("{status}");
    // A bomb is tried only where a limit is promised.
    if !is_excepted("the memory of all processes") {
        let (_, output) = fixture.run(ALLOCATE_IN_MANY).await;
        assert!(output.matches("THROUGH").count() < 3, "{output}");
    }
    if !is_excepted("the number of processes") {
        let (_, output) = fixture.run(FORK).await;
        assert!(!output.contains("THROUGH"), "{output}");
    }
}

/// Returns whether a cgroup v2 of this machine has the controllers of memory and processes.
fn has_controllers() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = mounts.lines().filter(|line| line.contains(" - cgroup2 "));
    points.filter_map(|line| line.split(' ').nth(4)).any(|point| {
        let names = fs::read_to_string(format!("{point}/cgroup.controllers")).unwrap_or_default();
        ["memory", "pids"].iter().all(|name| names.split_whitespace().any(|it| it == *name))
    })
}

#[tokio::test]
async fn status_names_the_limits_that_no_group_can_enforce() {
    let fixture = Fixture::new(Sandbox::read_only());
    let missing = fixture.shell.check().unwrap().not_enforced().join(", ");
    let is_root = rustix::process::geteuid().is_root();
    if !has_controllers() {
        assert!(missing.contains("the memory of all processes together"), "{missing}");
        assert_eq!(missing.contains("the number of processes"), is_root, "{missing}");
        let preview = fixture.shell.preview_of("shell_exec", &json!({ "command": "ls" })).unwrap();
        assert!(preview.ends_with(&format!("not enforced: {missing}")), "{preview}");
    }
}
