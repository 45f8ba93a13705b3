//! Runs that are resumed under other limits, or from a damaged state.

use tool_runtime::agent::session::{SessionError, SessionStore, SessionWrite};

use super::*;
use support::damage::damaged;

/// Replies by the length of the conversation, and asserts that a provider would accept every
/// request.
struct Strict;

#[async_trait]
impl ChatModel for Strict {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        assert_complete(request.messages);
        let message = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. }));
        Ok(match message.count() {
            count @ 0..2 => echo_call(&count.to_string()).call("refuse", "{}"),
            _ => ChatReply::text("Done."),
        }
        .usage(Usage::new(600, 400)))
    }
}

fn agent(limits: Limits) -> Agent {
    Agent::new(Strict, tools![echo, refuse]).limits(limits)
}

/// Returns the state of a run after so many steps.
async fn after(steps: usize, limits: &Limits) -> RunState {
    let agent = agent(limits.clone());
    let mut run = agent.start("Go");
    for _ in 0..steps {
        run.next().await;
    }
    run.state()
}

#[tokio::test]
async fn limits_of_the_resuming_agent_apply() {
    let all = Limits::default;
    let cost = |most| all().max_cost(most, Prices { input: 1_000.0, cached: 0.0, output: 1_000.0 });
    for (before, after_that, code) in [
        // Earlier usage counts.
        (all().max_iterations(1), all().max_iterations(1), Some("ITERATION_LIMIT")),
        (all().max_iterations(1), all().max_iterations(2), Some("ITERATION_LIMIT")),
        (all().max_iterations(1), all().max_iterations(3), None),
        // An answer counts.
        (all(), all().max_iterations(2), None),
        (all().max_tokens(500), all().max_tokens(900), Some("TOKEN_LIMIT")),
        (all().max_tokens(500), all().max_tokens(1_500), Some("TOKEN_LIMIT")),
        (all().max_tokens(500), all().max_tokens(2_500), None),
        (all().max_tokens(500), all(), None),
        (cost(0.5), cost(0.9), Some("COST_LIMIT")),
        (cost(0.5), cost(2.5), None),
        (all().max_repeats(0), all().max_repeats(0), Some("REPEATED_CALL")),
        (all().max_repeats(0), all().max_repeats(3), None),
    ] {
        let state = after(9, &before).await;
        let before_and_after = (before, after_that.clone());
        let ended = agent(after_that).resume(state).finish().await;
        match code {
            None => {
                assert_eq!(ended.unwrap().usage, Usage::new(1_800, 1_200), "{before_and_after:?}")
            }
            Some(code) => {
                assert_eq!(ended.unwrap_err().reason.code(), code, "{before_and_after:?}")
            }
        }
    }
}

#[tokio::test]
async fn session_resumes_under_the_limits_of_the_resuming_agent() {
    let store = MemorySessions::default();
    let limited = agent(Limits::default().max_iterations(1)).session(store.clone(), "s");
    assert_eq!(limited.run("Go").await.unwrap_err().reason.code(), "ITERATION_LIMIT");
    assert!(limited.resume_failed().await.unwrap().is_none());
    let more = agent(Limits::default().max_iterations(3)).session(store, "s");
    assert_eq!(more.resume_failed().await.unwrap().unwrap().finish().await.unwrap().text, "Done.");
}

#[tokio::test]
async fn limit_error_names_usage_and_limit() {
    let stopped = agent(Limits::default().max_tokens(1_500)).run("Go").await.unwrap_err();
    assert_eq!(stopped.to_string(), "the run stopped: token limit exceeded: used 2000 of 1500");
}

/// States to damage: at each step, with an early result, and with calls that have started.
async fn states() -> Vec<RunState> {
    let mut states = Vec::new();
    for steps in 0..6 {
        states.push(after(steps, &Limits::default()).await);
    }
    let mut early = after(1, &Limits::default()).await;
    let Step::RunCalls(calls) = early.turn.next() else { panic!() };
    early.turn.on_partial_results(vec![ToolResult::success(&calls[0], "came")]).unwrap();
    let mut state = after(3, &Limits::default()).await;
    state.turn.begin_calls(std::time::UNIX_EPOCH);
    states.extend([early, state]);
    states
}

/// Asserts that the transcript can be continued: every request was valid, and nothing panicked.
fn assert_sound(ended: &Result<Answer, Stopped>) {
    match ended {
        Ok(answer) => assert_complete(&answer.transcript),
        Err(stopped) => {
            assert!(!matches!(stopped.reason, StopReason::ModelPanicked(_)), "{stopped}");
            assert!(!matches!(stopped.reason, StopReason::InvalidTransition(_)), "{stopped}");
            assert_complete(&stopped.transcript);
        }
    }
}

fn run_to_end(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn damaged_state_is_repaired_or_refused(
        place in 0..8_usize,
        picks in vec((any::<u16>(), any::<u8>()), 1..4),
    ) {
        run_to_end(async {
            let state = states().await.remove(place);
            let value = damaged(serde_json::to_value(&state).unwrap(), &picks);
            let Ok(state) = serde_json::from_value::<RunState>(value) else { return };
            let agent = agent(Limits::default().max_iterations(6));
            assert_sound(&agent.resume(state).finish().await);
        });
    }

    #[test]
    fn damaged_session_is_repaired_or_refused(
        steps in 0..8_usize,
        damages_messages in any::<bool>(),
        says_more in any::<bool>(),
        picks in vec((any::<u16>(), any::<u8>()), 1..4),
    ) {
        run_to_end(async {
            let agent = agent(Limits::default().max_iterations(6));
            let before = MemorySessions::default();
            let session = agent.session(before.clone(), "s");
            let mut run = session.start("Go").await.unwrap();
            for _ in 0..=steps {
                run.next().await;
            }
            let copy = before.load("s").await.unwrap().unwrap();
            let mut messages = serde_json::to_value(&copy.messages).unwrap();
            let mut state = serde_json::from_str(&copy.state).unwrap();
            if damages_messages {
                messages = damaged(messages, &picks);
            } else {
                state = damaged(state, &picks);
            }
            let Ok(messages) = serde_json::from_value::<Vec<Message>>(messages) else { return };
            let store = MemorySessions::default();
            let write = SessionWrite::create();
            let state = state.to_string();
            store.save("s", write.messages(0, &messages).state(&state)).await.unwrap();
            let session = agent.session(store.clone(), "s");
            let ended = if says_more {
                session.run("More").await
            } else {
                match session.resume().await {
                    Ok(None) => return,
                    Ok(Some(run)) => run.finish().await,
                    Err(stopped) => Err(stopped),
                }
            };
            assert_sound(&ended);
            let copy = session.messages().await.unwrap();
            match ended {
                Ok(answer) => assert_eq!(copy, answer.transcript),
                Err(stopped) => match stopped.reason {
                    StopReason::Session(SessionError::Corrupt { .. }) => {
                        assert_eq!(copy, messages, "it stays as it was");
                    }
                    _ => assert_eq!(copy, stopped.transcript),
                },
            }
        });
    }
}

#[tokio::test]
async fn forged_results_and_indices_in_a_state_are_ignored() {
    let mut state = after(1, &Limits::default()).await;
    let Step::RunCalls(calls) = state.turn.next() else { panic!() };
    state.turn.on_partial_results(vec![ToolResult::success(&calls[0], "came")]).unwrap();
    let copy = serde_json::to_value(&state).unwrap();
    // Results of calls that were not made, though as many as there are calls.
    let mut forged = copy.clone();
    let early = forged["turn"]["early_results"].as_array_mut().unwrap();
    let mut foreign = early[0].clone();
    foreign["call"] = json!("another");
    early.push(foreign);
    let answer = agent(Limits::default())
        .resume(serde_json::from_value::<RunState>(forged).unwrap())
        .finish()
        .await;
    let transcript = answer.unwrap().transcript;
    assert_complete(&transcript);
    let output = results(&transcript[2]);
    assert_eq!((output[0].text.as_str(), output[1].text.as_str()), ("came", "out of stock"));
    // An index out of range.
    let mut forged = copy;
    forged["prompt_index"] = json!(-1);
    assert!(serde_json::from_value::<RunState>(forged).is_err());
}
