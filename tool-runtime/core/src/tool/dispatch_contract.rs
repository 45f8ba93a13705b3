//! The contract between what makes calls and what executes them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    CallEnd, CallWork, Decision, Extensions, RunContext, RunInfo, StartPermit, SuspendedCall,
    ToolDefinition, UsageMeter,
};
use crate::event::clock::Clock;
use crate::event::{Event, EventKind, Observers, Origin, ToolExecution};
use crate::guard::BoxFuture;
use crate::message::{CallId, Message, ToolCall};
use crate::secret::Redactor;
use crate::tool::work::blocking::DetachedThreads;

/// Executes the calls of a batch.
///
/// [`Dispatcher`](crate::Dispatcher) executes them with the tools of a registry in this process.
/// Implement this trait to execute calls elsewhere, such as on a worker, and pass the
/// implementation to an agent. An agent waits for the executions, so an implementation must respect
/// [`Batch::cancellation`] and [`Batch::timeout`].
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::dispatch::{Batch, Dispatch};
/// use tool_runtime::{ToolCall, ToolExecution, ToolResult, async_trait};
///
/// /// Answers each call with the name of its tool.
/// struct Names;
///
/// #[async_trait]
/// impl Dispatch for Names {
///     async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution> {
///         let execution = |call: ToolCall| {
///             let result = ToolResult::success(&call, call.name.clone());
///             ToolExecution::new(call, result)
///         };
///         batch.calls.into_iter().map(execution).collect()
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let batch = Batch::from(vec![ToolCall::new("call_1", "now", "{}")]);
/// assert_eq!(Names.dispatch(batch).await[0].result.text, "now");
/// # }
/// ```
#[async_trait]
pub trait Dispatch: Send + Sync {
    /// Executes the calls and returns one execution for each, in the order of the calls, whatever
    /// happens.
    async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution>;
}

/// The calls of one reply and the context in which they run.
///
/// ```
/// use tool_runtime::ToolCall;
/// use tool_runtime::dispatch::Batch;
///
/// let batch = Batch::from(vec![ToolCall::new("call_1", "now", "{}")]);
/// assert_eq!(batch.calls.len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Batch {
    /// The calls to execute.
    pub calls: Vec<ToolCall>,
    /// The run, the turn and the parent call that the calls belong to.
    pub origin: Origin,
    /// The agent, the session and the metadata of the run that the calls belong to.
    pub run_info: Option<Arc<RunInfo>>,
    /// The messages before the calls.
    pub transcript: Option<Arc<Vec<Message>>>,
    /// The time limit of all calls together.
    pub timeout: Option<Duration>,
    /// Whether `timeout` is the time that the run has left.
    pub(crate) is_run_deadline: bool,
    /// Stops the calls when it is cancelled.
    pub cancellation: Option<CancellationToken>,
    /// The decisions on calls that were made before.
    pub decisions: Vec<Decision>,
    /// The [deferred](super::Approval::Defer) decisions on calls about which an approver was asked
    /// before. The approver is asked again without another
    /// [`ApprovalRequested`](crate::event::ToolEvent::ApprovalRequested), unless the tool or the
    /// arguments have changed.
    pub deferred: Vec<Decision>,
    /// The calls that started before and continue from a saved state. Those with a question and
    /// no answer stay pending.
    pub suspended: Vec<SuspendedCall>,
    /// The extensions of this batch, which take precedence over those of the dispatcher.
    ///
    /// Use them for values of one caller, such as the connection of the client that sent the calls.
    /// Nested calls get them too.
    pub extensions: Extensions,
    /// The observers of this batch, which receive its events after those of the dispatcher.
    pub observers: Observers,
    /// The time until which calls may start; `None` is no limit.
    pub(crate) permit: Option<StartPermit>,
    /// The call that the calls are nested in, if they are.
    pub(crate) caller: Option<Arc<CallWork>>,
    /// The calls that have started before, in a process that ended since.
    pub(crate) started: Vec<CallId>,
    /// The idempotency key of the only call, if another process made it.
    pub(crate) served_key: Option<String>,
    /// Counts what unfinished calls take, if the caller needs it.
    pub(crate) usage_meter: Option<UsageMeter>,
    /// Receives each execution when it ends, before all of them have ended.
    pub(crate) completed: Option<UnboundedSender<ToolExecution>>,
    /// The names, sorted, that the calls use of tools that were offered before and are now removed.
    pub(crate) removed_tools: Vec<String>,
}

impl From<Vec<ToolCall>> for Batch {
    #[inline]
    fn from(calls: Vec<ToolCall>) -> Self {
        Self { calls, ..Self::default() }
    }
}

/// The state that the calls of a batch share and that their contexts expose.
#[derive(Debug)]
pub(crate) struct BatchScope {
    pub(crate) origin: Origin,
    pub(crate) run_info: Option<Arc<RunInfo>>,
    pub(crate) transcript: Option<Arc<Vec<Message>>>,
    pub(crate) clock: Clock,
    /// The observers of the dispatcher and of the batch.
    pub(crate) observers: Observers,
    pub(crate) batch_observers: Observers,
    pub(crate) extensions: Extensions,
    /// `None` if there is nothing to redact.
    pub(crate) redactor: Option<Redactor>,
    pub(crate) deadline: Option<Instant>,
    /// Whether `deadline` is the time limit of the run.
    pub(crate) is_run_deadline: bool,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) permit: Option<StartPermit>,
    pub(crate) usage_meter: Option<UsageMeter>,
}

impl BatchScope {
    /// Collects the secret arguments of a call, so that they are redacted wherever they occur.
    #[inline]
    pub(crate) fn collect_secrets(&self, call: &ToolCall) {
        if let Some(redactor) = &self.redactor {
            redactor.collect_secrets(call);
        }
    }

    /// Returns the run that the calls of the batch belong to.
    pub(crate) fn run_context<'a>(&'a self, extensions: &'a Extensions) -> RunContext<'a> {
        let transcript = self.transcript.as_ref().map_or(&[][..], |messages| messages.as_slice());
        RunContext::new(&self.origin, self.run_info.as_deref())
            .with_transcript(transcript)
            .with_extensions(&self.extensions, extensions)
    }

    /// Emits an event with the current time.
    #[inline]
    pub(crate) fn emit<K: Into<EventKind>>(&self, kind: impl FnOnce() -> K) {
        let event = || Event::new(self.origin.clone(), self.clock.now(), kind());
        self.observers.emit(self.redactor.as_ref(), event);
    }
}

/// The interface of a dispatcher for the [`ToolContext`](super::ToolContext) of a call.
pub(crate) trait Host: Send + Sync {
    fn scope(&self) -> &BatchScope;

    /// Returns the suspended call that this call continues, if it was suspended.
    fn suspended_call(&self, call: &ToolCall) -> Option<&SuspendedCall>;

    /// Returns the idempotency key of the call, if another process made it.
    fn served_key(&self) -> Option<&str>;

    /// Returns why the calls of the batch end if their futures are dropped.
    fn end_of_dropped_calls(&self) -> CallEnd;

    /// Returns the extensions of the program.
    fn extensions(&self) -> &Extensions;

    /// Returns the tools that the caller of the tool can call now, sorted by name.
    fn callable_tools(&self) -> Vec<&ToolDefinition>;

    /// Returns the count of the threads that outlive their calls.
    fn detached_threads(&self) -> &DetachedThreads;

    /// Stores nothing that tools of the run read until the returned value is dropped.
    fn begin_background_change(&self) -> Box<dyn Any + Send + Sync>;

    /// Runs the calls that the tool of the call `parent` makes.
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
