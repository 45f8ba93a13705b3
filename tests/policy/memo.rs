//! Pure tools are asked once.

use tool_runtime::{Policy, Usage};

use super::*;

static ASKED: AtomicU32 = AtomicU32::new(0);

/// Squares a number.
#[tool(pure)]
async fn square(number: i64) -> Result<i64, ToolError> {
    ASKED.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(10)).await;
    if number < 0 {
        return Err("not below zero".into());
    }
    Ok(number * number)
}

fn squares(numbers: &[&str]) -> Vec<ToolCall> {
    let call = |(n, number): (usize, &&str)| {
        ToolCall::new(format!("call_{n}"), "square", format!(r#"{{"number": {number}}}"#))
    };
    numbers.iter().enumerate().map(call).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pure_tool_is_asked_once_for_the_same_arguments() {
    let dispatcher = dispatcher(tools![square]);
    // However they are written, and also while the first still runs.
    let done = dispatcher.dispatch(squares(&["7", " 7.0 ", "\"7\"", "8"])).await;
    assert_eq!(texts(&done), ["49", "49", "49", "64"]);
    assert_eq!(ASKED.swap(0, Ordering::SeqCst), 2);
    let remembered: Vec<_> = done.iter().map(|done| (done.remembered, done.attempts)).collect();
    assert_eq!(remembered.iter().filter(|told| **told == (true, 0)).count(), 2);

    let done = dispatcher.dispatch(squares(&["7"])).await;
    assert_eq!((ASKED.swap(0, Ordering::SeqCst), done[0].remembered), (0, true));

    // Errors are no outputs, and another run knows nothing of this one.
    dispatcher.dispatch(squares(&["-1"])).await;
    dispatcher.dispatch(squares(&["-1"])).await;
    super::dispatcher(tools![square]).dispatch(squares(&["7"])).await;
    assert_eq!(ASKED.swap(0, Ordering::SeqCst), 3);
}

/// Asks itself the same.
#[tool(pure)]
async fn mirror(how: String, ctx: &ToolContext) -> String {
    ASKED_DEEP.fetch_add(1, Ordering::SeqCst);
    let call = ToolCall::new("", "mirror", json!({ "how": how }));
    let done = ctx.dispatch(vec![call]).await.remove(0);
    done.result.text
}

static ASKED_DEEP: AtomicU32 = AtomicU32::new(0);

#[tokio::test(start_paused = true)]
async fn a_tool_never_waits_for_itself() {
    let call = ToolCall::new("c", "mirror", json!({ "how": "so" }));
    let dispatcher = dispatcher(tools![mirror]);
    let done = tokio::time::timeout(Duration::from_secs(60), dispatcher.dispatch(vec![call]));
    let done = done.await.unwrap().remove(0);
    assert_eq!(done.result.text, "Not run: tools may call each other at most 8 deep.");
    assert_eq!(ASKED_DEEP.load(Ordering::SeqCst), 8);
}

/// Asks for a square, while it has the only place.
#[tool]
async fn area(ctx: &ToolContext) -> String {
    // Somebody else asks for the same first, and waits for a place.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let done = ctx.dispatch(squares(&["5"])).await.remove(0);
    done.result.text
}

#[tokio::test(start_paused = true)]
async fn who_has_the_only_place_waits_for_nobody_who_wants_it() {
    let limits = tool_runtime::dispatch::Concurrency::default().all(1);
    let dispatcher = dispatcher(tools![area, square]).policy(Policy::new().concurrency(limits));
    let mut calls = squares(&["5"]);
    calls.insert(0, ToolCall::new("area", "area", "{}"));
    let done = tokio::time::timeout(Duration::from_secs(60), dispatcher.dispatch(calls));
    assert_eq!(texts(&done.await.unwrap()), ["25", "25"]);
}

/// Asks a model.
#[tool(pure)]
async fn costly() -> ToolOutput {
    let usage = Usage::new(100, 7);
    ToolOutput::text("42").with_effect(EffectRecord::TokensSpent { usage, cost: None })
}

#[tokio::test]
async fn what_is_remembered_takes_nothing() {
    let call = || ChatReply::default().call("costly", "{}");
    let both = call().call("costly", "{}");
    let model = ScriptedModel::new([both, call(), ChatReply::text("Done.")]);
    let answer = Agent::new(model, tools![costly]).run("Go").await.unwrap();
    assert_eq!(results(&answer.transcript[4])[0].text, "42");
    assert_eq!(answer.usage, Usage::new(100, 7));
}

/// Takes ten seconds, unless it crashes.
#[tool(pure)]
async fn slow(crashes: bool) -> u32 {
    let asked = ASKED_SLOWLY.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!crashes || asked % 2 == 1, "on purpose");
    asked
}

static ASKED_SLOWLY: AtomicU32 = AtomicU32::new(0);

#[tokio::test(start_paused = true)]
async fn when_the_first_is_stopped_the_next_one_asks() {
    std::panic::set_hook(Box::new(|_| {}));
    let dispatcher = dispatcher(tools![slow]);
    let call = |crashes: bool| vec![ToolCall::new("c", "slow", json!({ "crashes": crashes }))];
    for crashes in [false, true] {
        let (first, next) = (dispatcher.clone(), dispatcher.clone());
        let first = tokio::spawn(async move { first.dispatch(call(crashes)).await });
        tokio::time::sleep(Duration::from_secs(5)).await;
        let next = tokio::spawn(async move { next.dispatch(call(crashes)).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        if !crashes {
            first.abort();
        }
        let next = next.await.unwrap().remove(0);
        assert!(next.is_success() && !next.remembered && next.attempts == 1, "{next:?}");
        assert!(dispatcher.dispatch(call(crashes)).await[0].remembered);
        ASKED_SLOWLY.store(0, Ordering::SeqCst);
    }
}
