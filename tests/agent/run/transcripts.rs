//! The transcripts that runs leave.

use super::*;

fn any_reply() -> impl Strategy<Value = ChatReply> {
    let call = (0..4_usize, any::<bool>()).prop_map(|(tool, is_sound)| {
        let name = ["echo", "refuse", "finish", "nobody"][tool];
        (name, if is_sound { r#"{"text": "a"}"# } else { "{" })
    });
    ("[a-c]{0,2}", vec(call, 0..3), 0..900_u64).prop_map(|(text, calls, tokens)| {
        let reply = ChatReply::text(text).usage(Usage::new(tokens, tokens));
        calls.into_iter().fold(reply, |reply, (name, args)| reply.call(name, args))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever stops a run, its transcript can be continued.
    #[test]
    fn every_run_leaves_a_result_for_every_call(
        replies in vec(any_reply(), 0..8),
        iterations in 0..8_u32,
        repeats in 0..3_u32,
        stop_at in 0..12_usize,
        stops in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let stop = CancellationToken::new();
            let limits = Limits::default()
                .max_iterations(iterations)
                .max_tokens(3_000)
                .max_repeats(repeats);
            let agent = Agent::new(ScriptedModel::new(replies), tools![echo, refuse, finish])
                .limits(limits)
                .cancellation(stop.clone());
            let mut run = agent.start("Go");
            for _ in 0..stop_at {
                run.next().await;
            }
            let state = run.state();
            if stops {
                stop.cancel();
            }
            let transcript = match run.finish().await {
                Ok(answer) => answer.transcript,
                Err(stopped) => stopped.transcript,
            };
            assert_complete(&transcript);
            let restored: RunState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            assert_eq!(restored, state);
        });
    }
}

/// Refuses a transcript with two user messages in a row.
struct Alternating(ScriptedModel);

fn assert_alternates(messages: &[Message]) {
    let is_users = |message: &Message| matches!(message, Message::User { .. });
    assert!(!messages.windows(2).any(|pair| pair.iter().all(is_users)), "{messages:?}");
}

#[async_trait]
impl ChatModel for Alternating {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        assert_alternates(request.messages);
        self.0.reply(request).await
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whenever messages are added and however runs end, adjacent user messages are one message.
    #[test]
    fn transcript_never_has_two_user_messages_in_a_row(
        replies in vec(any_reply(), 0..6),
        steered in vec(any::<bool>(), 0..9),
        more in vec(any::<bool>(), 0..3),
        (is_kept, in_text, wants_value) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let steering = Steering::new();
            let model = Alternating(ScriptedModel::new(replies));
            let driver: Box<dyn Driver> = if in_text { Box::new(Text::new()) } else { Box::new(Native) };
            let steered_replies = Mutex::new((steered.into_iter(), steering.clone()));
            let agent = Agent::new(model, tools![echo, refuse, finish])
                .driver(driver)
                .steering(&steering)
                .on_event(move |event| {
                    let (replies, steering) = &mut *steered_replies.lock().unwrap();
                    if !matches!(event.kind, EventKind::Run(_)) && replies.next() == Some(true) {
                        steering.push("Wait!").unwrap();
                    }
                });
            let session = agent.session(MemorySessions::default(), "s");
            let mut prompt = Prompt::from("Go");
            for says_more in more.into_iter().chain([false]) {
                if says_more {
                    steering.push_untrusted("a mail", "Hi");
                }
                let ended = match (is_kept, wants_value) {
                    (true, _) => session.run("Go").await,
                    (false, false) => agent.run(prompt).await,
                    (false, true) => match agent.extract::<Vec<String>>(prompt).await {
                        Ok(extracted) => {
                            assert_alternates(&extracted.transcript);
                            return;
                        }
                        Err(stopped) => Err(stopped),
                    },
                };
                prompt = match ended {
                    Ok(answer) => {
                        assert_alternates(&answer.transcript);
                        answer.then("More")
                    }
                    Err(stopped) => {
                        assert!(!matches!(stopped.reason, StopReason::ModelPanicked(_)), "{stopped}");
                        assert_alternates(&stopped.transcript);
                        stopped.then("More")
                    }
                };
            }
        });
    }
}
