//! A failed request is an event that names what had arrived.

use std::future::pending;
use std::time::Duration;

use support::conversation::{echo, echo_call};
use tool_runtime::agent::{Limits, StreamItem};
use tool_runtime::event::{EventKind, ModelEvent, Recorder};
use tool_runtime::models::{DeltaSink, ModelInfo};
use tool_runtime::{
    Agent, CancellationToken, ChatModel, ChatReply, ChatRequest, Delta, ModelError, ScriptedModel,
    Tools, async_trait, tools,
};

/// Streams a part of a reply, then fails or never ends.
struct Cut {
    pieces: &'static [&'static str],
    /// Whether the request fails, by an error that is transient or not.
    is_transient: Option<bool>,
}

#[async_trait]
impl ChatModel for Cut {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.stream(request, &mut |_| {}).await
    }

    async fn stream(
        &self,
        _: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        self.pieces.iter().for_each(|piece| deltas(Delta::Text(piece)));
        match self.is_transient {
            Some(true) => Err(ModelError::unavailable("cut")),
            Some(false) => Err(ModelError::failed("cut")),
            None => pending().await,
        }
    }

    fn info(&self) -> ModelInfo {
        ModelInfo::new("cutter").provider("scissors")
    }
}

fn failures(recorder: &Recorder) -> Vec<ModelEvent> {
    let of_model = recorder.events().into_iter().filter_map(|event| match event.kind {
        EventKind::Model(event @ ModelEvent::Failed { .. }) => Some(event),
        _ => None,
    });
    of_model.collect()
}

#[tokio::test(start_paused = true)]
async fn failed_request_names_its_reason_the_streamed_text_and_the_estimated_tokens() {
    let prompt = "Tell me a story of eight words, or so.";
    for (pieces, is_transient, stop, expected) in [
        (&["Once ", "upon"][..], Some(true), None, "MODEL_FAILED"),
        (&[], Some(false), None, "MODEL_FAILED"),
        (&["Once"], None, Some(true), "CANCELLED"),
        (&["Once"], None, Some(false), "TIMEOUT"),
    ] {
        for streams in [true, false] {
            let (recorder, token) = (Recorder::new(100), CancellationToken::new());
            let mut agent = Agent::new(Cut { pieces, is_transient }, Tools::new())
                .observer(recorder.clone())
                .cancellation(token.clone());
            if stop == Some(false) {
                agent = agent.run_timeout(Duration::from_secs(1));
            }
            if stop == Some(true) {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    token.cancel();
                });
            }
            let stopped = match streams {
                true => agent.stream(prompt).finish().await,
                false => agent.run(prompt).await,
            };
            let stopped = stopped.unwrap_err();
            assert_eq!(stopped.reason.code(), expected);
            let failures = failures(&recorder);
            let [ModelEvent::Failed { code, text, usage, provider, model, .. }] = &failures[..]
            else {
                panic!("{failures:?}")
            };
            assert_eq!(code, expected);
            assert_eq!((provider.as_deref(), model.as_deref()), (Some("scissors"), Some("cutter")));
            let streamed = if streams { pieces.concat() } else { String::new() };
            assert_eq!(*text, streamed, "{expected}");
            let tokens = usage.map(|usage| {
                assert_eq!(usage.estimated_tokens, usage.input_tokens + usage.output_tokens);
                (usage.input_tokens, usage.output_tokens)
            });
            let estimate = (prompt.len() as u64 / 4, streamed.len() as u64 / 4);
            assert_eq!(tokens, (!streamed.is_empty()).then_some(estimate), "{expected}");
            // They count towards the limits of the run.
            assert_eq!(*stopped.usage, usage.unwrap_or_default());
        }
    }
}

#[tokio::test]
async fn each_request_has_one_reply_or_one_failure() {
    // A script fails once it has no more replies.
    for (replies, limits, expected) in [
        (vec![ChatReply::text("Hi")], Limits::default(), vec!["model.replied"]),
        (vec![echo_call("a")], Limits::default(), vec!["model.replied", "model.failed"]),
        (vec![], Limits::default(), vec!["model.failed"]),
        (vec![echo_call("a")], Limits::default().max_iterations(1), vec!["model.replied"]),
    ] {
        let recorder = Recorder::new(100);
        let agent = Agent::new(ScriptedModel::new(replies), tools![echo])
            .limits(limits)
            .observer(recorder.clone());
        let _ = agent.run("Go").await;
        let names: Vec<_> = recorder.events().iter().map(|event| event.name()).collect();
        let requested = names.iter().filter(|name| **name == "model.requested").count();
        let ends: Vec<_> = names
            .into_iter()
            .filter(|name| ["model.replied", "model.failed"].contains(name))
            .collect();
        assert_eq!((requested, ends), (expected.len(), expected));
    }
}

#[tokio::test]
async fn failure_follows_the_pieces_of_its_reply() {
    let model = Cut { pieces: &["Once ", "upon"], is_transient: Some(true) };
    let mut stream = Agent::new(model, Tools::new()).stream("Go");
    let lines = super::lines(&mut stream).await;
    assert_eq!(lines[2..], ["model.requested", "text Once upon", "model.failed", "run.finished"]);
    assert!(!matches!(stream.next().await, Some(StreamItem::Text(_))));
}
