//! Runs that are driven step by step, and resumed from their state.

use super::*;

#[tokio::test]
async fn turn_can_be_read_and_edited_between_steps() {
    let model = ScriptedModel::new([
        ScriptedTurn::new(echo_call("one")),
        ScriptedTurn::new(ChatReply::text("Done.")).expect_last("two"),
    ]);
    let agent = Agent::new(model, tools![echo]);
    let mut run = agent.start("Go");
    assert!(matches!(run.next().await, Some(CompletedStep::Replied)));
    assert_eq!((run.turn().iterations(), run.turn().transcript().len()), (1, 2));
    let Some(CompletedStep::Called(executions)) = run.next().await else { panic!() };
    assert_eq!((executions[0].result.text.as_str(), executions[0].attempts), ("one", 1));
    run.turn_mut().edit(|messages| {
        let Some(Message::Tool { results }) = messages.last_mut() else { panic!() };
        results[0].text = "two".into();
    });
    assert!(matches!(run.next().await, Some(CompletedStep::Replied)));
    assert!(run.next().await.is_none());
    assert!(run.next().await.is_none());
    assert_eq!(run.finish().await.unwrap().text, "Done.");
}

/// Counts its calls.
#[tool]
async fn count(ctx: &ToolContext) -> usize {
    ctx.get::<Arc<AtomicUsize>>().unwrap().fetch_add(1, Ordering::SeqCst) + 1
}

/// Counts its calls, which are idempotent.
#[tool(effect = "read")]
async fn look(ctx: &ToolContext) -> usize {
    ctx.get::<Arc<AtomicUsize>>().unwrap().fetch_add(1, Ordering::SeqCst) + 1
}

/// A run that is saved after each step, and resumed by another agent each time, has the same end,
/// and no call is made twice.
#[tokio::test]
async fn run_resumes_from_every_step_in_another_process() {
    let replies = || {
        [
            ChatReply::default().call("count", "{}").call("look", "{}"),
            ChatReply::text("Once more.").call("count", "{}"),
            ChatReply::text("Done."),
        ]
    };
    for stop_at in 0..6 {
        let counted = Arc::new(AtomicUsize::new(0));
        let agent = |skip: usize| {
            let model = ScriptedModel::new(replies().into_iter().skip(skip));
            Agent::new(model, tools![count, look]).extension(Arc::clone(&counted))
        };
        let first = agent(0);
        let mut run = first.start("Go");
        let id = run.id();
        for _ in 0..stop_at {
            run.next().await;
        }
        let copy = serde_json::to_string(&run.state()).unwrap();
        drop(run);
        let state: RunState = serde_json::from_str(&copy).unwrap();
        assert_eq!(state.run, id);
        let requests = state.turn.iterations() as usize;
        let answer = agent(requests).resume(state).finish().await.unwrap();
        assert_eq!(
            (answer.text.as_str(), counted.load(Ordering::SeqCst)),
            ("Done.", 3),
            "{stop_at}"
        );
        assert_complete(&answer.transcript);
    }
}

#[tokio::test]
async fn started_call_is_repeated_only_if_it_is_retry_safe() {
    let counted = Arc::new(AtomicUsize::new(0));
    let two_calls = ChatReply::default().call("count", "{}").call("look", "{}");
    let model = script([two_calls, ChatReply::text("Done.")]);
    let agent = Agent::new(model, tools![count, look]).extension(Arc::clone(&counted));
    let mut run = agent.start("Go");
    run.next().await;
    let mut state = run.state();
    // The state that is saved before calls start, when the process then ends.
    state.turn.begin_calls(std::time::UNIX_EPOCH);
    // The resuming agent may lack the tool.
    let bare = Agent::new(script([ChatReply::text("Done.")]), tools![look]);
    let output = bare
        .extension(Arc::clone(&counted))
        .resume(state.clone())
        .finish()
        .await
        .unwrap()
        .transcript;
    assert_eq!(results(&output[2])[0].error.as_deref(), Some("TOOL_INDETERMINATE"));
    counted.store(0, Ordering::SeqCst);
    let answer = agent.resume(state).finish().await.unwrap();
    let output = results(&answer.transcript[2]);
    assert_eq!(output[0].error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert_eq!((output[1].text.as_str(), counted.load(Ordering::SeqCst)), ("1", 1));
}

/// Counts its calls and does not return the first time.
#[tool]
async fn stick(ctx: &ToolContext) -> usize {
    let times = ctx.get::<Arc<AtomicUsize>>().unwrap().fetch_add(1, Ordering::SeqCst) + 1;
    if times == 1 {
        std::future::pending::<()>().await;
    }
    times
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_dropped_step_are_not_made_again() {
    let counted = Arc::new(AtomicUsize::new(0));
    let model = script([ChatReply::default().call("stick", "{}"), ChatReply::text("Done.")]);
    let agent = Agent::new(model, tools![stick]).extension(Arc::clone(&counted));
    let mut run = agent.start("Go");
    run.next().await;
    assert!(tokio::time::timeout(Duration::from_secs(1), run.next()).await.is_err());
    let answer = run.finish().await.unwrap();
    assert_eq!(results(&answer.transcript[2])[0].error.as_deref(), Some("TOOL_INDETERMINATE"));
    assert_eq!(counted.load(Ordering::SeqCst), 1);
}

#[test]
fn early_result_survives_an_edit() {
    let mut turn = Turn::new(vec![Message::user("Go")], 9);
    turn.on_reply(echo_call("a").call("echo", "{}")).unwrap();
    let Step::RunCalls(calls) = turn.next() else { panic!() };
    turn.on_partial_results(vec![ToolResult::success(&calls[0], "came")]).unwrap();
    turn.edit(|messages| messages.push(Message::user("Wait!")));
    assert_complete(turn.transcript());
    let output = results(&turn.transcript()[2]);
    assert_eq!(output[0].text, "came");
    assert_eq!(output[1].error.as_deref(), Some("TOOL_INDETERMINATE"));
}
