//! Takes the calls of one reply and gives exactly one result for each.
//!
//! Nothing here knows which model asked or what is done with the results.

mod admission;
mod answer;
mod approve;
mod attempt;
mod batch;
mod call;
mod circuits;
mod concurrency;
mod halt;
mod intercept;
mod invoke;
mod memo;
mod permit;
mod plan;
mod policy;
mod rate;
mod record;
mod resumed;
mod running;
mod state;
#[cfg(feature = "tracing")]
mod traced;
mod unfinished;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

pub use approve::{ApprovalRequest, Approver, AskLater};
pub use circuits::Breakers;
pub use concurrency::Concurrency;
pub use halt::{Halted, OnBlock, OnFailure};
pub use intercept::{Before, Interceptor};
pub use invoke::invoke;
pub use policy::{Breaker, Permissions, Policy};
pub use rate::RateLimits;

pub use crate::tool::{Approval, Batch, Decision, Dispatch, Suspended};

use crate::event::{Event, EventKind, Observer, Observers, Origin, RunId, ToolExecution};
use crate::guard::let_go;
use crate::message::{ToolCall, ToolResult};
use crate::registry::{Entry, Registry, Snapshot};
use crate::tool::{Extensions, ToolDefinition};
use answer::ending;
use halt::halts;
use state::DispatchState;

/// Runs calls on the tools of a registry.
///
/// Every call gets one result, in the order of the calls, whatever its tool does: an unknown
/// name, wrong arguments, an error, a panic and a timeout are all answered. The calls of one reply
/// run in parallel, but for those of a `sequential` tool. Dropping the future stops those that
/// still run.
///
/// Several calls run in tasks of their own, one alone in the task of whoever dispatches it: a tool
/// can't count on a `task_local!` of its caller, [`extensions`](Self::extensions) are what it is
/// given. A tool that holds its thread up past its timeout can't be stopped; it is
/// reported as timed out all the same, once it has ended, and its result is not used.
///
/// ```
/// use tool_runtime::{Dispatcher, Registry, ToolCall, tool, tools};
///
/// /// Adds two numbers.
/// #[tool(effect = "none")]
/// async fn add(
///     /// The first.
///     a: i64,
///     /// The second.
///     b: i64,
/// ) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![add])?);
/// let done = dispatcher
///     .dispatch(vec![
///         ToolCall::new("call_1", "add", r#"{"a": 2, "b": 3}"#),
///         ToolCall::new("call_2", "ad", r#"{"a": 2, "b": 3}"#),
///     ])
///     .await;
/// assert_eq!(done[0].result.text, "5");
/// assert_eq!(done[1].result.text, "There is no tool named `ad`. Did you mean `add`?");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Dispatcher {
    registry: Registry,
    state: Arc<DispatchState>,
}

impl Dispatcher {
    /// A dispatcher for these tools.
    pub fn new(registry: Registry) -> Self {
        Self { registry, state: Arc::default() }
    }

    /// Tells these observers of each call that starts or finishes, at once and in its task.
    #[must_use]
    pub fn observers(mut self, observers: Observers) -> Self {
        self.state_mut().observers = observers;
        self
    }

    /// Tells this observer as well.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.add_observer(observer);
        self
    }

    pub(crate) fn add_observer(&mut self, observer: impl Observer + 'static) {
        self.state_mut().observers.add(observer);
    }

    /// Sets the policy: permissions, approvals, limits, retries, breakers, interceptors and secrets.
    ///
    /// Replaces every setting of an earlier policy and starts its counters anew. Default:
    /// [`Policy::new`].
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.state_mut().set_policy(policy);
        self
    }

    /// Puts arguments and results on the spans of calls, without what is secret in them; they are
    /// left out unless this is on.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn trace_content(mut self, is_on: bool) -> Self {
        self.state_mut().trace_content = is_on;
        self
    }

    /// Gives tools a value, which they find by its type in
    /// [`ToolContext::get`](crate::ToolContext::get).
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let state = self.state_mut();
        state.extensions = std::mem::take(&mut state.extensions).with(value);
        self
    }

    /// Gives tools these values and no others.
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.state_mut().extensions = extensions;
        self
    }

    /// The tools of a snapshot that a model may call: those that can run now, are allowed, if need
    /// be by somebody who can be asked, and need nothing that isn't granted. Sorted by name.
    pub fn offered<'s>(&self, tools: &'s Snapshot) -> Vec<&'s ToolDefinition> {
        let callable = tools.entries().filter(|entry| self.state.let_call(entry));
        let available = callable.filter(|entry| entry.availability().is_available());
        available.map(Entry::definition).collect()
    }

    /// How many threads of `blocking` tools are at work whose calls have their results: they were past
    /// their time or stopped, and nothing stops a thread. They are counted over all clones, and over
    /// all runs of an agent.
    ///
    /// Each holds one of the threads that tokio has for blocking work, 512 unless the runtime was built
    /// with another [`max_blocking_threads`](tokio::runtime::Builder::max_blocking_threads). When none
    /// is left, calls of such tools wait for one; what then has none by its timeout is
    /// not run, and says so. A function that looks at
    /// [`ToolContext::cancellation`](crate::ToolContext::cancellation) leaves none behind.
    pub fn left_running(&self) -> usize {
        self.state.left_running.count()
    }

    /// The tools that calls are looked up in.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Runs the calls of one reply on what the registry holds now.
    ///
    /// # Panics
    /// Outside a tokio runtime: calls are spawned, and timeouts need its clock.
    pub async fn dispatch(&self, calls: Vec<ToolCall>) -> Vec<ToolExecution> {
        self.dispatch_now(calls.into()).await
    }

    /// The same, and an error where a call ended the batch, as [`on_failure`](Policy::on_failure) and
    /// [`on_block`](Policy::on_block) have it.
    ///
    /// # Errors
    /// [`Halted`] carries every execution: calls that did not begin are `Cancelled`.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`dispatch`](Self::dispatch).
    pub async fn try_dispatch(&self, calls: Vec<ToolCall>) -> Result<Vec<ToolExecution>, Halted> {
        let executions = self.dispatch(calls).await;
        match self.halted_at(&executions) {
            None => Ok(executions),
            Some(at) => Err(Halted { executions, at }),
        }
    }

    /// Which execution ended its batch.
    pub(crate) fn halted_at(&self, executions: &[ToolExecution]) -> Option<usize> {
        let Policy { on_failure, on_block, .. } = *self.state.policy;
        executions.iter().position(|execution| halts(on_failure, on_block, execution))
    }

    /// Runs the calls of one reply on the very tools that the model was offered.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`dispatch`](Self::dispatch).
    pub fn dispatch_on(
        &self,
        tools: &Snapshot,
        batch: impl Into<Batch>,
    ) -> impl Future<Output = Vec<ToolExecution>> + Send + 'static {
        batch::run(tools.clone(), Arc::clone(&self.state), batch.into(), Vec::new())
    }

    async fn dispatch_now(&self, batch: Batch) -> Vec<ToolExecution> {
        let tools = self.registry.snapshot();
        let done = self.dispatch_on(&tools, batch).await;
        // A tool that was taken away meanwhile was kept for this alone, and its destructor is foreign code.
        let_go(tools);
        done
    }

    /// The same state for another run on these tools: with a memo of its own, and only these tools
    /// approved of, each by whom.
    pub(crate) fn for_run(
        &self,
        registry: Registry,
        run: RunId,
        approved: BTreeMap<String, String>,
    ) -> Self {
        Self { registry, state: Arc::new(self.state.for_run(run, approved)) }
    }

    /// The tools that somebody has approved of for the rest of the run, and who.
    pub(crate) fn approved(&self, run: RunId) -> BTreeMap<String, String> {
        self.state.approvals.approved(run)
    }

    /// Tells what hides secrets of the tools that a model is offered, and of the calls that it made
    /// before.
    pub(crate) fn look_out<'a>(&self, tools: &Snapshot, calls: impl Iterator<Item = &'a ToolCall>) {
        if let Some(redactor) = self.state.redactor_of(tools) {
            calls.for_each(|call| redactor.see(call));
        }
    }

    /// Takes the secrets out of a text.
    pub(crate) fn hide(&self, text: &mut String) {
        if self.state.redactor.is_needed() {
            self.state.redactor.hide(text);
        }
    }

    /// Takes the secrets out of what somebody else's calls gave.
    pub(crate) fn hide_in_result(&self, execution: &mut ToolExecution) {
        if self.state.redactor.is_needed() {
            self.state.redactor.hide_in_result(execution);
        }
    }

    /// Takes the secrets out of a call, for whoever prints it.
    pub(crate) fn hide_in_call(&self, call: &mut ToolCall) {
        if self.state.redactor.is_needed() {
            self.state.redactor.hide_in_call(call);
        }
    }

    /// Takes the secrets out of what a tool would be given, for whoever is shown it.
    pub(crate) fn hide_in_arguments(&self, tool: &str, arguments: &mut Value) {
        if self.state.redactor.is_needed() {
            self.state.redactor.hide_in_arguments(tool, arguments);
        }
    }

    /// Whether somebody watches.
    pub(crate) fn is_watched(&self) -> bool {
        !self.state.observers.is_empty()
    }

    /// Tells those who watch this dispatcher of something that happens around it.
    pub(crate) fn tell<K: Into<EventKind>>(&self, origin: &Origin, kind: impl FnOnce() -> K) {
        let DispatchState { observers, redactor, clock, .. } = self.state.as_ref();
        let redactor = redactor.is_needed().then_some(redactor);
        observers.tell(redactor, || Event::new(origin.clone(), clock.now(), kind()));
    }

    /// Tells them of the end of a call that somebody else ran.
    pub(crate) fn tell_end(&self, origin: &Origin, execution: &ToolExecution) {
        if !self.state.observers.is_empty() {
            ending(execution).for_each(|event| self.tell(origin, || event));
        }
    }

    /// What became of a call that wasn't run here.
    pub(crate) fn unrun(&self, call: ToolCall, result: ToolResult) -> ToolExecution {
        let mut execution = ToolExecution::new(call, result);
        execution.started = self.state.clock.now();
        execution
    }

    fn state_mut(&mut self) -> &mut DispatchState {
        Arc::make_mut(&mut self.state)
    }
}

#[async_trait]
impl Dispatch for Dispatcher {
    async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution> {
        self.dispatch_now(batch).await
    }
}
