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
mod terms;
#[cfg(feature = "tracing")]
mod traced;
mod unfinished;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

pub use approve::{ApprovalRequest, Approver, AskLater};
pub use circuits::Breakers;
pub use concurrency::Concurrency;
pub use halt::{Halted, OnBlock, OnFailure};
pub use intercept::{Before, Interceptor};
pub use invoke::invoke;
pub use policy::{Breaker, Permissions};
pub use rate::RateLimits;

pub use crate::tool::{Approval, Batch, Decision, Dispatch, Suspended};

use crate::event::{Event, EventKind, Observer, Observers, Origin, RunId, ToolExecution};
use crate::guard::let_go;
use crate::message::{ToolCall, ToolResult};
use crate::registry::{Entry, Registry, Snapshot};
use crate::tool::{Extensions, ToolDefinition};
use answer::ending;
use approve::Approvals;
use circuits::Circuits;
use concurrency::Places;
use halt::halts;
use rate::Rates;
use terms::Terms;

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
    terms: Arc<Terms>,
}

impl Dispatcher {
    /// A dispatcher for these tools.
    pub fn new(registry: Registry) -> Self {
        Self { registry, terms: Arc::default() }
    }

    /// Tells these observers of each call that starts or finishes, at once and in its task.
    #[must_use]
    pub fn observers(mut self, observers: Observers) -> Self {
        self.terms_mut().observers = observers;
        self
    }

    /// Tells this observer as well.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.add_observer(observer);
        self
    }

    pub(crate) fn add_observer(&mut self, observer: impl Observer + 'static) {
        self.terms_mut().observers.add(observer);
    }

    /// Keeps these values, such as keys and passwords that tools use, from those who watch and from the
    /// model: wherever they turn up in what tools say and in events, also escaped, `[redacted]` is read
    /// instead. What stands at a marked place of a tool's arguments, by `#[arg(secret)]` or by
    /// `writeOnly: true` in its schema, is hidden without being named here, and so are its echoes if
    /// they have four bytes or more.
    ///
    /// The tools themselves, interceptors and approvers see everything. So does whoever reads the
    /// conversation: there the model's arguments stay as they came, byte for byte, for its provider
    /// wants them back; and whoever prints a call or an execution of the program's own.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Registry, ToolCall, tool, tools};
    ///
    /// /// Logs in.
    /// #[tool(effect = "read")]
    /// async fn login(
    ///     /// Who.
    ///     user: String,
    ///     /// By which password.
    ///     #[arg(secret)]
    ///     password: String,
    /// ) -> String {
    ///     format!("{user} came by {password} and the key k3y-0f-th3-h0us3")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![login])?).secrets(["k3y-0f-th3-h0us3"]);
    /// let call = ToolCall::new("1", "login", r#"{"user": "ada", "password": "hunter22"}"#);
    /// let done = dispatcher.dispatch(vec![call]).await;
    /// assert_eq!(done[0].result.text, "ada came by [redacted] and the key [redacted]");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn secrets<S: Into<String>>(mut self, secrets: impl IntoIterator<Item = S>) -> Self {
        let terms = self.terms_mut();
        terms.redactor = terms.redactor.with(secrets.into_iter().map(Into::into));
        self
    }

    /// Puts arguments and results on the spans of calls, without what is secret in them; they are
    /// left out unless this is on.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub fn trace_content(mut self, is_on: bool) -> Self {
        self.terms_mut().trace_content = is_on;
        self
    }

    /// Has this see each call before it runs, and what became of it; behind those added before.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.terms_mut().interceptors.add(Arc::new(interceptor));
        self
    }

    /// Lets tools use what they declare by `requires("…")`, such as `filesystem`; a tool that needs
    /// more is neither offered nor run.
    #[must_use]
    pub fn grant<C: Into<String>>(mut self, capabilities: impl IntoIterator<Item = C>) -> Self {
        let more = capabilities.into_iter().map(Into::into);
        self.terms_mut().granted.extend(more);
        self
    }

    /// Says which tools may run, other than what they say of themselves.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.terms_mut().permissions = permissions;
        self
    }

    /// Has this decide on calls of tools of `permission = "ask"`. Where nobody does, they don't run.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.terms_mut().approvals = Approvals::by(Arc::new(approver));
        self
    }

    /// Limits how many calls run at once; as many as there are unless set.
    #[must_use]
    pub fn concurrency(mut self, limits: Concurrency) -> Self {
        self.terms_mut().places = Places::of(limits);
        self
    }

    /// Limits how often calls may begin; as often as they come unless set, but for tools that limit
    /// themselves by `rate_limit`.
    #[must_use]
    pub fn rate_limits(mut self, limits: RateLimits) -> Self {
        self.terms_mut().rates = Rates::of(limits);
        self
    }

    /// Leaves providers alone for a while that fail too often.
    #[must_use]
    pub fn breakers(mut self, breakers: Breakers) -> Self {
        self.terms_mut().circuits = Circuits::of(breakers);
        self
    }

    /// Tells the model at most this many bytes of an output, its head and its tail; 100,000 unless
    /// set. The rest is in [`ToolExecution::full_text`].
    #[must_use]
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.terms_mut().output_limit = bytes;
        self
    }

    /// Limits how long the calls of one reply may take together; those that have no result then are
    /// stopped and answered as timed out.
    #[must_use]
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.terms_mut().deadline = Some(limit);
        self
    }

    /// Says what a failure means for the other calls of its reply; nothing unless set.
    #[must_use]
    pub fn on_failure(mut self, policy: OnFailure) -> Self {
        self.terms_mut().on_failure = policy;
        self
    }

    /// Says what it means for the others that a call is held back; nothing unless set.
    #[must_use]
    pub fn on_block(mut self, policy: OnBlock) -> Self {
        self.terms_mut().on_block = policy;
        self
    }

    /// Gives tools a value, which they find by its type in
    /// [`ToolContext::get`](crate::ToolContext::get).
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        let terms = self.terms_mut();
        terms.extensions = std::mem::take(&mut terms.extensions).with(value);
        self
    }

    /// Gives tools these values and no others.
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.terms_mut().extensions = extensions;
        self
    }

    /// The tools of a snapshot that a model may call: those that can run now, are allowed, if need
    /// be by somebody who can be asked, and need nothing that isn't granted. Sorted by name.
    pub fn offered<'s>(&self, tools: &'s Snapshot) -> Vec<&'s ToolDefinition> {
        let callable = tools.entries().filter(|entry| self.terms.let_call(entry));
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
        self.terms.left_running.count()
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

    /// The same, and an error where a call ended the batch, as [`on_failure`](Self::on_failure) and
    /// [`on_block`](Self::on_block) have it.
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
        let Terms { on_failure, on_block, .. } = *self.terms;
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
        batch::run(tools.clone(), Arc::clone(&self.terms), batch.into(), Vec::new())
    }

    async fn dispatch_now(&self, batch: Batch) -> Vec<ToolExecution> {
        let tools = self.registry.snapshot();
        let done = self.dispatch_on(&tools, batch).await;
        // A tool that was taken away meanwhile was kept for this alone, and its destructor is foreign code.
        let_go(tools);
        done
    }

    /// The same terms for another run on these tools: with a memo of its own, and only these tools
    /// approved of, each by whom.
    pub(crate) fn for_run(
        &self,
        registry: Registry,
        run: RunId,
        approved: BTreeMap<String, String>,
    ) -> Self {
        Self { registry, terms: Arc::new(self.terms.for_run(run, approved)) }
    }

    /// The tools that somebody has approved of for the rest of the run, and who.
    pub(crate) fn approved(&self, run: RunId) -> BTreeMap<String, String> {
        self.terms.approvals.approved(run)
    }

    /// Tells what hides secrets of the tools that a model is offered, and of the calls that it made
    /// before.
    pub(crate) fn look_out<'a>(&self, tools: &Snapshot, calls: impl Iterator<Item = &'a ToolCall>) {
        if let Some(redactor) = self.terms.redactor_of(tools) {
            calls.for_each(|call| redactor.see(call));
        }
    }

    /// Takes the secrets out of a text.
    pub(crate) fn hide(&self, text: &mut String) {
        if self.terms.redactor.is_needed() {
            self.terms.redactor.hide(text);
        }
    }

    /// Takes the secrets out of what somebody else's calls gave.
    pub(crate) fn hide_in_result(&self, execution: &mut ToolExecution) {
        if self.terms.redactor.is_needed() {
            self.terms.redactor.hide_in_result(execution);
        }
    }

    /// Takes the secrets out of a call, for whoever prints it.
    pub(crate) fn hide_in_call(&self, call: &mut ToolCall) {
        if self.terms.redactor.is_needed() {
            self.terms.redactor.hide_in_call(call);
        }
    }

    /// Takes the secrets out of what a tool would be given, for whoever is shown it.
    pub(crate) fn hide_in_arguments(&self, tool: &str, arguments: &mut Value) {
        if self.terms.redactor.is_needed() {
            self.terms.redactor.hide_in_arguments(tool, arguments);
        }
    }

    /// Whether somebody watches.
    pub(crate) fn is_watched(&self) -> bool {
        !self.terms.observers.is_empty()
    }

    /// Tells those who watch this dispatcher of something that happens around it.
    pub(crate) fn tell<K: Into<EventKind>>(&self, origin: &Origin, kind: impl FnOnce() -> K) {
        let Terms { observers, redactor, clock, .. } = self.terms.as_ref();
        let redactor = redactor.is_needed().then_some(redactor);
        observers.tell(redactor, || Event::new(origin.clone(), clock.now(), kind()));
    }

    /// Tells them of the end of a call that somebody else ran.
    pub(crate) fn tell_end(&self, origin: &Origin, execution: &ToolExecution) {
        if !self.terms.observers.is_empty() {
            ending(execution).for_each(|event| self.tell(origin, || event));
        }
    }

    /// What became of a call that wasn't run here.
    pub(crate) fn unrun(&self, call: ToolCall, result: ToolResult) -> ToolExecution {
        let mut execution = ToolExecution::new(call, result);
        execution.started = self.terms.clock.now();
        execution
    }

    fn terms_mut(&mut self) -> &mut Terms {
        Arc::make_mut(&mut self.terms)
    }
}

#[async_trait]
impl Dispatch for Dispatcher {
    async fn dispatch(&self, batch: Batch) -> Vec<ToolExecution> {
        self.dispatch_now(batch).await
    }
}
