//! What the calls of one reply share.

use std::sync::{Arc, OnceLock};

use super::halt::Halt;
use super::state::DispatchState;
use crate::event::{Gate, ToolExecution};
use crate::message::ToolCall;
use crate::registry::{Callable, Entry, Snapshot};
use crate::tool::dispatch::Scope;
use crate::tool::{Decision, Permission, Suspended, ToolError, ToolErrorKind};

/// The most calls that may lie around a call.
const DEEPEST: u32 = 8;

/// What the calls of one reply run in.
pub(super) struct Running {
    pub(super) tools: Snapshot,
    pub(super) state: Arc<DispatchState>,
    pub(super) scope: Scope,
    pub(super) halt: Halt,
    pub(super) decisions: Vec<Decision>,
    pub(super) resumed: Vec<Suspended>,
    pub(super) gone: Vec<String>,
    /// The tools whose calls lie around these.
    pub(super) outer: Vec<String>,
    /// Made for the first tool that asks.
    pub(super) callable: OnceLock<Callable>,
}

impl Running {
    /// A tool that calls itself, by whatever way, has to end somewhere.
    pub(super) fn check_depth(&self) -> Result<(), (Gate, ToolError)> {
        if self.scope.origin.depth < DEEPEST {
            return Ok(());
        }
        let text = format!("Not run: tools may call each other at most {DEEPEST} deep.");
        Err((Gate::Depth, ToolError::new(ToolErrorKind::Denied, text)))
    }

    /// The tool of a call with nothing between the two: nobody looks at it, nothing limits it, and it
    /// is run but once, for as long as it takes.
    #[inline]
    pub(super) fn plain(&self, call: &ToolCall) -> Option<&Entry> {
        let Self { state, scope, .. } = self;
        let is_open = scope.stop.is_none() && scope.deadline.is_none() && scope.origin.depth == 0;
        if !is_open
            || !self.resumed.is_empty()
            || !state.policy.is_plain()
            || self.halt.check().is_err()
        {
            return None;
        }
        let entry = self.tools.entry(&call.name)?;
        let tool = entry.definition();
        let is_plain = tool.permission == Permission::Allow
            && tool.requires.is_empty()
            && tool.timeout.is_none()
            && tool.retries == 0
            && !tool.pure
            && !state.rates.limit(entry);
        is_plain.then_some(entry)
    }

    /// The tools that may be called.
    #[cold]
    pub(super) fn callable(&self) -> &Callable {
        self.callable.get_or_init(|| {
            let state = Arc::clone(&self.state);
            Callable::new(self.tools.clone(), move |entry| state.let_call(entry))
        })
    }

    /// Takes the secrets out of what the model and the program are told of a call. What a tool's own
    /// calls say is for the tool.
    #[inline]
    pub(super) fn hide_in_result(&self, execution: &mut ToolExecution) {
        if let Some(redactor) = &self.scope.redactor
            && self.is_outermost()
        {
            redactor.hide_in_result(execution);
        }
    }

    /// Whether these are the model's calls, and no tool waits for them.
    #[inline]
    pub(super) fn is_outermost(&self) -> bool {
        self.outer.is_empty()
    }

    /// The tools that wait for this call.
    pub(super) fn around(&self) -> Vec<&Entry> {
        self.outer.iter().filter_map(|name| self.tools.entry(name)).collect()
    }
}
