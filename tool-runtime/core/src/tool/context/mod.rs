mod background;
mod budget;
mod emit;
mod ending;
pub(crate) mod extensions;
mod internal;
pub(crate) mod metered_usage;
mod nested_observer;
mod run;
pub(crate) mod run_context;
mod secrets;
pub(crate) mod usage_meter;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::background::BackgroundChange;
pub use self::budget::TokenReservation;
pub(crate) use self::internal::ArgumentRecord;
use super::dispatch_contract::{Batch, BatchScope, Host};
use super::work::CallWork;
use super::work::end::EndCell;
use super::{
    Extensions, MeteredUsage, RequiredExtension, ToolDefinition, ToolError, ToolErrorKind,
    UsageMeter,
};
use crate::event::{EffectRecord, RunId, ToolExecution};
use crate::json::Fix;
use crate::message::{CallId, ToolCall, ToolResult};
use crate::tool::context::run_context::with_metadata;

/// The context of a call: information about the call, and what a tool can do besides its own work.
///
/// A function receives it as a parameter `ctx: &ToolContext`, at any position. The parameter is not
/// an argument, so the model does not see it. In a unit test, use `ToolContext::default()`.
///
/// Whatever a tool starts through its context ends with the call: [`spawn`](Self::spawn)ed tasks
/// are stopped when the tool returns, fails, times out or is cancelled.
///
/// ```
/// use tool_runtime::{Dispatcher, Registry, ToolCall, ToolContext, tool, tools};
///
/// /// Returns the id of the call.
/// #[tool(effect = "none")]
/// async fn call_id(ctx: &ToolContext) -> String {
///     ctx.call_id().to_string()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![call_id])?);
/// let executions = dispatcher.dispatch(vec![ToolCall::new("call_1", "call_id", "{}")]).await;
/// assert_eq!(executions[0].result.text, "call_1");
/// # Ok(())
/// # }
/// ```
pub struct ToolContext {
    call: ToolCall,
    host: Option<Arc<dyn Host>>,
    extensions: Extensions,
    /// The metadata of the run, if an interceptor changed it for this call.
    metadata: Option<Arc<Map<String, Value>>>,
    attempts: AtomicU32,
    /// Whether the tool refused its arguments before its own code ran.
    has_refused_arguments: AtomicBool,
    /// The end of the attempt, if there is no `work` that records it.
    end: EndCell,
    arguments: OnceLock<Box<ArgumentRecord>>,
    /// Created when it is first needed: most tools start no further work.
    work: OnceLock<Arc<CallWork>>,
}

impl ToolContext {
    /// Creates the context of a call outside of a dispatcher, such as in a test.
    ///
    /// ```
    /// use tool_runtime::{ToolCall, ToolContext, tool};
    ///
    /// /// Returns the id of the call.
    /// #[tool(effect = "none")]
    /// async fn call_id(ctx: &ToolContext) -> String {
    ///     ctx.call_id().to_string()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), std::convert::Infallible> {
    /// // A unit test calls the function itself.
    /// let ctx = ToolContext::new(ToolCall::new("call_1", "call_id", "{}"));
    /// assert_eq!(call_id(&ctx).await, "call_1");
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn new(call: ToolCall) -> Self {
        Self {
            call,
            host: None,
            extensions: Extensions::default(),
            metadata: None,
            attempts: AtomicU32::new(0),
            has_refused_arguments: AtomicBool::new(false),
            end: EndCell::default(),
            arguments: OnceLock::new(),
            work: OnceLock::new(),
        }
    }

    /// Creates the context of a call that `host` runs.
    #[inline]
    pub(crate) fn with_host(
        host: Arc<dyn Host>,
        call: ToolCall,
        work: OnceLock<Arc<CallWork>>,
    ) -> Self {
        Self { host: Some(host), work, ..Self::new(call) }
    }

    /// Sets the extensions that the tool can use.
    #[must_use]
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    /// Returns the extension of the type `T` or an error that names the type.
    ///
    /// The program provides extensions with [`Agent::extension`](crate::Agent::extension). Declare
    /// what a tool requires with `#[tool(extensions(T))]`, so that `Agent::check` reports a missing
    /// one at startup.
    ///
    /// # Errors
    /// [`ToolErrorKind::Unavailable`] if there is no extension of this type. The
    /// [source](ToolError::source) names the type for operators. The model only reads that the tool
    /// can't run.
    ///
    /// ```
    /// use tool_runtime::{Extensions, ToolContext, ToolError, tool};
    ///
    /// struct Stock(u32);
    ///
    /// /// Returns how many items are in stock.
    /// #[tool(effect = "read", extensions(Stock))]
    /// async fn in_stock(ctx: &ToolContext) -> Result<u32, ToolError> {
    ///     let Stock(count) = ctx.require()?;
    ///     Ok(*count)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let ctx = ToolContext::default().with_extensions(Extensions::default().with(Stock(7)));
    /// assert_eq!(in_stock(&ctx).await.unwrap(), 7);
    ///
    /// let error = in_stock(&ToolContext::default()).await.unwrap_err();
    /// assert!(error.source().unwrap().to_string().contains("Stock"));
    /// # }
    /// ```
    pub fn require<T: Send + Sync + 'static>(&self) -> Result<&T, ToolError> {
        self.get().ok_or_else(|| self.missing_extension(RequiredExtension::of::<T>()))
    }

    fn missing_extension(&self, required: RequiredExtension) -> ToolError {
        let name = self.tool_name();
        let text = format!("`{name}` can't run now. Go on without it.");
        let type_name = required.type_name();
        let cause = format!(
            "tool `{name}` requires the extension `{type_name}`, which is not set: add it with \
             `Agent::extension` or `Dispatcher::extension`, or a `Steering` with `Agent::steering`"
        );
        ToolError::new(ToolErrorKind::Unavailable, text).with_source(cause)
    }

    /// Returns the extension of the type `T`, if there is one.
    ///
    /// Use [`require`](Self::require) for an extension that the tool can't do without. A
    /// [`Steering`](crate::agent::Steering) is there only if the program called
    /// [`Agent::steering`](crate::Agent::steering).
    ///
    /// ```
    /// use tool_runtime::{Extensions, ToolContext};
    ///
    /// struct Locale(&'static str);
    ///
    /// let ctx = ToolContext::default().with_extensions(Extensions::default().with(Locale("nb")));
    /// assert_eq!(ctx.get::<Locale>().map_or("en", |locale| locale.0), "nb");
    /// ```
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.extensions.get().or_else(|| {
            let host = self.host.as_ref()?;
            host.scope().extensions.get().or_else(|| host.extensions().get())
        })
    }

    /// Returns the call as the model made it.
    pub(crate) fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the id of the call.
    pub fn call_id(&self) -> &CallId {
        &self.call.id
    }

    /// Returns the name under which the tool was called.
    pub fn tool_name(&self) -> &str {
        &self.call.name
    }

    /// Returns the repairs of the arguments, including those that the tool does not allow.
    pub fn fixes(&self) -> &[Fix] {
        self.arguments.get().map_or(&[], |record| record.fixes.as_slice())
    }

    /// Returns the number of the current attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed).max(1)
    }

    /// Returns a text that identifies this call: the same for each attempt and in each process that
    /// works on the call, and unique among calls. A call that was
    /// [suspended](crate::ToolError::suspended) has another one each time it is resumed.
    ///
    /// Pass it to a service as its idempotency key, so that a retry does not repeat the work.
    pub fn idempotency_key(&self) -> String {
        if let Some(key) = self.host.as_ref().and_then(|host| host.served_key()) {
            return key.to_owned();
        }
        let mut origin = self.run_context().origin().clone();
        if origin.run == RunId::default() {
            // Ids are not unique outside of a run.
            origin.run = self.work().substitute_run_id();
        }
        origin.call_key(self.call_id(), self.resumptions())
    }

    /// Spawns a task that runs beside the tool until the attempt ends.
    ///
    /// When the attempt ends, the task is stopped at its next `.await`, and the handle returns
    /// `None`.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    ///
    /// ```
    /// use tool_runtime::{ToolContext, ToolError, tool};
    ///
    /// /// Adds two numbers that are computed at the same time.
    /// #[tool(effect = "read")]
    /// async fn both(ctx: &ToolContext) -> Result<u32, ToolError> {
    ///     let (left, right) = (ctx.spawn(async { 1 }), ctx.spawn(async { 2 }));
    ///     Ok(left.await?.unwrap_or(0) + right.await?.unwrap_or(0))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// assert_eq!(both(&ToolContext::default()).await.unwrap(), 3);
    /// # }
    /// ```
    pub fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        self.work().spawn(self.batch_cancellation(), task)
    }

    /// Records an observed effect in the execution.
    ///
    /// The record is kept even if the call fails, unlike the effects of a
    /// [`ToolOutput`](crate::ToolOutput::with_effect).
    ///
    /// ```
    /// use tool_runtime::event::NetworkRequest;
    /// use tool_runtime::{ToolContext, tool};
    ///
    /// /// Deploys the service.
    /// #[tool(effect = "external")]
    /// async fn deploy(ctx: &ToolContext) {
    ///     ctx.record(NetworkRequest::new("POST", "https://ci.example/deploy").status(202));
    /// }
    /// ```
    pub fn record(&self, effect: impl Into<EffectRecord>) {
        let effect = effect.into();
        if let Some(meter) = self.scope().and_then(|scope| scope.usage_meter.as_ref()) {
            meter.add(MeteredUsage::of_effects([&effect]));
        }
        self.work().record(effect);
    }

    /// Records tokens and their cost.
    pub(crate) fn record_usage(&self, used: MeteredUsage) {
        used.into_effects().for_each(|effect| self.record(effect));
    }

    /// Returns the tools that the model can call now, sorted by name.
    ///
    /// These are the available tools of the agent's view that the policy allows and whose required
    /// capabilities are granted, so that a tool which finds others returns only such tools. Outside
    /// of a dispatcher there are none.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Registry, ToolCall, ToolContext, tool, tools};
    ///
    /// /// Counts the tools.
    /// #[tool(effect = "read")]
    /// async fn count(ctx: &ToolContext) -> usize {
    ///     ctx.callable_tools().len()
    /// }
    ///
    /// /// Deletes everything.
    /// #[tool(permission = "deny")]
    /// async fn clear() {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![clear, count])?);
    /// let executions = dispatcher.dispatch(vec![ToolCall::new("1", "count", "{}")]).await;
    /// assert_eq!(executions[0].result.text, "1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn callable_tools(&self) -> Vec<&ToolDefinition> {
        self.host.as_ref().map_or_else(Vec::new, |host| host.callable_tools())
    }

    /// Calls other tools of the same registry and returns one execution for each call, in order.
    ///
    /// The calls are subject to the same policy as calls of a model, and emit events that name this
    /// call as their parent. Each call gets a new id. Calls more than seven levels below the
    /// outermost call are denied.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    ///
    /// # Cancellation
    /// Dropping the future cancels the calls.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Registry, ToolCall, ToolContext, tool, tools};
    ///
    /// /// Doubles a number.
    /// #[tool(effect = "none")]
    /// async fn double(n: i64) -> i64 {
    ///     2 * n
    /// }
    ///
    /// /// Doubles a number by another tool.
    /// #[tool(effect = "none")]
    /// async fn delegate(ctx: &ToolContext) -> String {
    ///     let call = ToolCall::new("", "double", r#"{"n": 21}"#);
    ///     ctx.dispatch(vec![call]).await.remove(0).result.text
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![delegate, double])?);
    /// let executions = dispatcher.dispatch(vec![ToolCall::new("1", "delegate", "{}")]).await;
    /// assert_eq!(executions[0].result.text, "42");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn dispatch(&self, mut calls: Vec<ToolCall>) -> Vec<ToolExecution> {
        // The numbers begin again when a suspended call is resumed.
        let half = match self.resumptions() {
            0 => String::new(),
            resumptions => format!("+{resumptions}"),
        };
        for (call, number) in calls.iter_mut().zip(self.work().call_numbers()) {
            call.id = CallId::from(format!("{}{half}/{number}", self.call.id));
        }
        let Some(host) = &self.host else {
            let text = "There are no tools to call here.";
            let code = ToolErrorKind::NotFound.code();
            let not_found = |call: ToolCall| {
                let result = ToolResult::failure(&call, code, text);
                ToolExecution::new(call, result)
            };
            return calls.into_iter().map(not_found).collect();
        };
        let scope = host.scope();
        let meter = UsageMeter::nested_in(scope.usage_meter.as_ref());
        let batch = Batch {
            calls,
            origin: scope.origin.nested(&self.call.id),
            run_info: with_metadata(scope.run_info.as_ref(), self.metadata.as_ref()),
            transcript: scope.transcript.clone(),
            extensions: scope.extensions.clone(),
            observers: scope.batch_observers.clone(),
            timeout: self.deadline().map(|at| at.saturating_duration_since(Instant::now())),
            is_run_deadline: scope.is_run_deadline && self.deadline() == scope.deadline,
            cancellation: Some(self.cancellation()),
            usage_meter: Some(meter.clone()),
            caller: Some(Arc::clone(self.work())),
            ..Batch::default()
        };
        let nested = NestedUsage { meter, ctx: self };
        let executions = host.dispatch_within(&self.call, batch).await;
        // The executions record all usage of finished calls.
        nested.meter.take();
        let effects = executions.iter().flat_map(|execution| &execution.effects);
        nested.meter.add(MeteredUsage::of_effects(effects));
        executions
    }

    fn scope(&self) -> Option<&BatchScope> {
        self.host.as_ref().map(|host| host.scope())
    }

    fn batch_cancellation(&self) -> Option<&CancellationToken> {
        self.scope()?.cancellation.as_ref()
    }

    fn work(&self) -> &Arc<CallWork> {
        self.work.get_or_init(Arc::default)
    }
}

/// Charges the usage of nested calls to their caller, even if the caller is dropped before they
/// finish.
struct NestedUsage<'c> {
    meter: UsageMeter,
    ctx: &'c ToolContext,
}

impl Drop for NestedUsage<'_> {
    fn drop(&mut self) {
        self.ctx.record_usage(self.meter.take());
    }
}

/// Shares the work of the call, so that another thread can serve the same call.
impl Clone for ToolContext {
    fn clone(&self) -> Self {
        Self {
            call: self.call.clone(),
            host: self.host.clone(),
            extensions: self.extensions.clone(),
            metadata: self.metadata.clone(),
            attempts: AtomicU32::new(self.attempts()),
            has_refused_arguments: AtomicBool::new(self.has_refused_arguments()),
            end: EndCell::default(),
            arguments: self.arguments.clone(),
            work: OnceLock::from(Arc::clone(self.work())),
        }
    }
}

/// Omits the arguments, because they may contain secrets.
impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("call", &self.call.id)
            .field("tool", &self.call.name)
            .finish_non_exhaustive()
    }
}

impl Default for ToolContext {
    fn default() -> Self {
        Self::new(ToolCall::new("call", "tool", ""))
    }
}
