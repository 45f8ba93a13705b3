//! Takes the calls of one reply and gives exactly one result for each.
//!
//! Nothing here knows which model asked or what is done with the results.

mod answer;
mod approve;
mod concurrency;
mod intercept;
mod invoke;
mod memo;
mod plan;
mod policy;
mod run;

use std::sync::Arc;

pub use approve::{Approval, ApprovalRequest, Approver};
pub use concurrency::Concurrency;
pub use intercept::{Before, Interceptor};
pub use invoke::invoke;
pub use policy::Permissions;

use crate::event::{Observers, ToolExecution};
use crate::message::ToolCall;
use crate::registry::{Entry, Registry, Snapshot};
use crate::tool::{Extensions, Permission, ToolDefinition};
use approve::Approvals;
use concurrency::Places;
use intercept::Interceptors;
use memo::Memo;
use policy::{Granted, OUTPUT_LIMIT, is_granted};

/// Runs calls on the tools of a registry.
///
/// Every call gets one result, in the order of the calls, whatever its tool does: an unknown
/// name, wrong arguments, an error, a panic and a timeout are all answered. The calls of one reply
/// run in parallel, but for those of a `sequential` tool. Dropping the future stops those that
/// still run.
///
/// Each call runs in a task of its own, also where there is but one. So a tool sees no
/// `task_local!` of whoever dispatches it: [`extensions`](Self::extensions) are
/// what it is given. A tool that holds its thread up past its timeout can't be stopped; it is
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
    terms: Terms,
}

/// What calls run under; one clone of it goes with each.
#[derive(Clone, Debug)]
struct Terms {
    observers: Observers,
    interceptors: Interceptors,
    granted: Arc<Granted>,
    permissions: Permissions,
    approvals: Approvals,
    memo: Memo,
    places: Places,
    extensions: Extensions,
    output_limit: usize,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            observers: Observers::default(),
            interceptors: Interceptors::default(),
            granted: Arc::default(),
            permissions: Permissions::default(),
            approvals: Approvals::default(),
            memo: Memo::default(),
            places: Places::default(),
            extensions: Extensions::default(),
            output_limit: OUTPUT_LIMIT,
        }
    }
}

impl Terms {
    /// Whether a model may call this tool: it is allowed, if need be by somebody who can be asked,
    /// and needs nothing that isn't granted.
    fn let_call(&self, entry: &Entry) -> bool {
        let may_run = match self.permissions.of_tool(entry) {
            Permission::Allow => true,
            Permission::Ask => self.approvals.can_ask() || self.permissions.looks_at_arguments(),
            Permission::Deny => false,
        };
        may_run && is_granted(entry.definition(), &self.granted).is_ok()
    }
}

impl Dispatcher {
    /// A dispatcher for these tools.
    pub fn new(registry: Registry) -> Self {
        Self { registry, terms: Terms::default() }
    }

    /// Tells these observers of each call that starts or finishes, at once and in its task.
    #[must_use]
    pub fn observers(mut self, observers: Observers) -> Self {
        self.terms.observers = observers;
        self
    }

    /// Has this see each call before it runs, and what became of it; behind those added before.
    #[must_use]
    pub fn interceptor(self, interceptor: impl Interceptor + 'static) -> Self {
        self.shared_interceptor(Arc::new(interceptor))
    }

    pub(crate) fn shared_interceptor(mut self, interceptor: Arc<dyn Interceptor>) -> Self {
        self.terms.interceptors.add(interceptor);
        self
    }

    /// Lets tools use what they declare by `requires("…")`, such as `filesystem`; a tool that needs
    /// more is neither offered nor run.
    #[must_use]
    pub fn grant<C: Into<String>>(mut self, capabilities: impl IntoIterator<Item = C>) -> Self {
        let more = capabilities.into_iter().map(Into::into);
        Arc::make_mut(&mut self.terms.granted).extend(more);
        self
    }

    /// Says which tools may run, other than what they say of themselves.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.terms.permissions = permissions;
        self
    }

    /// Has this decide on calls of tools of `permission = "ask"`. Where nobody does, they don't run.
    #[must_use]
    pub fn approver(self, approver: impl Approver + 'static) -> Self {
        self.shared_approver(Arc::new(approver))
    }

    pub(crate) fn shared_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.terms.approvals = Approvals::by(approver);
        self
    }

    /// Limits how many calls run at once; as many as there are unless set.
    #[must_use]
    pub fn concurrency(mut self, limits: Concurrency) -> Self {
        self.terms.places = Places::of(limits);
        self
    }

    /// Tells the model at most this many bytes of an output, its head and its tail; 100,000 unless
    /// set. The rest is in [`ToolExecution::full_text`].
    #[must_use]
    pub fn output_limit(mut self, bytes: usize) -> Self {
        self.terms.output_limit = bytes;
        self
    }

    /// Gives tools these values, which they find by their type in
    /// [`ToolContext::get`](crate::ToolContext::get).
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.terms.extensions = extensions;
        self
    }

    /// The tools of a snapshot that a model may call: those that can run now, are allowed, if need
    /// be by somebody who can be asked, and need nothing that isn't granted. Sorted by name.
    pub fn offered<'s>(&self, tools: &'s Snapshot) -> Vec<&'s ToolDefinition> {
        let callable = tools.entries().filter(|entry| self.terms.let_call(entry));
        let available = callable.filter(|entry| entry.availability().is_available());
        available.map(Entry::definition).collect()
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
        self.dispatch_on(&self.registry.snapshot(), calls).await
    }

    /// Runs the calls of one reply on the very tools that the model was offered.
    ///
    /// # Panics
    /// Outside a tokio runtime, as [`dispatch`](Self::dispatch).
    pub async fn dispatch_on(&self, tools: &Snapshot, calls: Vec<ToolCall>) -> Vec<ToolExecution> {
        run::all(tools, &self.terms, calls).await
    }
}
