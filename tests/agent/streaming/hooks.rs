//! A hook that may replace a reply holds it back; one that changes pieces does not.

use std::ops::ControlFlow;

use support::conversation::{echo, echo_call};
use tool_runtime::agent::{ModelHook, ReplyChanges, StreamItem};
use tool_runtime::event::ModelEvent;
use tool_runtime::{
    Agent, AssistantPart, ChatReply, Message, Policy, RunContext, async_trait, tools,
};

use super::{Pieces, lines, model_event};

/// Replaces a word after the reply, and says that it changes this much.
struct Replaces(ReplyChanges);

#[async_trait]
impl ModelHook for Replaces {
    fn reply_changes(&self) -> ReplyChanges {
        self.0
    }

    async fn after_reply(&self, reply: &mut ChatReply, _: &RunContext<'_>) -> ControlFlow<String> {
        for part in &mut reply.parts {
            if let AssistantPart::Text { text } = part {
                *text = text.replace("hunter22", "[secret]");
            }
        }
        match reply.to_text().contains("forbidden") {
            true => ControlFlow::Break("a forbidden word".into()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Replaces a word in the pieces.
struct ReplacesPieces;

const WORD: &str = "hunter22";

impl ModelHook for ReplacesPieces {
    fn reply_changes(&self) -> ReplyChanges {
        ReplyChanges::Pieces
    }

    fn on_delta(&self, pending: &mut String, is_last: bool, _: &RunContext<'_>) -> String {
        // The end may be the beginning of the word.
        let starts = (0..pending.len()).filter(|at| pending.is_char_boundary(*at));
        let open = starts.filter(|at| WORD.starts_with(&pending[*at..])).min();
        let end = if is_last { pending.len() } else { open.unwrap_or(pending.len()) };
        let rest = pending.split_off(end);
        std::mem::replace(pending, rest).replace(WORD, "[secret]")
    }
}

#[tokio::test]
async fn reply_that_a_hook_may_replace_is_streamed_once_the_hook_has_seen_it() {
    for bytes in [1, 3, 100] {
        let replies = [
            ChatReply::text("It is hunter22.").call("echo", r#"{"text": "hunter22"}"#),
            ChatReply::text("Done with hunter22."),
        ];
        let agent = Agent::new(Pieces::new(replies, bytes), tools![echo])
            .model_hook(Replaces(ReplyChanges::Whole));
        let mut stream = agent.stream("Go");
        let lines = lines(&mut stream).await;
        let expected = [
            "run.started",
            "run.message_added",
            "model.requested",
            "text It is [secret].",
            "model.replied",
            "tool.started",
            "tool.running",
            "tool.finished",
            "model.requested",
            "text Done with [secret].",
            "model.replied",
            "run.finished",
        ];
        assert_eq!(lines, expected);
    }
}

#[tokio::test]
async fn hook_that_stops_the_run_holds_the_reply_back() {
    let model = Pieces::new([ChatReply::text("The forbidden word.")], 3);
    let hook = Replaces(ReplyChanges::Whole);
    let mut stream = Agent::new(model, tools![echo]).model_hook(hook).stream("Go");
    let lines = lines(&mut stream).await;
    assert_eq!(lines[2..], ["model.requested", "model.failed", "run.finished"]);
}

#[tokio::test]
async fn hook_that_changes_pieces_streams_them_changed() {
    let texts = [
        "It is hunter22.",
        "hunter22hunter22 and hunter2",
        "hunterhunter22",
        "häuser: hünter22, hunter22",
        "",
    ];
    for text in texts {
        for bytes in 1..=text.len().max(1) {
            let reply = || ChatReply::text(text).call("echo", r#"{"text": "a"}"#);
            let end = ChatReply::text("hunter22");
            let agent = |replies| {
                Agent::new(Pieces::new(replies, bytes), tools![echo]).model_hook(ReplacesPieces)
            };
            let mut stream = agent([reply(), end.clone()]).stream("Go");
            let (mut streamed, mut pieces) = (vec![String::new()], 0);
            while let Some(item) = stream.next().await {
                if let Some(ModelEvent::Replied { .. }) = model_event(&item) {
                    streamed.push(String::new());
                }
                assert!(!matches!(model_event(&item), Some(ModelEvent::ReplyReplaced { .. })));
                if let StreamItem::Text(more) = item {
                    streamed.last_mut().unwrap().push_str(&more);
                    pieces += 1;
                }
            }
            let answer = stream.finish().await.unwrap();
            let replies =
                answer.transcript.iter().filter(|it| matches!(it, Message::Assistant { .. }));
            let stored: Vec<_> = replies.map(Message::text).collect();
            assert_eq!(streamed[..2], stored, "{bytes} bytes");
            assert_eq!(stored[0], text.replace(WORD, "[secret]"));
            assert!(bytes > 1 || text.len() < 4 || pieces > 2, "{pieces} pieces of {text:?}");
            // The same without a stream.
            let answer = agent([reply(), end]).run("Go").await.unwrap();
            assert_eq!(answer.transcript[1].text(), stored[0]);
        }
    }
}

#[tokio::test]
async fn replaced_reply_that_was_streamed_is_an_event() {
    let replies = || [ChatReply::text("It is hunter22."), ChatReply::text("unused")];
    for (changes, is_reported) in [(ReplyChanges::Nothing, true), (ReplyChanges::Whole, false)] {
        let agent =
            Agent::new(Pieces::new(replies(), 4), tools![echo]).model_hook(Replaces(changes));
        let mut stream = agent.stream("Go");
        let mut replaced = Vec::new();
        while let Some(item) = stream.next().await {
            if let Some(ModelEvent::ReplyReplaced { text }) = model_event(&item) {
                replaced.push(text.clone());
            }
        }
        assert_eq!(stream.finish().await.unwrap().text, "It is [secret].");
        let expected = if is_reported { vec!["It is hunter22.".to_owned()] } else { Vec::new() };
        assert_eq!(replaced, expected);
    }
}

struct Panics;

impl ModelHook for Panics {
    fn reply_changes(&self) -> ReplyChanges {
        ReplyChanges::Pieces
    }

    fn on_delta(&self, pending: &mut String, _: bool, _: &RunContext<'_>) -> String {
        if pending.contains("b") {
            panic!("a bee");
        }
        std::mem::take(pending)
    }
}

#[tokio::test]
async fn hook_that_panics_at_a_piece_stops_the_run_and_the_text() {
    support::panics::silence_panics_on_purpose();
    let model = Pieces::new([ChatReply::text("aabaa")], 1);
    let mut stream = Agent::new(model, tools![echo]).model_hook(Panics).stream("Go");
    let lines = lines(&mut stream).await;
    assert_eq!(lines[2..], ["model.requested", "text aa", "model.failed", "run.finished"]);
    let stopped = stream.finish().await.unwrap_err();
    assert!(stopped.to_string().contains("a bee"), "{stopped}");
}

#[tokio::test]
async fn secrets_are_redacted_in_replies_that_were_held_back() {
    let replies = [ChatReply::text("Take s3cr3t-key.").call("echo", r#"{"text": "s3cr3t-key"}"#)];
    let model =
        Pieces::new(replies.into_iter().chain([echo_call("b"), ChatReply::text("Done.")]), 2);
    let agent = Agent::new(model, tools![echo])
        .policy(Policy::new().secrets(["s3cr3t-key"]))
        .model_hook(Replaces(ReplyChanges::Whole));
    let mut stream = agent.stream("Go");
    let mut text = String::new();
    while let Some(item) = stream.next().await {
        if let StreamItem::Text(more) | StreamItem::Arguments { text: more, .. } = item {
            text.push_str(&more);
        }
    }
    assert!(text.starts_with(r#"Take [redacted].{"text": "[redacted]"}"#), "{text}");
}
