//! The limits of a run.

use support::sessions::{Intercepted, OnSave};
use tool_runtime::Policy;
use tool_runtime::agent::SubAgent;
use tool_runtime::agent::session::{SessionError, SessionStore, SessionWrite};
use tool_runtime::agent::window::Window;

use super::*;

#[tokio::test]
async fn each_limit_has_its_own_outcome() {
    let used = |reply: ChatReply| reply.usage(Usage::new(600, 400));
    let call = || used(echo_call("a"));
    let tokens = Limits::default().max_tokens(1_500);
    let cost = Limits::default().max_cost(0.006, Prices { input: 5.0, cached: 0.5, output: 5.0 });
    for (limits, code, requests) in [
        (Limits::default().max_iterations(2), "ITERATION_LIMIT", 2),
        (tokens, "TOKEN_LIMIT", 2),
        (cost, "COST_LIMIT", 2),
        (Limits::default().max_repeats(1), "REPEATED_CALL", 2),
        (Limits::default().max_repeats(2), "REPEATED_CALL", 3),
        (Limits::default(), "REPEATED_CALL", 5),
    ] {
        let model = Arc::new(script([call(), call(), call(), call(), call(), call(), call()]));
        let agent = Agent::new(Arc::clone(&model), tools![echo]).limits(limits.clone());
        let stopped = agent.run("Go").await.unwrap_err();
        assert_eq!((stopped.reason.code(), 7 - model.remaining()), (code, requests), "{limits:?}");
        assert_eq!(*stopped.usage, Usage::new(600 * requests as u64, 400 * requests as u64));
        assert_complete(&stopped.transcript);
        let last = results(stopped.transcript.last().unwrap()).last().unwrap();
        assert_eq!(last.error.as_deref(), Some("TOOL_CANCELLED"), "the last calls were not run");
        assert!(matches!(stopped.transcript.last(), Some(Message::Tool { .. })));
    }
}

#[tokio::test]
async fn repeated_call_gets_a_warning_before_the_run_stops() {
    let echo_text =
        |text: &str| ChatReply::default().call("echo", format!(r#"{{ "text": "{text}" }}"#));
    let model = script([
        echo_text("a"),
        ChatReply::default().call("echo", json!({ "text": "a" })),
        echo_text("b"),
        echo_text("a"),
        echo_text("a").call("echo", json!({ "text": "b" })),
        ChatReply::text("Done."),
    ]);
    let answer = Agent::new(model, tools![echo])
        .limits(Limits::default().max_repeats(2))
        .run("Go")
        .await
        .unwrap();
    let texts: Vec<_> = answer
        .transcript
        .iter()
        .flat_map(|message| match message {
            Message::Tool { results } => {
                results.iter().map(|it| it.text.contains("twice in a row")).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    assert_eq!(texts, [false, true, false, false, true, false]);
    // Without a limit.
    let model = script([
        echo_text("a"),
        echo_text("a"),
        echo_text("a"),
        echo_text("a"),
        echo_text("a"),
        echo_text("a"),
        ChatReply::text("Done."),
    ]);
    let agent = Agent::new(model, tools![echo]).limits(Limits::default().max_repeats(None));
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
}

/// A number is a repetition of itself only, also beyond 64 bits, where several round to one value.
#[tokio::test]
async fn numbers_that_differ_in_the_last_digit_are_no_repetition() {
    let echo_number = |last: char| {
        let arguments = format!(r#"{{"text": "a", "n": 1234567890123456789012345{last}}}"#);
        ChatReply::default().call("echo", arguments)
    };
    for (digits, is_repeated) in [("123", false), ("111", true)] {
        let replies = digits.chars().map(echo_number).chain([ChatReply::text("Done.")]);
        let agent = Agent::new(ScriptedModel::new(replies), tools![echo])
            .limits(Limits::default().max_repeats(1));
        assert_eq!(agent.run("Go").await.is_err(), is_repeated, "{digits}");
    }
}

/// Opens the door.
#[tool(effect = "read")]
async fn open(
    door: String,
    /// The code of its lock.
    #[arg(secret)]
    code: String,
) -> String {
    format!("{door} does not open by {code}")
}

#[tokio::test]
async fn stop_reason_of_a_repeated_call_is_redacted_and_shortened() {
    let repeated_call = || ChatReply::default().call("open", r#"{"door": "north", "code": "42"}"#);
    let recorder = Recorder::new(100);
    let agent =
        Agent::new(script([repeated_call(), repeated_call(), repeated_call()]), tools![open])
            .limits(Limits::default().max_repeats(2))
            .observer(recorder.clone());
    let stopped = agent.run("Go").await.unwrap_err();
    let expected = r#"call repeated 3 times in a row; the last one was not run: open {"door":"north","code":"[redacted]"}"#;
    assert_eq!(stopped.reason.to_string(), expected);
    let StopReason::RepeatedCall { call, times } = &stopped.reason else { panic!("{stopped}") };
    assert_eq!((call.name.as_str(), *times), ("open", 3));
    let ends =
        recorder.filter(|event| matches!(event.kind, EventKind::Run(RunEvent::Finished { .. })));
    assert!(matches!(&ends[0].kind,
        EventKind::Run(RunEvent::Finished { error: Some(error), .. }) if error == expected));
    // Long arguments are shortened.
    let repeated_call = || echo_call(&"x".repeat(5_000));
    let agent = Agent::new(script([repeated_call(), repeated_call()]), tools![echo]);
    let stopped = agent.limits(Limits::default().max_repeats(1)).run("Go").await.unwrap_err();
    let text = stopped.reason.to_string();
    assert!(text.len() < 400 && text.ends_with("xxx…"), "{text}");
}

#[tokio::test]
async fn unreported_usage_is_estimated() {
    let model = script([echo_call(&"x".repeat(4_000)), ChatReply::text("Done.")]);
    let stopped = Agent::new(model, tools![echo])
        .limits(Limits::default().max_tokens(900))
        .run("Go")
        .await
        .unwrap_err();
    assert_eq!(stopped.reason.code(), "TOKEN_LIMIT");
    assert!((1_000..1_100).contains(&stopped.usage.output_tokens), "{:?}", stopped.usage);
    // The offered tools are sent with each request.
    let tools = Tools::new().with(sub_agent_of_size(4_000));
    let model = script([ChatReply::text("Done.")]);
    let answer =
        Agent::new(model, tools).limits(Limits::default().max_tokens(9_000)).run("Go").await;
    assert!((1_000..1_100).contains(&answer.unwrap().usage.input_tokens));
    // An answer counts, whatever it cost.
    let model = script([ChatReply::text("Done.").usage(Usage::new(5_000, 5_000))]);
    let agent = Agent::new(model, tools![echo]).limits(Limits::default().max_tokens(900));
    assert_eq!(agent.run("Go").await.unwrap().text, "Done.");
}

/// A tool whose definition has so many bytes.
fn sub_agent_of_size(bytes: usize) -> SubAgent {
    Agent::new(script([]), Tools::new()).into_tool("wordy", "x".repeat(bytes))
}

/// Never returns.
#[tool(effect = "read")]
async fn wait() -> &'static str {
    std::future::pending().await
}

/// Never replies.
struct NeverReplies;

#[async_trait]
impl ChatModel for NeverReplies {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn time_limit_stops_a_run() {
    let limit = Duration::from_secs(5);
    let stopped_request =
        Agent::new(NeverReplies, Tools::new()).run_timeout(limit).run("Go").await.unwrap_err();
    let model = script([ChatReply::default().call("wait", "{}"), ChatReply::text("Done.")]);
    let stopped_call =
        Agent::new(model, tools![wait]).run_timeout(limit).run("Go").await.unwrap_err();
    for stopped in [&stopped_request, &stopped_call] {
        assert!(matches!(stopped.reason, StopReason::Timeout(of) if of == limit), "{stopped}");
    }
    // The result of a call names the deadline that passed: that of the run, or that of its batch.
    let model = script([ChatReply::default().call("wait", "{}"), ChatReply::text("Done.")]);
    let agent = Agent::new(model, tools![wait])
        .run_timeout(limit)
        .policy(Policy::new().batch_timeout(limit / 2));
    let answer = agent.run("Go").await.unwrap();
    for (transcript, words) in [
        (&stopped_call.transcript, "the time limit of the run was exceeded."),
        (&answer.transcript, "the time limit for the calls of this reply was exceeded"),
    ] {
        let result = &results(&transcript[2])[0];
        assert_eq!(result.error.as_deref(), Some("TOOL_TIMEOUT"));
        assert!(result.text.contains(words), "{}", result.text);
    }
    let model = script([ChatReply::text("Done.")]);
    assert!(Agent::new(model, Tools::new()).run_timeout(Duration::MAX).run("Go").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn cancelled_run_is_not_reported_as_aborted_by_its_calls() {
    let limit = Duration::from_secs(5);
    let policy = Policy::new().abort_on_failure();
    let agent = || {
        let model = script([ChatReply::default().call("wait", "{}")]);
        Agent::new(model, tools![wait]).policy(policy.clone())
    };
    let late = agent().run_timeout(limit).run("Go").await.unwrap_err();
    let stop = CancellationToken::new();
    let cancelled = agent().cancellation(stop.clone());
    let (cancelled, ()) = tokio::join!(cancelled.run("Go"), async {
        tokio::time::sleep(limit).await;
        stop.cancel();
    });
    let halted = agent().policy(policy.clone().batch_timeout(limit)).run("Go").await.unwrap_err();
    let codes = [late, cancelled.unwrap_err(), halted].map(|stopped| stopped.reason.code());
    assert_eq!(codes, ["TIMEOUT", "CANCELLED", "BATCH_ABORTED"]);
}

#[tokio::test]
async fn usage_of_unparsable_replies_counts() {
    let text_reply = || ChatReply::text("Hm.").usage(Usage::new(10, 1));
    let agent = Agent::new(script([text_reply(), text_reply(), text_reply()]), tools![echo])
        .driver(ReAct::new());
    let stopped = agent.run("Go").await.unwrap_err();
    assert_eq!((stopped.reason.code(), *stopped.usage), ("UNPARSABLE_REPLY", Usage::new(30, 3)));
    // The second request fails.
    let agent = Agent::new(script([text_reply()]), tools![echo]).driver(ReAct::new());
    let stopped = agent.run("Go").await.unwrap_err();
    assert_eq!((stopped.reason.code(), *stopped.usage), ("MODEL_SCRIPT", Usage::new(10, 1)));
}

/// Replies after three seconds.
struct SlowModel;

#[async_trait]
impl ChatModel for SlowModel {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(ChatReply::text("Hm."))
    }
}

#[tokio::test(start_paused = true)]
async fn time_limit_covers_extraction() {
    let limit = Duration::from_secs(5);
    let started = tokio::time::Instant::now();
    let agent = Agent::new(SlowModel, tools![echo]).run_timeout(limit);
    let stopped = agent.extract::<Vec<String>>("Go").await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::Timeout(of) if of == limit), "{stopped}");
    assert_eq!(started.elapsed(), limit);
}

/// A store that takes two seconds for each write.
#[derive(Debug, Default)]
struct Slow;

#[async_trait]
impl OnSave for Slow {
    async fn save(
        &self,
        store: &MemorySessions,
        session: &str,
        write: SessionWrite<'_>,
    ) -> Result<u64, SessionError> {
        tokio::time::sleep(Duration::from_secs(2)).await;
        store.save(session, write).await
    }
}

#[tokio::test(start_paused = true)]
async fn answer_in_time_is_returned_after_a_slow_save() {
    let stop = CancellationToken::new();
    let cancels = stop.clone();
    let limit = Duration::from_secs(3);
    let agent = || Agent::new(script([ChatReply::text("Done.")]), Tools::new());
    // The time limit passes, or the run is cancelled, while the answer is being saved.
    let late =
        agent().run_timeout(limit).session(Intercepted::new(Slow), "s").run("Go").await.unwrap();
    let agent = agent().cancellation(stop).on_event(move |event| {
        if matches!(event.kind, EventKind::Model(ModelEvent::Replied { .. })) {
            cancels.cancel();
        }
    });
    let stopped = agent.run("Go").await.unwrap();
    assert_eq!([late.text, stopped.text], ["Done."; 2]);
}

#[tokio::test]
async fn cancelled_run_leaves_no_open_call() {
    let stop = CancellationToken::new();
    let cancels = stop.clone();
    let agent = Agent::new(script([echo_call("a")]), tools![echo]).cancellation(stop).on_event(
        move |event| {
            if matches!(event.kind, EventKind::Model(ModelEvent::Replied { .. })) {
                cancels.cancel();
            }
        },
    );
    let stopped = agent.run("Go").await.unwrap_err();
    assert!(matches!(stopped.reason, StopReason::Cancelled));
    assert_eq!(results(&stopped.transcript[2])[0].error.as_deref(), Some("TOOL_CANCELLED"));
}

/// Requests that a driver repeats are one iteration, and stay within the budget of the run.
#[tokio::test]
async fn token_limit_applies_to_repeated_requests_of_a_driver() {
    let reply = |usage: Option<Usage>| {
        let reply = ChatReply::text("x".repeat(4_000));
        usage.map_or(reply.clone(), |usage| reply.usage(usage))
    };
    let counted = Some(Usage::new(600, 400));
    let costs = Prices { input: 1_000.0, cached: 0.0, output: 1_000.0 };
    for (limits, usage, code, requests) in [
        (Limits::default(), counted, "UNPARSABLE_REPLY", 3),
        (Limits::default().max_iterations(1), counted, "ITERATION_LIMIT", 1),
        (Limits::default().max_iterations(2), counted, "ITERATION_LIMIT", 2),
        (Limits::default().max_iterations(3), counted, "UNPARSABLE_REPLY", 3),
        (Limits::default().max_tokens(900), counted, "TOKEN_LIMIT", 1),
        (Limits::default().max_tokens(1_500), counted, "TOKEN_LIMIT", 2),
        (Limits::default().max_cost(1.5, costs), counted, "COST_LIMIT", 2),
        // Estimated: a thousand tokens for the reply, and those of the request.
        (Limits::default().max_tokens(900), None, "TOKEN_LIMIT", 1),
    ] {
        let model = Arc::new(script([reply(usage), reply(usage), reply(usage)]));
        let agent = Agent::new(Arc::clone(&model), tools![echo]).driver(ReAct::new());
        let stopped = agent.limits(limits.clone()).run("Go").await.unwrap_err();
        assert_eq!((stopped.reason.code(), 3 - model.remaining()), (code, requests), "{limits:?}");
        match usage {
            Some(_) => assert_eq!(stopped.usage.input_tokens, 600 * requests as u64),
            None => assert!(stopped.usage.output_tokens >= 1_000),
        }
        assert_complete(&stopped.transcript);
    }
}

/// The estimate covers the messages that the window sends, and the window is calibrated by the
/// first reply.
#[tokio::test]
async fn usage_estimate_covers_only_what_the_window_sends() {
    let long = "word ".repeat(200);
    let earlier = (0..50).flat_map(|_| [Message::user(&long), Message::assistant(&long)]);
    let transcript: Vec<_> = earlier.chain([Message::user("Go")]).collect();
    let window = || Window::new().max_tokens(2_000);
    let agent = Agent::new(script([ChatReply::text("Done.")]), Tools::new()).window(window());
    let answer = agent.limits(Limits::default().max_tokens(9_000)).run(transcript).await.unwrap();
    assert!((400..2_000).contains(&answer.usage.input_tokens), "{:?}", answer.usage);

    let unparsable = || ChatReply::text("Hm.").usage(Usage::new(600, 1));
    let answer = ChatReply::text(r#"{"thought": "", "type": "final_answer", "answer": "Done."}"#);
    let model = script([unparsable(), unparsable(), answer.usage(Usage::new(600, 1))]);
    let driver = ReAct::new().answer_by(script([ChatReply::text("")]));
    let agent = Agent::new(model, Tools::new()).driver(driver).window(window());
    let mut run = agent.start("Go");
    run.next().await;
    let state = serde_json::to_value(run.state()).unwrap();
    assert_eq!(state["window"]["calibration"]["reported"], 600);
    assert_eq!(run.turn().usage(), Usage::new(1_800, 3));
}

/// The answer request is one request more. The decision counts as an answer as well.
#[tokio::test]
async fn answer_request_is_skipped_when_the_budget_is_spent() {
    let decided = |usage: Option<Usage>| {
        let reply =
            ChatReply::text(r#"{"thought": "", "type": "final_answer", "answer": "Short."}"#);
        usage.map_or(reply.clone(), |usage| reply.usage(usage))
    };
    let counted = Some(Usage::new(600, 400));
    for (limits, usage, text) in [
        (Limits::default(), counted, "At length."),
        (Limits::default().max_tokens(1_001), counted, "At length."),
        (Limits::default().max_tokens(1_000), counted, "Short."),
        (Limits::default().max_tokens(10), None, "Short."),
    ] {
        for streamed in [false, true] {
            let last = script([ChatReply::text("At length.")]);
            let model = script([decided(usage)]);
            let agent = Agent::new(model, Tools::new()).driver(ReAct::new().answer_by(last));
            let agent = agent.limits(limits.clone());
            let answer = if streamed {
                let (mut stream, mut streamed) = (agent.stream("Go"), String::new());
                while let Some(piece) = stream.next().await {
                    if let StreamItem::Text(text) = piece {
                        streamed.push_str(&text);
                    }
                }
                let answer = stream.finish().await.unwrap();
                assert_eq!(streamed, answer.text);
                answer
            } else {
                agent.run("Go").await.unwrap()
            };
            assert_eq!(answer.text, text, "{limits:?}");
            assert_complete(&answer.transcript);
        }
    }
}

/// A limit that is not a number allows nothing, and can be saved.
#[tokio::test]
async fn cost_limit_that_is_not_a_number_is_zero() {
    let (nan, endless) = (f64::NAN, f64::INFINITY);
    let prices = |price| Prices { input: price, cached: price, output: price };
    for (most, price, ends) in [
        (nan, 1.0, true),
        (1.0, nan, true),
        (1.0, endless, true),
        (-endless, 1.0, true),
        (endless, 1.0, false),
        (0.0, 1.0, true),
    ] {
        let mut by_field = Limits::default();
        by_field.max_cost = Some((most, prices(price)));
        let by_method = Limits::default().max_cost(most, prices(price));
        for (of_agent, of_run) in
            [(by_method, None), (by_field.clone(), None), (Limits::default(), Some(by_field))]
        {
            let replies = [echo_call("a").usage(Usage::new(1, 1)), ChatReply::text("Done.")];
            let agent = Agent::new(script(replies), tools![echo]).limits(of_agent);
            let mut run = agent.start("Go");
            if let Some(of_run) = of_run {
                run.turn_mut().edit_limits(|limits| *limits = of_run);
            }
            run.next().await;
            let state = run.state();
            let saved = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<RunState>(&saved).unwrap(), state);
            let code = run.finish().await.map_err(|stopped| stopped.reason.code());
            assert_eq!(code.err(), ends.then_some("COST_LIMIT"), "{most} {price}");
        }
    }
}

#[tokio::test]
async fn excess_calls_of_a_reply_are_answered_with_an_event_each() {
    let calls = (0..5).fold(ChatReply::default(), |reply, n| {
        reply.call("echo", json!({ "text": n.to_string() }))
    });
    let finished = Arc::<Mutex<Vec<_>>>::default();
    let copy = Arc::clone(&finished);
    let answer = Agent::new(script([calls, ChatReply::text("Done.")]), tools![echo])
        .limits(Limits::default().max_calls_per_reply(3))
        .on_event(move |event| {
            if let EventKind::Tool(ToolEvent::Finished(execution)) = &event.kind {
                copy.lock().unwrap().push((execution.call.id.clone(), execution.attempts));
            }
        })
        .run("Go")
        .await
        .unwrap();
    assert_complete(&answer.transcript);
    let texts: Vec<_> = results(&answer.transcript[2]).iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts[..3], ["0", "1", "2"]);
    assert!(texts[3].starts_with("Not run: one reply can make at most 3 calls."));
    let mut attempts: Vec<_> = finished.lock().unwrap().clone();
    attempts.sort();
    attempts.dedup_by(|a, b| a.0 == b.0);
    assert_eq!(attempts.iter().map(|it| it.1).sum::<u32>(), 3, "three ran");
    assert_eq!((attempts.len(), finished.lock().unwrap().len()), (5, 5), "one event each");
}
