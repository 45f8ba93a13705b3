//! Programs that tools run: what comes of them, and that none outlives its call.
#![cfg(target_os = "linux")]

#[path = "support/processes.rs"]
mod processes;

use processes::{MARKER, marked, until};
use serde_json::json;
use tool_runtime::dispatch::{Batch, Dispatch};
use tool_runtime::{
    CancellationToken, Dispatcher, EffectRecord, Policy, Registry, ToolCall, ToolContext,
    ToolError, ToolErrorKind, tool, tools,
};

/// Two that sleep, one of them left behind by its parent.
const TREE: &str = "(sleep 1000 & sleep 1000) & sleep 1000";

/// Runs a tree of programs that doesn't end, and ends as it is told.
#[tool(timeout = "20s")]
async fn grow(how: &str, marker: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    let tree = ctx.command("sh").args(["-c", TREE]).env(MARKER, marker).output();
    let grown = until("a tree", || marked(marker) >= 4);
    tokio::select! {
        output = tree => return output?.into_text(),
        () = grown => {}
    }
    // Whoever loses interest ends it as well; so it is grown once more.
    let tree = ctx.command("sh").args(["-c", TREE]).env(MARKER, marker).output();
    let end = async {
        until("one tree", || marked(marker) == 4).await;
        match how {
            "works" => Ok("done".to_owned()),
            "fails" => Err("no".into()),
            "panics" => panic!("on purpose"),
            _ => {
                if let Some(is_grown) = ctx.get::<CancellationToken>() {
                    is_grown.cancel();
                }
                std::future::pending().await
            }
        }
    };
    tokio::select! {
        // It has to begin, whatever is left of the first.
        biased;
        output = tree => output?.into_text(),
        end = end => end,
    }
}

/// The same, and is past its time soon.
#[tool(timeout = "1s")]
async fn grow_in_a_second(marker: &str, ctx: &ToolContext) -> Result<String, ToolError> {
    let tree = ctx.command("sh").args(["-c", TREE]).env(MARKER, marker).output();
    tree.await?.into_text()
}

fn dispatcher() -> Dispatcher {
    Dispatcher::new(Registry::try_from(tools![grow, grow_in_a_second]).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn none_outlives_its_call() {
    std::panic::set_hook(Box::new(|_| {}));
    for (how, code) in [
        ("works", None),
        ("fails", Some("TOOL_EXECUTION_FAILED")),
        ("panics", Some("TOOL_PANICKED")),
        ("is stopped", Some("TOOL_CANCELLED")),
    ] {
        let marker = format!("{how}-{}", std::process::id());
        let is_grown = CancellationToken::new();
        let call = ToolCall::new("c", "grow", json!({ "how": how, "marker": marker }));
        let mut batch = Batch::from(vec![call]);
        batch.stop = Some(is_grown.clone());
        let done = Dispatch::dispatch(&dispatcher().extension(is_grown), batch).await.remove(0);
        assert_eq!(done.result.error.as_deref(), code, "{}", done.result.text);
        assert!(!done.left_running);
        let started = |effect: &&EffectRecord| matches!(effect, EffectRecord::ProcessStarted { command } if command.contains("sleep"));
        assert_eq!(done.effects.iter().filter(started).count(), 2);
        until("nothing left", || marked(&marker) == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn none_outlives_its_deadline() {
    let marker = format!("late-{}", std::process::id());
    let call = ToolCall::new("c", "grow_in_a_second", json!({ "marker": marker }));
    let done = dispatcher().dispatch(vec![call]).await.remove(0);
    assert_eq!(done.result.error.as_deref(), Some("TOOL_TIMEOUT"));
    assert_eq!(done.effects.len(), 1);
    assert!(!done.left_running);
    until("nothing left", || marked(&marker) == 0).await;
}

/// On one thread, where nothing but the runtime itself could go on with it.
#[tokio::test]
async fn none_outlives_whoever_waits_for_it() {
    let marker = format!("dropped-{}", std::process::id());
    let is_grown = CancellationToken::new();
    let call = ToolCall::new("c", "grow", json!({ "how": "hangs", "marker": marker }));
    let dispatcher = dispatcher().extension(is_grown.clone());
    let dispatch = dispatcher.dispatch(vec![call]);
    assert!(is_grown.run_until_cancelled(dispatch).await.is_none());
    until("nothing left", || marked(&marker) == 0).await;
}

#[test]
fn none_outlives_the_runtime() {
    let marker = format!("runtime-{}", std::process::id());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (call, grown) = (marker.clone(), marker.clone());
    runtime.block_on(async move {
        tokio::spawn(async move {
            let call = ToolCall::new("c", "grow_in_a_second", json!({ "marker": call }));
            dispatcher().dispatch(vec![call]).await
        });
        until("a tree", || marked(&grown) >= 4).await;
    });
    drop(runtime);
    let waits = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    waits.block_on(until("nothing left", || marked(&marker) == 0));
}

#[tokio::test]
async fn what_comes_of_a_program() {
    let ctx = ToolContext::default();
    let shell = |script: &str| ctx.command("sh").args(["-c", script]);

    let output = shell("echo out; echo err >&2; exit 3").output().await.unwrap();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!(output.status.code(), Some(3));
    let error = output.into_text().unwrap_err();
    let text = "It ended with exit status: 3.\nerr";
    assert_eq!((error.kind(), error.text()), (ToolErrorKind::Failed, text));

    // It reads what it is given, and nothing else.
    let all = |read: &str| read.to_owned();
    assert_eq!(all(&shell("cat").stdin("one\ntwo").output().await.unwrap().stdout), "one\ntwo");
    assert_eq!(shell("cat").output().await.unwrap().stdout, "");
    let large = "x".repeat(1 << 20);
    assert!(shell("true").stdin(large.clone()).output().await.unwrap().status.success());
    let cut = shell("cat").stdin(large).output_limit(10).output().await.unwrap().stdout;
    assert_eq!(cut, "xxxxx\n[… 1048566 bytes left out …]\nxxxxx");

    let where_ = shell("pwd; echo $HOME$TOOL").env_clear().env("TOOL", "t").current_dir("/");
    assert_eq!(where_.output().await.unwrap().stdout, "/\nt\n");

    let none = ctx.command("no-such-program-anywhere").output().await.unwrap_err();
    let text = "`no-such-program-anywhere` could not be started.";
    assert_eq!((none.kind(), none.text()), (ToolErrorKind::Unavailable, text));
    assert!(none.source().is_some());
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    let marker = format!("left-{}", std::process::id());
    let ctx = ToolContext::default();
    // It holds the pipe open, which nobody waits for.
    let left = ctx.command("sh").args(["-c", "sleep 1000 & echo done"]).env(MARKER, &marker);
    assert_eq!(left.output().await.unwrap().stdout, "done\n");
    until("nothing left", || marked(&marker) == 0).await;
}

#[tokio::test]
async fn what_a_program_is_given_in_its_environment_is_told_to_nobody() {
    /// Runs a program that needs a key.
    #[tool]
    async fn pull(ctx: &ToolContext) -> Result<String, ToolError> {
        let git = ctx.command("echo").arg("a word").env("TOKEN", "k3y-0f-th3-h0us3");
        assert_eq!(format!("{git:?}"), r#"Command("echo" "a word")"#);
        git.output().await?.into_text()
    }

    let dispatcher = Dispatcher::new(Registry::try_from(tools![pull]).unwrap());
    let done = dispatcher.dispatch(vec![ToolCall::new("c", "pull", "{}")]).await.remove(0);
    let command = r#""echo" "a word""#.to_owned();
    assert_eq!(done.effects, [EffectRecord::ProcessStarted { command }]);
    assert!(!serde_json::to_string(&done).unwrap().contains("k3y"));
}

/// Writes a secret where the output is cut, or near it.
#[tool]
async fn tell(before: u32, ctx: &ToolContext) -> Result<String, ToolError> {
    let text = format!("{}{SECRET}{}{SECRET}", ".".repeat(before as usize), "-".repeat(200));
    let said = ctx.command("printf").args(["%s", &text]).output_limit(60).output().await?;
    said.into_text()
}

const SECRET: &str = "CANARY-topsecret-9";

#[tokio::test]
async fn no_half_of_a_secret_gets_out() {
    let dispatcher = Dispatcher::new(Registry::try_from(tools![tell]).unwrap())
        .policy(Policy::new().secrets([SECRET]));
    for before in 0..40 {
        let arguments = json!({ "before": before });
        let done = dispatcher.dispatch(vec![ToolCall::new("1", "tell", arguments)]).await.remove(0);
        let shown = format!("{done:?}");
        assert!(done.result.text.contains("left out"), "{shown}");
        assert!(!done.result.text.contains(['C', 'Y', 'p']), "{shown}");
    }
}
