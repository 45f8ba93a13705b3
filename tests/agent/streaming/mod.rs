//! Replies that are streamed: what observers receive of them, and when.

mod call_ids;
mod failed;
mod files;
mod hooks;
mod nested;
mod sources;
mod validators;

use std::collections::VecDeque;
use std::sync::Mutex;

use tool_runtime::agent::{RunStream, StreamItem};
use tool_runtime::event::{EventKind, ModelEvent};
use tool_runtime::models::DeltaSink;
use tool_runtime::{ChatModel, ChatReply, ChatRequest, Delta, ModelError, async_trait};

/// Streams scripted replies a few bytes at a time.
struct Pieces {
    replies: Mutex<VecDeque<ChatReply>>,
    bytes: usize,
}

impl Pieces {
    fn new(replies: impl IntoIterator<Item = ChatReply>, bytes: usize) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), bytes }
    }
}

#[async_trait]
impl ChatModel for Pieces {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        let reply = self.replies.lock().unwrap().pop_front();
        reply.ok_or_else(|| ModelError::Setup("no reply is left".into()))
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let reply = self.reply(request).await?;
        let text = reply.to_text();
        for piece in pieces(&text, self.bytes) {
            deltas(Delta::Text(piece));
            tokio::task::yield_now().await;
        }
        for (index, call) in reply.calls().enumerate() {
            deltas(Delta::Call { index, id: call.id.as_str(), name: &call.name });
            for text in pieces(&call.arguments.to_text(), self.bytes) {
                deltas(Delta::Arguments { index, text });
            }
        }
        Ok(reply)
    }
}

fn pieces(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = (bytes.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at))?;
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// What a stream contained, in order: each text in one line, and the names of events.
async fn lines<A>(stream: &mut RunStream<A>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut extends = false;
    while let Some(item) = stream.next().await {
        let text = match item {
            StreamItem::Text(text) => text,
            StreamItem::Event(event) => {
                lines.push(event.name().to_owned());
                extends = false;
                continue;
            }
            _ => continue,
        };
        match lines.last_mut().filter(|_| extends) {
            Some(line) => line.push_str(&text),
            None => lines.push(format!("text {text}")),
        }
        extends = true;
    }
    lines
}

/// The model events of a stream, without their times.
fn model_event(item: &StreamItem) -> Option<&ModelEvent> {
    match item {
        StreamItem::Event(event) => match &event.kind {
            EventKind::Model(event) => Some(event),
            _ => None,
        },
        _ => None,
    }
}
