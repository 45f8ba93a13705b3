//! Offers facts to the model at the start of a run.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use tool_core::agent::{ModelHook, ReplyChanges};
use tool_core::drivers::PreparedRequest;
use tool_core::{Message, RunContext, Untrusted, async_trait};

use super::Memory;
use super::scope::MemoryScope;

/// The number of runs whose facts are kept.
const MAX_RUNS: usize = 1_000;

/// Characters that begin a line. A fact has one, so that no part of it looks like another fact.
const LINE_BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The number of facts that a warning names.
const MAX_NAMED: usize = 5;

/// Hook that offers the newest facts to the model, created by [`Memory::hook`].
#[derive(Debug)]
pub(super) struct MemoryHook {
    memory: Memory,
    max_bytes: usize,
    /// The facts of the newest runs.
    runs: Mutex<VecDeque<(String, Option<Arc<str>>)>>,
}

impl MemoryHook {
    pub(super) fn new(memory: Memory, max_bytes: usize) -> Self {
        Self { memory, max_bytes, runs: Mutex::default() }
    }

    /// Returns the facts that were known when a run began.
    async fn facts(&self, ctx: &RunContext<'_>) -> Option<Arc<str>> {
        let run = ctx.run_id().to_string();
        let known = |runs: &VecDeque<(String, Option<Arc<str>>)>| {
            runs.iter().find(|(id, _)| *id == run).map(|(_, facts)| facts.clone())
        };
        if let Some(facts) = known(&self.runs.lock().unwrap_or_else(PoisonError::into_inner)) {
            return facts;
        }
        let facts = self.read(ctx).await;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= MAX_RUNS {
            runs.pop_front();
        }
        runs.push_back((run, facts.clone()));
        facts
    }

    /// Returns the newest facts of the run's scopes that fit. What can't be read is reported.
    async fn read(&self, ctx: &RunContext<'_>) -> Option<Arc<str>> {
        let mut lines = Vec::new();
        // What the tags and the notice take, and how long a line is after it was escaped.
        let tags = message("").len();
        let mut bytes = tags;
        for scope in MemoryScope::of_run(ctx) {
            let facts = match self.memory.readable_facts(&scope).await {
                Ok((facts, corrupt)) => {
                    if !corrupt.is_empty() {
                        ctx.warn(warning(&scope, &corrupt));
                    }
                    facts
                }
                Err(error) => {
                    ctx.warn(format!("facts of {scope} are not offered: {error}"));
                    continue;
                }
            };
            for fact in facts {
                let line = format!("- {}", fact.with_subject()).replace(LINE_BREAKS, " ");
                let len = message(&line).len() - tags + 1;
                if bytes + len > self.max_bytes {
                    break;
                }
                bytes += len;
                lines.push(line);
            }
        }
        // Lines that look like tags only together are longer.
        let mut text = message(&lines.join("\n"));
        while text.len() > self.max_bytes && lines.pop().is_some() {
            text = message(&lines.join("\n"));
        }
        (!lines.is_empty()).then(|| text.into())
    }
}

/// Returns the warning about facts that can't be decoded.
fn warning(scope: &MemoryScope, corrupt: &[String]) -> String {
    let named = corrupt.iter().take(MAX_NAMED).map(|id| format!("`{id}`")).collect::<Vec<_>>();
    let more = match corrupt.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "facts of {scope} are not offered, because their metadata can't be decoded: {}{more}; \
         forget them, and remember them again",
        named.join(", ")
    )
}

/// Returns facts as the model receives them.
fn message(facts: &str) -> String {
    Untrusted::new("facts that were remembered in earlier conversations", facts).to_string()
}

#[async_trait]
impl ModelHook for MemoryHook {
    fn reply_changes(&self) -> ReplyChanges {
        ReplyChanges::Nothing
    }

    async fn before_request(
        &self,
        request: &mut PreparedRequest<'_>,
        ctx: &RunContext<'_>,
    ) -> ControlFlow<String> {
        if let Some(facts) = self.facts(ctx).await {
            let messages = request.messages.to_mut();
            let is_system = |message: &Message| matches!(message, Message::System { .. });
            let place = messages.iter().position(|it| !is_system(it)).unwrap_or(messages.len());
            messages.insert(place, Message::user(&*facts));
        }
        ControlFlow::Continue(())
    }
}
