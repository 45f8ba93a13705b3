//! Processes started by tools: their output, and that none outlives its call.

use serde_json::json;
use support::processes::{MARKER, marked, wait_until};
use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::{
    CancellationToken, Dispatcher, EffectRecord, Policy, Registry, ToolCall, ToolContext,
    ToolError, ToolErrorKind, tool, tools,
};

/// Script with two sleeping processes, one of them orphaned.
const TREE: &str = "(sleep 1000 & sleep 1000) & sleep 1000";

/// Starts a tree of processes that never ends, and returns as `behavior` says.
#[tool(timeout = "20s")]
async fn grow(behavior: &str, marker: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    let tree = ctx.command("sh").args(["-c", TREE]).env(MARKER, marker).output();
    let tree_started = wait_until("the tree has started", || marked(marker) >= 4);
    tokio::select! {
        output = tree => return output?.into_text(),
        () = tree_started => {}
    }
    // Dropping the future ended the tree, so the tree is started again.
    let tree = ctx.command("sh").args(["-c", TREE]).env(MARKER, marker).output();
    let end = async {
        wait_until("one tree is left", || marked(marker) == 4).await;
        match behavior {
            "works" => Ok("done".to_owned()),
            "fails" => Err("no".into()),
            "panics" => panic!("on purpose"),
            _ => {
                if let Some(tree_started) = ctx.get::<CancellationToken>() {
                    tree_started.cancel();
                }
                std::future::pending().await
            }
        }
    };
    tokio::select! {
        // The command must be polled first, so that it starts.
        biased;
        output = tree => output?.into_text(),
        end = end => end,
    }
}

/// Starts a tree of processes that never ends, with a short timeout.
#[tool(timeout = "1s")]
async fn grow_in_a_second(marker: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    let tree = ctx.command("sh").args(["-c", TREE]).env(MARKER, marker).output();
    tree.await?.into_text()
}

fn dispatcher() -> Dispatcher {
    Dispatcher::new(Registry::try_from(tools![grow, grow_in_a_second]).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_end_with_their_call() {
    support::panics::silence_panics_on_purpose();
    for (behavior, code) in [
        ("works", None),
        ("fails", Some("TOOL_EXECUTION_FAILED")),
        ("panics", Some("TOOL_PANICKED")),
        ("is stopped", Some("TOOL_CANCELLED")),
    ] {
        let marker = format!("{behavior}-{}", std::process::id());
        let tree_started = CancellationToken::new();
        let call = ToolCall::new("c", "grow", json!({ "behavior": behavior, "marker": marker }));
        let mut batch = Batch::from(vec![call]);
        batch.cancellation = Some(tree_started.clone());
        let execution =
            Dispatch::dispatch(&dispatcher().extension(tree_started), batch).await.remove(0);
        assert_eq!(execution.result.error.as_deref(), code, "{}", execution.result.text);
        assert!(!execution.has_detached_thread);
        let started = |effect: &&EffectRecord| matches!(effect, EffectRecord::ProcessStarted(started) if started.command.contains("sleep"));
        assert_eq!(execution.effects.iter().filter(started).count(), 2);
        wait_until("no process is left", || marked(&marker) == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_end_at_the_deadline() {
    let marker = format!("late-{}", std::process::id());
    let call = ToolCall::new("c", "grow_in_a_second", json!({ "marker": marker }));
    let execution = dispatcher().dispatch(vec![call]).await.remove(0);
    assert_eq!(execution.result.error.as_deref(), Some("TOOL_TIMEOUT"));
    let [EffectRecord::ProcessStarted(started), EffectRecord::ProcessEnded(ended)] =
        &execution.effects[..]
    else {
        panic!("{:?}", execution.effects)
    };
    assert!(started.pid.is_some() && !started.background);
    assert_eq!((ended.pid, ended.code, ended.signal), (started.pid, None, Some(9)));
    assert!(!execution.has_detached_thread);
    wait_until("no process is left", || marked(&marker) == 0).await;
}

/// Runs on one thread, so that only the runtime could continue the call.
#[tokio::test]
async fn processes_end_when_the_dispatch_is_dropped() {
    let marker = format!("dropped-{}", std::process::id());
    let tree_started = CancellationToken::new();
    let call = ToolCall::new("c", "grow", json!({ "behavior": "hangs", "marker": marker }));
    let dispatcher = dispatcher().extension(tree_started.clone());
    let dispatch = dispatcher.dispatch(vec![call]);
    assert!(tree_started.run_until_cancelled(dispatch).await.is_none());
    wait_until("no process is left", || marked(&marker) == 0).await;
}

#[test]
fn processes_end_with_the_runtime() {
    let marker = format!("runtime-{}", std::process::id());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (call, tree_started) = (marker.clone(), marker.clone());
    runtime.block_on(async move {
        tokio::spawn(async move {
            let call = ToolCall::new("c", "grow_in_a_second", json!({ "marker": call }));
            dispatcher().dispatch(vec![call]).await
        });
        wait_until("the tree has started", || marked(&tree_started) >= 4).await;
    });
    drop(runtime);
    let waits = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    waits.block_on(wait_until("no process is left", || marked(&marker) == 0));
}

#[tokio::test]
async fn command_returns_status_and_output() {
    let ctx = ToolContext::default();
    let shell = |script: &str| ctx.command("sh").args(["-c", script]);

    let output = shell("echo out; echo err >&2; exit 3").output().await.unwrap();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(output.status.code(), Some(3));
    let error = output.into_text().unwrap_err();
    let text = "The program ended with exit status: 3.\nerr";
    assert_eq!((error.kind(), error.text()), (ToolErrorKind::ExecutionFailed, text));

    // Standard input holds the given text and nothing else.
    let owned = |read: &str| read.to_owned();
    assert_eq!(owned(&shell("cat").stdin("one\ntwo").output().await.unwrap().stdout), "one\ntwo");
    assert_eq!(shell("cat").output().await.unwrap().stdout, "");
    let large = "x".repeat(1 << 20);
    assert!(shell("true").stdin(large.clone()).output().await.unwrap().status.success());
    let cut = shell("cat").stdin(large).max_output_bytes(10).output().await.unwrap().stdout;
    assert_eq!(cut, "xxxxx\n[… 1048566 bytes left out …]\nxxxxx");

    let location = shell("pwd; echo $HOME$TOOL").env_clear().env("TOOL", "t").current_dir("/");
    assert_eq!(location.output().await.unwrap().stdout, "/\nt\n");

    let none = ctx.command("no-such-program-anywhere").output().await.unwrap_err();
    let text = "`no-such-program-anywhere` could not be started.";
    assert_eq!((none.kind(), none.text()), (ToolErrorKind::Unavailable, text));
    assert!(none.source().is_some());
}

#[tokio::test]
async fn orphaned_processes_end_with_the_command() {
    let marker = format!("left-{}", std::process::id());
    let ctx = ToolContext::default();
    // The orphan keeps the pipe open. The command does not wait for it.
    let left = ctx.command("sh").args(["-c", "sleep 1000 & echo done"]).env(MARKER, &marker);
    assert_eq!(left.output().await.unwrap().stdout, "done\n");
    wait_until("no process is left", || marked(&marker) == 0).await;
}

#[tokio::test]
async fn environment_of_a_command_is_not_recorded() {
    /// Runs a program that needs a key.
    #[tool]
    async fn pull(ctx: &ToolContext) -> Result<String, ToolError> {
        let git = ctx.command("echo").arg("a word").env("TOKEN", "k3y-0f-th3-h0us3");
        assert_eq!(format!("{git:?}"), r#"Command(echo "a word")"#);
        git.output().await?.into_text()
    }

    let dispatcher = Dispatcher::new(Registry::try_from(tools![pull]).unwrap());
    let execution = dispatcher.dispatch(vec![ToolCall::new("c", "pull", "{}")]).await.remove(0);
    let [EffectRecord::ProcessStarted(started), EffectRecord::ProcessEnded(ended)] =
        &execution.effects[..]
    else {
        panic!("{:?}", execution.effects)
    };
    assert_eq!(started.command, r#"echo "a word""#);
    assert_eq!((ended.pid, ended.code, ended.signal), (started.pid, Some(0), None));
    assert!(!serde_json::to_string(&execution).unwrap().contains("k3y"));
}

/// Writes a secret at or near the cut of the output.
#[tool]
async fn write_secret(before: u32, ctx: &ToolContext) -> Result<String, ToolError> {
    let text = format!("{}{SECRET}{}{SECRET}", ".".repeat(before as usize), "-".repeat(200));
    let output = ctx.command("printf").args(["%s", &text]).max_output_bytes(60).output().await?;
    output.into_text()
}

const SECRET: &str = "CANARY-topsecret-9";

#[tokio::test]
async fn truncated_output_holds_no_part_of_a_secret() {
    let dispatcher = Dispatcher::new(Registry::try_from(tools![write_secret]).unwrap())
        .policy(Policy::new().secrets([SECRET]));
    for before in 0..40 {
        let arguments = json!({ "before": before });
        let execution = dispatcher
            .dispatch(vec![ToolCall::new("1", "write_secret", arguments)])
            .await
            .remove(0);
        let debug = format!("{execution:?}");
        assert!(execution.result.text.contains("left out"), "{debug}");
        assert!(!execution.result.text.contains(['C', 'Y', 'p']), "{debug}");
    }
}
