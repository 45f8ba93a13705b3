//! Ends of a child process: none of the processes that it started remains.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use support::processes::{MARKER, marked, wait_until};
use tool_runtime::process::{ChildProcess, Shutdown};

/// Script with a child, and an orphaned grandchild. It ends with its input.
const TREE: &str = "(sleep 1000 & sleep 1000) & echo ready; cat >&2";

/// More than any test takes.
const LONG: Duration = Duration::from_secs(60);

/// Starts a script and waits for its first line. The script and its processes have a marker.
async fn started(name: &str, script: &str) -> (ChildProcess, String) {
    let marker = format!("child-{name}-{}", std::process::id());
    let mut child =
        ChildProcess::builder("sh").args(["-c", script]).env(MARKER, &marker).spawn().unwrap();
    assert_eq!(child.next_line().await.unwrap().as_deref(), Some("ready"));
    (child, marker)
}

/// Starts a tree of four processes: shells run their last command in their own process.
async fn tree(name: &str) -> (ChildProcess, String) {
    let (child, marker) = started(name, TREE).await;
    wait_until("the tree has started", || marked(&marker) == 4).await;
    (child, marker)
}

#[tokio::test]
async fn tree_ends_with_the_value() {
    let (child, marker) = tree("dropped").await;
    drop(child);
    wait_until("no process is left", || marked(&marker) == 0).await;
}

#[tokio::test]
async fn tree_ends_when_the_group_is_killed() {
    let (mut child, marker) = tree("killed").await;
    let status = child.kill_group().await.unwrap();
    assert_eq!(status.signal(), Some(9));
    wait_until("no process is left", || marked(&marker) == 0).await;
    assert_eq!(child.kill_group().await.unwrap(), status);
    assert_eq!(child.wait().await.unwrap(), status);
}

#[tokio::test]
async fn tree_ends_with_its_leader() {
    let (mut child, marker) = tree("left").await;
    child.close_stdin();
    assert!(child.wait().await.unwrap().success());
    wait_until("no process is left", || marked(&marker) == 0).await;
}

#[tokio::test]
async fn dropped_wait_leaves_the_process_running() {
    let (mut child, marker) = tree("waiting").await;
    assert!(tokio::time::timeout(Duration::ZERO, child.wait()).await.is_err());
    child.write_line("still there").await.unwrap();
    wait_until("the line has arrived", || child.stderr_tail() == "still there\n").await;
    assert_eq!(marked(&marker), 4);
}

/// Each script ends at another step.
#[tokio::test]
async fn shutdown_goes_as_far_as_needed() {
    let quick =
        |close, terminate| Shutdown::default().close_timeout(close).terminate_timeout(terminate);
    let sleeps = "echo ready; while :; do sleep 1000 & wait; done";
    for (name, script, steps, code, signal) in [
        ("reads", "echo ready; cat".to_owned(), quick(LONG, LONG), Some(0), None),
        ("exits", "echo ready; cat; exit 3".to_owned(), quick(LONG, LONG), Some(3), None),
        ("sleeps", sleeps.to_owned(), quick(Duration::ZERO, LONG), None, Some(15)),
        (
            "cleans up",
            format!("trap 'exit 7' TERM; {sleeps}"),
            quick(Duration::ZERO, LONG),
            Some(7),
            None,
        ),
        (
            "stubborn",
            format!("trap '' TERM; {sleeps}"),
            quick(Duration::ZERO, Duration::ZERO),
            None,
            Some(9),
        ),
    ] {
        let (mut child, marker) = started(name, &script).await;
        let status = child.shutdown(steps).await.unwrap();
        assert_eq!((status.code(), status.signal()), (code, signal), "{name}");
        wait_until("no process is left", || marked(&marker) == 0).await;
        assert_eq!(child.shutdown(steps).await.unwrap(), status, "{name}");
    }
}

#[tokio::test]
async fn shutdown_drops_unread_output() {
    let script =
        "echo ready; cat; i=0; while [ $i -lt 20000 ]; do echo 'more text'; i=$((i+1)); done";
    let (mut child, _) = started("talkative", script).await;
    let steps = Shutdown::default().close_timeout(LONG);
    assert!(child.shutdown(steps).await.unwrap().success());
}

/// A daemon leaves the group and keeps the pipes open.
#[tokio::test]
async fn wait_does_not_wait_for_a_daemon() {
    let (mut child, marker) = started("daemon", "setsid sleep 1000 & echo ready").await;
    let status = tokio::time::timeout(LONG, child.wait()).await.unwrap().unwrap();
    assert!(status.success());
    // The one process that is not ended with its group: end it here.
    let script =
        format!("kill $(grep -lsz '^{MARKER}={marker}$' /proc/[0-9]*/environ | cut -d/ -f3)");
    wait_until("the daemon has ended", || {
        let _ = std::process::Command::new("sh").args(["-c", &script]).output();
        marked(&marker) == 0
    })
    .await;
}
