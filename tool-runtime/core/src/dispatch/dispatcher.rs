//! The dispatcher: executes batches of calls with the tools of a registry.

use std::sync::Arc;

use async_trait::async_trait;

use super::batch::run_batch;
use super::state::DispatchState;
use super::{Batch, BatchError, Dispatch, Policy};
use crate::event::{Observer, Observers, RunId, ToolExecution};
use crate::guard::drop_guarded;
use crate::message::{Arguments, ToolCall, ToolResult};
use crate::registry::{Entry, Registry, Snapshot};
use crate::tool::{Extensions, ToolDefinition, ToolErrorKind};

/// Runs tool calls on the tools of a registry.
///
/// Every call has one execution, in the order of the calls, whatever its tool does: unknown names,
/// invalid arguments, errors, panics and timeouts all become results. The calls of one reply run in
/// parallel, except for those of `sequential` tools.
///
/// Several calls run in separate tasks; a single call runs in the caller's task. A tool can
/// therefore not rely on a `task_local!` of its caller: pass values by
/// [`extension`](Self::extension).
///
/// A tool that blocks its thread past its timeout can't be stopped. The call still reports a
/// timeout, once the tool has ended, and the late result is not used.
///
/// Clones share the policy's counters, such as rate limits.
///
/// # Cancellation
/// Dropping the future of a dispatch stops the calls that still run. Observers receive their end as
/// `TOOL_INDETERMINATE`.
///
/// ```
/// use tool_runtime::{Dispatcher, Registry, ToolCall, tool, tools};
///
/// /// Adds two numbers.
/// #[tool(effect = "none")]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![add])?);
/// let executions = dispatcher
///     .dispatch(vec![
///         ToolCall::new("call_1", "add", r#"{"a": 2, "b": 3}"#),
///         ToolCall::new("call_2", "ad", r#"{"a": 2, "b": 3}"#),
///     ])
///     .await;
/// assert_eq!(executions[0].result.text, "5");
/// assert_eq!(executions[1].result.text, "There is no tool named `ad`. Did you mean `add`?");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Dispatcher {
    pub(super) registry: Registry,
    pub(super) state: Arc<DispatchState>,
}

impl Dispatcher {
    /// Creates a dispatcher for the tools of a registry, with the default [`Policy`].
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Registry, tool, tools};
    ///
    /// /// Returns the time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![now])?);
    /// assert_eq!(dispatcher.registry().snapshot().all_definitions().len(), 1);
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn new(registry: Registry) -> Self {
        Self { registry, state: Arc::default() }
    }

    /// Sets the policy: permissions, approvals, limits, retries, breakers, interceptors and
    /// secrets.
    ///
    /// Replaces every setting of an earlier policy and starts its counters anew. Default:
    /// [`Policy::new`].
    ///
    /// ```
    /// use tool_runtime::dispatch::Concurrency;
    /// use tool_runtime::{Dispatcher, Policy, Registry};
    ///
    /// let limits = Concurrency::default().max_calls(8);
    /// let policy = Policy::new().concurrency(limits).max_output_bytes(20_000);
    /// let dispatcher = Dispatcher::new(Registry::new()).policy(policy);
    /// # let _ = dispatcher;
    /// ```
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.state_mut().set_policy(policy);
        self
    }

    /// Replaces all observers of this dispatcher.
    ///
    /// Each of them receives every event in the task in which it happens.
    #[must_use]
    pub fn observers(mut self, observers: Observers) -> Self {
        self.state_mut().observers = observers;
        self
    }

    /// Adds an observer that receives every event of the calls.
    ///
    /// ```
    /// use tool_runtime::event::Recorder;
    /// use tool_runtime::{Dispatcher, Registry, ToolCall};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let recorder = Recorder::new(100);
    /// let dispatcher = Dispatcher::new(Registry::new()).observer(recorder.clone());
    /// dispatcher.dispatch(vec![ToolCall::new("1", "unknown", "{}")]).await;
    /// assert!(recorder.executions()[0].failed_with("TOOL_NOT_FOUND"));
    /// # }
    /// ```
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.add_observer(observer);
        self
    }

    pub(crate) fn add_observer(&mut self, observer: impl Observer + 'static) {
        self.state_mut().observers.add(observer);
    }

    /// Sets whether tracing spans record the redacted arguments and results of calls.
    ///
    /// Default: off.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn trace_content(mut self, is_on: bool) -> Self {
        self.state_mut().trace_content = is_on;
        self
    }

    /// Adds a value that tools find by its type in [`ToolContext::get`](crate::ToolContext::get).
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Registry, ToolCall, ToolContext, tool, tools};
    ///
    /// struct Home(String);
    ///
    /// /// Returns the home town.
    /// #[tool(effect = "none")]
    /// async fn home(ctx: &ToolContext) -> String {
    ///     ctx.get::<Home>().map(|home| home.0.clone()).unwrap_or_default()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let registry = Registry::try_from(tools![home])?;
    /// let dispatcher = Dispatcher::new(registry).extension(Home("Oslo".into()));
    /// let executions = dispatcher.dispatch(vec![ToolCall::new("1", "home", "{}")]).await;
    /// assert_eq!(executions[0].result.text, "Oslo");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let state = self.state_mut();
        state.extensions = std::mem::take(&mut state.extensions).with(value);
        self
    }

    /// Replaces all values that tools find by their types.
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.state_mut().extensions = extensions;
        self
    }

    /// Returns the tools of a snapshot that a model may call, sorted by name.
    ///
    /// These are the available tools that the policy allows, or that an approver can allow, and
    /// whose required capabilities are all granted. A tool is left out while its circuit breaker is
    /// open, and while its rate limit blocks its calls.
    pub fn offered_tools<'s>(&self, tools: &'s Snapshot) -> Vec<&'s ToolDefinition> {
        let callable = tools.entries().filter(|entry| self.state.is_callable(entry));
        let admitted = callable.filter(|entry| self.state.admits(entry));
        let available = admitted.filter(|entry| entry.availability().is_available());
        available.map(Entry::definition).collect()
    }

    /// Returns the number of threads of `blocking` tools that still run after their calls have
    /// ended.
    ///
    /// A thread can't be stopped: if its call times out or is cancelled, the thread runs on. The
    /// count covers all clones, and all runs of an agent.
    ///
    /// Each such thread occupies one of tokio's threads for blocking work, 512 unless the runtime
    /// was built with other
    /// [`max_blocking_threads`](tokio::runtime::Builder::max_blocking_threads). If none is free,
    /// calls of blocking tools wait for one. A call that gets none within its timeout does not run,
    /// and its result is an error. A function that checks
    /// [`ToolContext::cancellation`](crate::ToolContext::cancellation) leaves no thread behind.
    pub fn detached_threads(&self) -> usize {
        self.state.detached_threads.count()
    }

    /// Returns the registry in which the names of calls are resolved.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Runs the calls of one reply on the tools that the registry holds now.
    ///
    /// To run a [`Batch`], which may have extensions and observers, call the method of the trait:
    /// `Dispatch::dispatch(&dispatcher, batch)`.
    ///
    /// # Panics
    /// Panics outside a tokio runtime: calls are spawned, and timeouts need its clock.
    ///
    /// # Cancellation
    /// Dropping the future stops the calls that still run.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Registry, ToolCall};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let dispatcher = Dispatcher::new(Registry::new());
    /// let executions = dispatcher.dispatch(vec![ToolCall::new("1", "now", "{}")]).await;
    /// assert_eq!(executions[0].result.text, "There is no tool named `now`. There are no tools.");
    /// # }
    /// ```
    pub async fn dispatch(&self, calls: Vec<ToolCall>) -> Vec<ToolExecution> {
        let (tools, executions) = self.start_batch(calls.into());
        let executions = executions.await;
        drop_snapshot(tools);
        executions
    }

    /// Runs one call on the tools that the registry holds now, outside of a conversation.
    ///
    /// The call receives a random id, so that its [idempotency
    /// key](crate::ToolContext::idempotency_key) differs from that of every other call.
    ///
    /// # Panics
    /// Panics outside a tokio runtime, as [`dispatch`](Self::dispatch) does.
    ///
    /// # Cancellation
    /// Dropping the future stops the call.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{Dispatcher, Registry, tool, tools};
    ///
    /// /// Adds two numbers.
    /// #[tool(effect = "none")]
    /// async fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![add])?);
    /// assert_eq!(dispatcher.call("add", json!({ "a": 2, "b": 3 })).await.result.text, "5");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn call(
        &self,
        tool: impl Into<String>,
        arguments: impl Into<Arguments>,
    ) -> ToolExecution {
        let call = ToolCall::new(format!("call_{}", RunId::random()), tool, arguments);
        let execution = self.dispatch(vec![call.clone()]).await.pop();
        execution.unwrap_or_else(|| {
            let text = "The result of this call was lost.";
            let code = ToolErrorKind::Indeterminate.code();
            self.skipped_execution(call.clone(), ToolResult::failure(&call, code, text))
        })
    }

    /// Removes the state of a run: approvals [for the run](super::Approval::ForRun), the secrets
    /// that its calls contained, and the outputs of its pure tools.
    ///
    /// Call it when a run whose [batches](Batch::origin) this dispatcher received has ended.
    /// Without it, the state of the 1,024 runs that were used last is kept, and that of runs with a
    /// batch in flight; [`RunEvent::StateEvicted`](crate::event::RunEvent::StateEvicted) reports
    /// each other one that had approvals or secrets. An [`Agent`](crate::Agent) ends its own runs.
    /// Batches outside of a run count as one run, [`RunId::default`], in which the secrets of the
    /// last 1,024 batches at least are redacted.
    ///
    /// ```
    /// use tool_runtime::dispatch::{Batch, Dispatch};
    /// use tool_runtime::event::{Origin, RunId};
    /// use tool_runtime::{Dispatcher, Registry, ToolCall};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let dispatcher = Dispatcher::new(Registry::new());
    /// let run = RunId::from(7);
    /// let mut batch = Batch::from(vec![ToolCall::new("1", "now", "{}")]);
    /// batch.origin = Origin::new(run, 1);
    /// Dispatch::dispatch(&dispatcher, batch).await;
    /// dispatcher.end_run(run);
    /// # }
    /// ```
    pub fn end_run(&self, run: RunId) {
        self.state.end_run(run);
    }

    /// Runs the calls of one reply, and returns an error if a call aborted the batch.
    ///
    /// # Errors
    /// Returns [`BatchError`] if a call failed under [`Policy::abort_on_failure`] or was blocked
    /// under [`Policy::abort_on_block`]. The error holds every execution; calls that did not start
    /// are cancelled.
    ///
    /// # Panics
    /// Panics outside a tokio runtime, as [`dispatch`](Self::dispatch) does.
    ///
    /// # Cancellation
    /// Dropping the future stops the calls that still run.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, tool, tools};
    ///
    /// /// Saves a file.
    /// #[tool]
    /// async fn save() -> Result<(), &'static str> {
    ///     Err("the disk is full")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let policy = Policy::new().abort_on_failure();
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![save])?).policy(policy);
    /// let aborted = dispatcher.try_dispatch(vec![ToolCall::new("1", "save", "{}")]).await;
    /// let text = "batch aborted by call `1` of tool `save`: the disk is full";
    /// assert_eq!(aborted.unwrap_err().to_string(), text);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn try_dispatch(
        &self,
        calls: Vec<ToolCall>,
    ) -> Result<Vec<ToolExecution>, BatchError> {
        let executions = self.dispatch(calls).await;
        match self.aborted_at(&executions) {
            None => Ok(executions),
            Some(index) => Err(BatchError { executions, index }),
        }
    }

    /// Runs the calls of one reply on the tools of a snapshot: those that the model was offered.
    ///
    /// # Panics
    /// Panics outside a tokio runtime, as [`dispatch`](Self::dispatch) does.
    ///
    /// # Cancellation
    /// Dropping the future stops the calls that still run.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Registry, ToolCall, tool, tools};
    ///
    /// /// Returns the time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let registry = Registry::try_from(tools![now])?;
    /// let snapshot = registry.snapshot();
    /// let dispatcher = Dispatcher::new(Registry::new());
    /// let calls = vec![ToolCall::new("1", "now", "{}")];
    /// assert_eq!(dispatcher.dispatch_on(&snapshot, calls).await[0].result.text, "noon");
    /// # Ok(())
    /// # }
    /// ```
    pub fn dispatch_on(
        &self,
        tools: &Snapshot,
        batch: impl Into<Batch>,
    ) -> impl Future<Output = Vec<ToolExecution>> + Send + 'static {
        run_batch(tools.clone(), Arc::clone(&self.state), batch.into(), None)
    }

    /// Starts a batch. This is not an `async fn`: its future would store the batch beside the
    /// values made of it.
    fn start_batch(
        &self,
        batch: Batch,
    ) -> (Snapshot, impl Future<Output = Vec<ToolExecution>> + Send + use<>) {
        let tools = self.registry.snapshot();
        self.state.report_unmatched_rules(&batch.origin, &tools);
        let executions = run_batch(tools.clone(), Arc::clone(&self.state), batch, None);
        (tools, executions)
    }

    pub(super) async fn dispatch_batch(&self, batch: Batch) -> Vec<ToolExecution> {
        let (tools, executions) = self.start_batch(batch);
        let executions = executions.await;
        drop_snapshot(tools);
        executions
    }

    pub(super) fn state_mut(&mut self) -> &mut DispatchState {
        Arc::make_mut(&mut self.state)
    }
}

/// Drops a snapshot, which may be the last owner of a tool that was withdrawn meanwhile: the
/// destructor of a tool may panic.
fn drop_snapshot(tools: Snapshot) {
    drop_guarded(tools);
}

#[async_trait]
impl Dispatch for Dispatcher {
    async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution> {
        self.dispatch_batch(batch).await
    }
}
