//! What a run leaves behind.

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

    /// Whatever stops a run, what it leaves behind can be gone on from.
    #[test]
    fn no_run_leaves_a_call_without_its_result(
        replies in vec(any_reply(), 0..8),
        iterations in 0..8_u32,
        repeats in 0..3_u32,
        stop_at in 0..12_usize,
        stops in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let stop = CancellationToken::new();
            let limits = Limits::default().iterations(iterations).tokens(3_000).repeats(repeats);
            let agent = Agent::new(ScriptedModel::new(replies), tools![echo, refuse, finish])
                .limits(limits)
                .stop_on(stop.clone());
            let mut run = agent.iterate("Go");
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
            let again: RunState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            assert_eq!(again, state);
        });
    }
}
