//! Passes the texts of a reply through the hooks that change them piece by piece.

use std::sync::Arc;

use crate::agent::hook::{ModelHook, ReplyChanges, reply_changes};
use crate::guard::{Panic, catch_panic};
use crate::message::AssistantPart;
use crate::models::{ChatReply, Delta, DeltaSink};
use crate::tool::RunContext;

/// The hooks in the order in which they receive a piece, with what they have held back.
pub(super) struct PieceHooks<'q> {
    hooks: Vec<(&'q dyn ModelHook, HeldBack)>,
    context: RunContext<'q>,
    /// The panic of a hook, after which no text is passed on.
    panic: Option<Panic>,
}

/// The text that a hook has received and not passed on.
#[derive(Default)]
struct HeldBack {
    text: String,
    reasoning: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

impl<'q> PieceHooks<'q> {
    pub(super) fn new(hooks: &'q [Arc<dyn ModelHook>], context: RunContext<'q>) -> Self {
        let hooks = hooks.iter().rev().map(Arc::as_ref);
        let hooks = hooks.filter(|hook| reply_changes(*hook) == ReplyChanges::Pieces);
        let hooks = hooks.map(|hook| (hook, HeldBack::default())).collect();
        Self { hooks, context, panic: None }
    }

    /// Passes a delta on, in changed form.
    pub(super) fn push(&mut self, delta: Delta<'_>, sink: &mut DeltaSink<'_>) {
        if self.hooks.is_empty() {
            return sink(delta);
        }
        match delta {
            Delta::Text(text) => {
                self.finish_kind(Kind::Reasoning, sink);
                self.pass(Kind::Text, text, false, sink);
            }
            Delta::Reasoning(text) => {
                self.finish_kind(Kind::Text, sink);
                self.pass(Kind::Reasoning, text, false, sink);
            }
            Delta::Call { .. } | Delta::File(_) => {
                self.finish(sink);
                sink(delta);
            }
            Delta::Arguments { .. } => sink(delta),
            // The hooks may have changed the text that the range is in.
            Delta::Source(source) => sink(Delta::Source(&source.without_range())),
        }
    }

    /// Passes on what is held back at the end of a reply.
    pub(super) fn finish(&mut self, sink: &mut DeltaSink<'_>) {
        self.finish_kind(Kind::Reasoning, sink);
        self.finish_kind(Kind::Text, sink);
    }

    /// Forgets what is held back of a reply that was rejected.
    pub(super) fn restart(&mut self) {
        for (_, held_back) in &mut self.hooks {
            *held_back = HeldBack::default();
        }
    }

    /// Changes the texts of a complete reply.
    ///
    /// # Errors
    /// Returns the panic of a hook, for this reply or for a piece.
    pub(super) fn change(&mut self, reply: &mut ChatReply) -> Result<(), Panic> {
        for part in &mut reply.parts {
            let (kind, text) = match part {
                AssistantPart::Text { text } => (Kind::Text, text),
                AssistantPart::Reasoning(reasoning) => (Kind::Reasoning, &mut reasoning.text),
                AssistantPart::Call(_) | AssistantPart::Source(_) | AssistantPart::File(_) => {
                    continue;
                }
            };
            if !self.hooks.is_empty() {
                *text = self.change_piece(kind, text, true);
            }
        }
        self.panic.take().map_or(Ok(()), Err)
    }

    fn finish_kind(&mut self, kind: Kind, sink: &mut DeltaSink<'_>) {
        let is_open = |(_, held_back): &(_, HeldBack)| !held_back.of(kind).is_empty();
        if self.hooks.iter().any(is_open) {
            self.pass(kind, "", true, sink);
        }
    }

    fn pass(&mut self, kind: Kind, text: &str, is_last: bool, sink: &mut DeltaSink<'_>) {
        let text = self.change_piece(kind, text, is_last);
        match kind {
            _ if text.is_empty() => {}
            Kind::Text => sink(Delta::Text(&text)),
            Kind::Reasoning => sink(Delta::Reasoning(&text)),
        }
    }

    fn change_piece(&mut self, kind: Kind, text: &str, is_last: bool) -> String {
        let mut text = text.to_owned();
        for (hook, held_back) in &mut self.hooks {
            if self.panic.is_some() {
                return String::new();
            }
            let pending = held_back.of_mut(kind);
            pending.push_str(&text);
            match catch_panic(|| hook.on_delta(pending, is_last, &self.context)) {
                Ok(changed) => text = changed,
                Err(panic) => self.panic = Some(panic),
            }
            if is_last {
                pending.clear();
            }
        }
        if self.panic.is_some() { String::new() } else { text }
    }
}

impl HeldBack {
    fn of(&self, kind: Kind) -> &str {
        match kind {
            Kind::Text => &self.text,
            Kind::Reasoning => &self.reasoning,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut String {
        match kind {
            Kind::Text => &mut self.text,
            Kind::Reasoning => &mut self.reasoning,
        }
    }
}
