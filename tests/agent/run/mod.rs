//! Runs that are streamed, driven step by step, saved, limited and steered.

mod context;
mod durable;
mod events;
mod extraction;
mod limits;
mod message_ids;
mod previews;
mod resuming;
mod state;
mod steering;
mod steering_queue;
mod streams;
mod suspended;
mod tool_choice;
mod transcripts;
mod validators;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use serde_json::json;
use support::conversation::{assert_complete, calls, echo, echo_call, refuse, results};
use tool_runtime::__workspace::Step;
use tool_runtime::agent::session::MemorySessions;
use tool_runtime::agent::{
    CompletedStep, Limits, ModelHook, Prices, Prompt, RunState, Steering, StreamItem, Turn,
};
use tool_runtime::dispatch::{Approval, AskLater, Interceptor};
use tool_runtime::drivers::{Driver, Native, PreparedRequest, ReAct, Text};
use tool_runtime::event::{EventKind, ModelEvent, Recorder, RunEvent, ToolEvent};
use tool_runtime::registry::{Selector, SelectorInput};
use tool_runtime::schema::{Dialect, Schema};
use tool_runtime::{
    Agent, Answer, CancellationToken, ChatModel, ChatOptions, ChatReply, ChatRequest, Delta,
    EffectRecord, Event, Message, ModelError, ScriptedModel, ScriptedTurn, StopReason, Stopped,
    ToolChoice, ToolContext, ToolDefinition, ToolExecution, ToolOutput, ToolResult, Tools, Usage,
    args, async_trait, tool, tools,
};

fn script<const N: usize>(replies: [ChatReply; N]) -> ScriptedModel {
    ScriptedModel::new(replies)
}

/// Streams scripted replies, a few bytes at a time.
struct Slow(Mutex<Vec<ChatReply>>, usize);

impl Slow {
    fn new<const N: usize>(mut replies: [ChatReply; N], bytes: usize) -> Self {
        replies.reverse();
        Self(Mutex::new(replies.into()), bytes)
    }
}

#[async_trait]
impl ChatModel for Slow {
    async fn reply(&self, _: ChatRequest<'_>) -> Result<ChatReply, ModelError> {
        self.0.lock().unwrap().pop().ok_or_else(|| ModelError::Setup("over".into()))
    }

    async fn stream(
        &self,
        request: ChatRequest<'_>,
        deltas: &mut tool_runtime::models::DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let reply = self.reply(request).await?;
        let words = reply.to_text();
        for piece in pieces(&words, self.1) {
            deltas(Delta::Text(piece));
            tokio::task::yield_now().await;
        }
        let message = Message::Assistant { id: None, parts: reply.parts.clone() };
        for (place, call) in message.calls().enumerate() {
            deltas(Delta::Call { index: place, id: call.id.as_str(), name: &call.name });
            for text in pieces(&call.arguments.to_text(), self.1) {
                deltas(Delta::Arguments { index: place, text });
            }
        }
        Ok(reply)
    }
}

fn pieces(text: &str, len: usize) -> Vec<&str> {
    let mut rest = text;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let end = (len.min(rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap();
        let (piece, remaining) = rest.split_at(end);
        found.push(piece);
        rest = remaining;
    }
    found
}

/// Ends the run.
#[tool]
async fn finish() -> ToolOutput {
    ToolOutput::text("bye").with_effect(EffectRecord::stop("all is done"))
}
