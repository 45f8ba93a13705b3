//! Calls in, executions out: whoever runs calls, here or on another machine.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::blocking::LeftRunning;
use super::{Decision, Extensions, Spent, Suspended};
use crate::event::clock::Clock;
use crate::event::{Event, EventKind, Observers, Origin, ToolExecution};
use crate::guard::BoxFuture;
use crate::message::{Message, ToolCall};
use crate::secret::Redactor;

/// Runs calls.
///
/// [`Dispatcher`](crate::Dispatcher) runs them on the tools of a registry in this process. Another
/// one may send them elsewhere: an agent takes either. Whoever asks waits for the answer, so one that
/// is told to stop, or when to be done, has to heed it.
///
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
#[async_trait]
pub trait Dispatch: Send + Sync {
    /// Gives one execution for each call, in the order of the calls, whatever happens.
    async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution>;
}

/// The calls of one reply, and what is to be known of them.
///
/// ```
/// use tool_runtime::dispatch::Batch;
/// use tool_runtime::ToolCall;
///
/// let batch = Batch::from(vec![ToolCall::new("call_1", "now", "{}")]);
/// assert_eq!(batch.calls.len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Batch {
    /// The calls.
    pub calls: Vec<ToolCall>,
    /// Where they come from.
    pub origin: Origin,
    /// All that was said before them.
    pub conversation: Option<Arc<Vec<Message>>>,
    /// How long they may take together.
    pub deadline: Option<Duration>,
    /// Whether that is when the run ends that they are of.
    pub(crate) ends_run: bool,
    /// Stops them when it is cancelled.
    pub stop: Option<CancellationToken>,
    /// What was decided on some of them before.
    pub decisions: Vec<Decision>,
    /// Those that have begun before, and go on.
    pub resumed: Vec<Suspended>,
    /// Where what they take is counted before they have a result, if anybody counts it.
    pub(crate) spent: Option<Spent>,
    /// Who is told what came of each before all of them have ended, if anybody is.
    pub(crate) came: Option<UnboundedSender<ToolExecution>>,
    /// The names among theirs that tools went by that were offered before, and are gone.
    pub(crate) gone: Vec<String>,
}

impl From<Vec<ToolCall>> for Batch {
    #[inline]
    fn from(calls: Vec<ToolCall>) -> Self {
        Self { calls, ..Self::default() }
    }
}

/// What the calls of one reply share: what a tool may know beyond its own call.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) origin: Origin,
    pub(crate) conversation: Option<Arc<Vec<Message>>>,
    pub(crate) clock: Clock,
    pub(crate) observers: Observers,
    /// Where there is anything to hide.
    pub(crate) redactor: Option<Redactor>,
    pub(crate) deadline: Option<Instant>,
    /// Whether the run ends then.
    pub(crate) ends_run: bool,
    pub(crate) stop: Option<CancellationToken>,
    pub(crate) spent: Option<Spent>,
}

impl Scope {
    /// Remembers what is secret in a call, so that it is hidden wherever it turns up.
    #[inline]
    pub(crate) fn see(&self, call: &ToolCall) {
        if let Some(redactor) = &self.redactor {
            redactor.collect_secrets(call);
        }
    }

    /// Tells of something that happens here and now.
    #[inline]
    pub(crate) fn tell<K: Into<EventKind>>(&self, kind: impl FnOnce() -> K) {
        let event = || Event::new(self.origin.clone(), self.clock.now(), kind());
        self.observers.emit(self.redactor.as_ref(), event);
    }
}

/// What a tool runs in.
pub(crate) trait Host: Send + Sync {
    /// What it may know.
    fn scope(&self) -> &Scope;

    /// What the tool of this call goes on from, where it has begun before.
    fn resumed(&self, call: &ToolCall) -> Option<&Value>;

    /// The program's values.
    fn extensions(&self) -> &Extensions;

    /// A value of its own of this type, for tools that look for one.
    fn get(&self, of: TypeId) -> Option<&dyn Any>;

    /// Where threads are counted that nobody waits for any more.
    fn left_running(&self) -> &LeftRunning;

    /// Runs calls that the tool of the call `parent` makes.
    fn dispatch_within<'a>(
        &'a self,
        parent: &'a ToolCall,
        batch: Batch,
    ) -> BoxFuture<'a, Vec<ToolExecution>>;
}

impl fmt::Debug for dyn Host + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scope().fmt(f)
    }
}
