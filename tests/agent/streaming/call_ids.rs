//! The ids of calls are known from the first piece on, and never change.

use support::conversation::{assert_complete, calls, echo};
use tool_runtime::agent::StreamItem;
use tool_runtime::drivers::{Driver, Native, ReAct, ReplyParseError, Text};
use tool_runtime::event::ModelEvent;
use tool_runtime::models::DeltaSink;
use tool_runtime::{
    Agent, AssistantPart, ChatModel, ChatReply, ChatRequest, Delta, ModelError, Policy, ToolCall,
    async_trait, tools,
};

use super::{Pieces, model_event};

fn reply(ids: &[&str]) -> ChatReply {
    let call = |id: &&str| AssistantPart::Call(ToolCall::new(*id, "echo", r#"{"text": "a"}"#));
    ChatReply::new(ids.iter().map(call).collect())
}

#[tokio::test]
async fn id_of_the_first_piece_is_that_of_the_transcript() {
    for (ids, expected) in [
        (&[&["a", "b"][..], &["c"]][..], &["a", "b", "c"][..]),
        // A model that sends none.
        (&[&["", ""], &[""]], &["call_1", "call_2", "call_3"]),
        // A model that sends the same again, in one reply and in the next.
        (&[&["a", "a"], &["a"]], &["a", "call_2", "call_3"]),
        (&[&["call_2", ""], &["call_2"]], &["call_2", "call_3", "call_4"]),
    ] {
        for bytes in [1, 4, 100] {
            let replies = ids.iter().map(|ids| reply(ids)).chain([ChatReply::text("Done.")]);
            let agent = Agent::new(Pieces::new(replies, bytes), tools![echo]);
            let mut stream = agent.stream("Go");
            let (mut streamed, mut replied, mut started) = (Vec::new(), Vec::new(), Vec::new());
            while let Some(item) = stream.next().await {
                if let Some(ModelEvent::Replied { calls, .. }) = model_event(&item) {
                    replied.extend(calls.iter().map(|call| call.id.to_string()));
                }
                match item {
                    StreamItem::Call { id, .. } => streamed.push(id.to_string()),
                    StreamItem::Event(event) if event.name() == "tool.started" => {
                        started.push(event.call_id().unwrap().to_string());
                    }
                    _ => {}
                }
            }
            let transcript = stream.finish().await.unwrap().transcript;
            assert_complete(&transcript);
            let stored: Vec<_> =
                calls(&transcript).iter().map(|call| call.id.to_string()).collect();
            assert_eq!(stored, expected, "{ids:?}");
            assert_eq!([&streamed, &replied, &started], [&stored; 3], "{ids:?}, {bytes} bytes");
        }
    }
}

#[tokio::test]
async fn calls_in_text_have_ids_from_their_first_piece_on() {
    let react = r#"{"thought": "Hm.", "tool": "echo", "args": {"text": "a"}}"#;
    let markup = r#"<tool_call>{"name": "echo", "arguments": {"text": "a"}}</tool_call>"#;
    let drivers: [(Box<dyn Driver>, &str, &str); 2] = [
        (Box::new(Text::new()), markup, "Done."),
        (Box::new(ReAct::new()), react, r#"{"thought": "", "answer": "Done."}"#),
    ];
    for (driver, call, answer) in drivers {
        let replies = [call, call, answer].map(ChatReply::text);
        let agent = Agent::new(Pieces::new(replies, 3), tools![echo]).driver(driver);
        let mut stream = agent.stream("Go");
        let mut streamed = Vec::new();
        while let Some(item) = stream.next().await {
            if let StreamItem::Call { id, .. } = item {
                streamed.push(id);
            }
        }
        let transcript = stream.finish().await.unwrap().transcript;
        let stored: Vec<_> = calls(&transcript).iter().map(|call| call.id.clone()).collect();
        assert_eq!(stored.len(), 2);
        streamed.dedup();
        assert_eq!(streamed, stored);
    }
}

/// Rejects replies that say so.
#[derive(Debug)]
struct Rejects;

impl Driver for Rejects {
    fn parse(
        &self,
        reply: ChatReply,
        request: ChatRequest<'_>,
    ) -> Result<ChatReply, ReplyParseError> {
        match reply.to_text().contains("reject me") {
            true => Err(ReplyParseError::invalid(reply, "Again.")),
            false => Native.parse(reply, request),
        }
    }

    fn max_parse_attempts(&self) -> u32 {
        2
    }

    fn stream_decoder<'o>(
        &'o self,
        request: ChatRequest<'o>,
    ) -> Option<Box<dyn FnMut(Delta<'_>, &mut DeltaSink<'_>) + Send + 'o>> {
        static NATIVE: Native = Native;
        NATIVE.stream_decoder(request)
    }
}

#[tokio::test]
async fn ids_of_a_rejected_reply_are_not_used_again() {
    let rejected = ChatReply::text("reject me").call("echo", r#"{"text": "a"}"#);
    let accepted = ChatReply::default().call("echo", r#"{"text": "b"}"#);
    let model = Pieces::new([rejected, accepted, ChatReply::text("Done.")], 100);
    let agent = Agent::new(model, tools![echo]).driver(Rejects);
    let mut stream = agent.stream("Go");
    let mut streamed = Vec::new();
    while let Some(item) = stream.next().await {
        if let StreamItem::Call { id, .. } = item {
            streamed.push(id.to_string());
        }
    }
    let transcript = stream.finish().await.unwrap().transcript;
    assert_eq!(streamed, ["call_1", "call_2"]);
    assert_eq!(calls(&transcript)[0].id.as_str(), "call_2");
}

/// Starts its calls in another order than that of the reply, and one of them not at all.
struct Unordered;

#[async_trait]
impl ChatModel for Unordered {
    async fn reply(&self, request: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let call = |id: &str| {
            AssistantPart::Call(ToolCall::new(id, "echo", format!(r#"{{"text": "{id}"}}"#)))
        };
        match request.messages.len() {
            1 => Ok(ChatReply::new(vec![call("a"), call("c"), call("b")])),
            _ => Ok(ChatReply::text("Done.")),
        }
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let reply = self.reply(request).await?;
        for (index, id) in ["b", "a"].into_iter().enumerate().filter(|_| reply.calls().count() > 0)
        {
            deltas(Delta::Call { index, id, name: "echo" });
            deltas(Delta::Arguments { index, text: r#"{"te"# });
        }
        Ok(reply)
    }
}

#[tokio::test]
async fn arguments_belong_to_the_id_of_their_call_whatever_the_order_is() {
    let mut stream = Agent::new(Unordered, tools![echo]).stream("Go");
    let mut streamed = std::collections::BTreeMap::new();
    while let Some(item) = stream.next().await {
        match item {
            StreamItem::Call { index, id, .. } => {
                let before = streamed.insert(index, (id, String::new()));
                assert_eq!(before, None);
            }
            StreamItem::Arguments { index, text } => streamed.get_mut(&index).unwrap().1 += &text,
            _ => {}
        }
    }
    let transcript = stream.finish().await.unwrap().transcript;
    let ids: Vec<_> = calls(&transcript).iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "c", "b"]);
    for (id, arguments) in streamed.into_values() {
        assert_eq!(arguments, format!(r#"{{"text": "{id}"}}"#));
    }
}

#[tokio::test]
async fn rejected_reply_leaves_nothing_before_the_next_one() {
    // The end of the first text may be the beginning of the secret.
    let replies = [ChatReply::text("reject me hunter2"), ChatReply::text("Done.")];
    let agent = Agent::new(Pieces::new(replies, 4), tools![echo])
        .driver(Rejects)
        .policy(Policy::new().secrets(["hunter22"]));
    let lines = super::lines(&mut agent.stream("Go")).await;
    let expected = [
        "model.requested",
        "text reject me hunter2",
        "model.validation_failed",
        "text Done.",
        "model.replied",
        "run.finished",
    ];
    assert_eq!(lines[2..], expected);
}
