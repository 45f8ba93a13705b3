//! What another process must know to continue a run: times, keys and how often a call resumed.

use std::time::SystemTime;

use tool_runtime::ToolError;

use super::*;

/// Records the keys of its requests, and fails the first time it is asked for an answer.
#[derive(Clone, Default)]
struct Keys(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl ChatModel for Keys {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let mut keys = self.0.lock().unwrap();
        keys.push(request.key.unwrap().to_owned());
        match (request.messages.len(), keys.len()) {
            (1, _) => Ok(echo_call("a")),
            (_, 2) => Err(ModelError::unavailable("down")),
            _ => Ok(ChatReply::text("Done.")),
        }
    }
}

#[tokio::test]
async fn repeated_request_has_the_same_key_and_other_requests_have_others() {
    let keys = Keys::default();
    let session = Agent::new(keys.clone(), tools![echo]).session(MemorySessions::new(), "ada");
    session.run("Go").await.unwrap_err();
    let run = session.resume_failed().await.unwrap().unwrap();
    let id = run.id();
    assert_eq!(run.finish().await.unwrap().text, "Done.");
    session.run("Again").await.unwrap();
    let keys = keys.0.lock().unwrap();
    assert_eq!(keys[..3], [format!("{id}-1-1"), format!("{id}-2-1"), format!("{id}-2-1")]);
    assert!(keys[3].ends_with("-1-1") && !keys[..3].contains(&keys[3]), "{keys:?}");
}

#[tokio::test]
async fn request_that_a_driver_repeats_has_another_key() {
    #[derive(Clone, Default)]
    struct Model(Arc<Mutex<Vec<String>>>);

    #[async_trait]
    impl ChatModel for Model {
        async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
            let mut keys = self.0.lock().unwrap();
            keys.push(request.key.unwrap().to_owned());
            Ok(ChatReply::text(match keys.len() {
                1 => r#"{"thought": "Hm."}"#,
                _ => r#"{"thought": "Hm.", "answer": "Done."}"#,
            }))
        }
    }

    let model = Model::default();
    let agent = Agent::new(model.clone(), tools![echo]).driver(ReAct::new());
    agent.run("Go").await.unwrap();
    let keys = model.0.lock().unwrap();
    let ends: Vec<_> = keys.iter().map(|key| key.split_once('-').unwrap().1).collect();
    assert_eq!(ends, ["1-1", "1-2"]);
}

/// Never ends.
#[tool(effect = "write")]
async fn hang() {
    std::future::pending::<()>().await;
}

#[tokio::test(start_paused = true)]
async fn saved_run_names_its_started_calls_with_their_times() {
    let store = MemorySessions::new();
    let call = ChatReply::default().call("hang", "{}");
    let agent = Agent::new(script([call]), tools![hang]);
    let mut run = agent.start("Go");
    run.next().await.unwrap();
    assert_eq!(run.turn().started_calls().count(), 0);
    let before = SystemTime::now();
    tokio::select! {
        _ = run.next() => panic!("the call never ends"),
        () = tokio::time::sleep(Duration::from_secs(1)) => {}
    }
    let state: RunState =
        serde_json::from_value(serde_json::to_value(run.state()).unwrap()).unwrap();
    let started: Vec<_> = state.turn.started_calls().collect();
    let [(call, at)] = started[..] else { panic!("{started:?}") };
    assert_eq!(call.as_str(), "call_1");
    assert!(at >= before - Duration::from_secs(1) && at <= SystemTime::now(), "{at:?}");
    drop(store);
}

#[tokio::test(start_paused = true)]
async fn time_limit_counts_over_all_resumptions_but_not_between_them() {
    /// Takes a while.
    #[tool(effect = "read")]
    async fn work() {
        tokio::time::sleep(Duration::from_secs(4)).await;
    }

    let call = || ChatReply::default().call("work", "{}");
    let agent = |replies: Vec<ChatReply>| {
        Agent::new(ScriptedModel::new(replies), tools![work]).run_timeout(Duration::from_secs(10))
    };
    let mut state: Option<RunState> = None;
    for active in [4, 8] {
        let mut run = match state.take() {
            None => agent(vec![call()]).start("Go"),
            Some(state) => agent(vec![call()]).resume(state),
        };
        run.next().await.unwrap();
        run.next().await.unwrap();
        assert_eq!(run.turn().active_time(), Duration::from_secs(active));
        let saved = serde_json::to_string(&run.state()).unwrap();
        drop(run);
        // The time between does not count.
        tokio::time::sleep(Duration::from_secs(100)).await;
        state = Some(serde_json::from_str::<RunState>(&saved).unwrap());
    }
    let mut run = agent(vec![call()]).resume(state.clone().unwrap());
    while run.next().await.is_some() {}
    assert_eq!(run.turn().active_time(), Duration::from_secs(10));
    let stopped = run.finish().await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::Timeout(_)), "{stopped}");
    // A longer limit continues the run.
    let longer = agent(vec![ChatReply::text("Done.")]).run_timeout(Duration::from_secs(20));
    assert_eq!(longer.resume(state.unwrap()).finish().await.unwrap().text, "Done.");
}

/// Asks twice, and returns its keys.
#[tool]
async fn ask_twice(ctx: &ToolContext) -> Result<String, ToolError> {
    let key = ctx.idempotency_key().split_once('-').unwrap().1.to_owned();
    let keys = match ctx.resumed() {
        None => key,
        Some(resumed) => format!("{} {key}", resumed.state_as::<String>()?),
    };
    match ctx.resumptions() {
        2 => Ok(keys),
        _ => Err(ToolError::suspended("Go on?", keys)),
    }
}

#[tokio::test]
async fn each_resumption_of_a_call_has_another_key() {
    let replies = [ChatReply::default().call("ask_twice", "{}"), ChatReply::text("Done.")];
    let agent = Agent::new(script(replies), tools![ask_twice]);
    let mut stopped = agent.run("Go").await.unwrap_err();
    for round in 0..2 {
        let StopReason::AwaitingApproval(paused) = stopped.reason else { panic!("{stopped}") };
        let saved = serde_json::to_string(&paused).unwrap();
        let mut paused: tool_runtime::agent::Paused = serde_json::from_str(&saved).unwrap();
        let call = paused.pending()[0].call.id.clone();
        paused.answer(&call, "yes", "Ada").unwrap();
        match agent.resume(paused).finish().await {
            Ok(answer) => {
                assert_eq!(round, 1);
                let text = &results(&answer.transcript[2])[0].text;
                assert_eq!(text, "1-call_1 1+1-call_1 1+2-call_1");
                return;
            }
            Err(error) => stopped = error,
        }
    }
    panic!("{stopped}");
}

#[test]
fn options_of_a_request_can_leave_the_process() {
    let options = ChatOptions::default()
        .tool_choice(ToolChoice::Tool("echo".into()))
        .temperature(0.5)
        .max_tokens(100)
        .stop("\n")
        .extra("seed", 7)
        .output(json!({"type": "object"}));
    let written = serde_json::to_string(&options).unwrap();
    assert_eq!(serde_json::from_str::<ChatOptions>(&written).unwrap(), options);
    assert_eq!(serde_json::from_str::<ChatOptions>("{}").unwrap(), ChatOptions::default());
}
