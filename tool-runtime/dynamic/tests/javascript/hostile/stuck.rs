//! A body whose thread does not end with its call.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tool_runtime::ToolErrorKind;

use crate::fixture::{run, script};

/// The engine looks for an interrupt once in 10,000 steps, so once in 10,000 products, which takes
/// minutes. The first look comes after fewer products: it must come before the time limit.
const STUCK: &str = "const n = 7n ** 100000n; while (true) n * n;";

const CHILD: &str = "TOOL_DYNAMIC_STUCK_CHILD";

#[tokio::test]
#[ignore = "the process that the test below starts"]
async fn child_leaves_a_thread_behind() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let started = Instant::now();
    let error = run(&script(STUCK).timeout_seconds(1), "{}").await.unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::Timeout, "{error}");
    // An interrupt would have ended the script at its time limit.
    assert!(started.elapsed() > Duration::from_millis(1_900), "the script was not stuck");
    assert_eq!(run(&script("return 6 * 7;"), "{}").await.unwrap().as_text(), "42");
}

#[test]
fn call_and_program_end_while_a_thread_is_stuck() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile::stuck::child_leaves_a_thread_behind", "--ignored"])
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("the program did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success());
}
