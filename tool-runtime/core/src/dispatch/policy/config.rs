use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{DEFAULT_MAX_MEDIA_BYTES, DEFAULT_MAX_OUTPUT_BYTES, Granted, IntoStrings, Permissions};
use crate::dispatch::approval::approve::approve_function;
use crate::dispatch::approval::preview::Previewers;
use crate::dispatch::attempt::attempt_hook::AttemptHooks;
use crate::dispatch::call::intercept::{Interceptors, before_function};
use crate::dispatch::{
    Approval, ApprovalRequest, Approver, AttemptHook, Breakers, Concurrency, InterceptAction,
    InterceptContext, Interceptor, Previewer, RateLimits,
};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// Decides whether, when and how often the calls of an agent or a dispatcher run.
///
/// A policy is plain configuration. Build it once and give it to
/// [`Agent::policy`](crate::Agent::policy) or [`Dispatcher::policy`](crate::Dispatcher::policy),
/// which replaces every setting of an earlier policy.
///
/// A policy holds no counters. Each agent or dispatcher that is built from it counts calls,
/// concurrency slots, rate limits and provider failures on its own. Clones of one agent or
/// dispatcher share their counters, over all their runs. To share limits between conversations,
/// clone the agent rather than building a second one from the same policy.
///
/// `Debug` prints the number of secrets, approvers and interceptors, never their values.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::dispatch::{Concurrency, Permissions};
/// use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, tool, tools};
///
/// /// Deletes a file.
/// #[tool]
/// async fn delete_file(path: String) -> String {
///     format!("{path} is deleted")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let policy = Policy::new()
///     .permissions(Permissions::default().tool("delete_file", Permission::Deny))
///     .concurrency(Concurrency::default().max_calls(16))
///     .max_retries(2)
///     .batch_timeout(Duration::from_secs(60));
///
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![delete_file])?).policy(policy);
/// let call = ToolCall::new("1", "delete_file", r#"{"path": "notes.txt"}"#);
/// let executions = dispatcher.dispatch(vec![call]).await;
/// assert_eq!(executions[0].result.text, "`delete_file` is not allowed here.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Policy {
    pub(in crate::dispatch) permissions: Permissions,
    pub(in crate::dispatch) approver: Option<Arc<dyn Approver>>,
    pub(in crate::dispatch) previewers: Previewers,
    pub(in crate::dispatch) interceptors: Interceptors,
    pub(in crate::dispatch) attempt_hooks: AttemptHooks,
    pub(in crate::dispatch) granted: Granted,
    pub(in crate::dispatch) concurrency: Option<Concurrency>,
    pub(in crate::dispatch) rate_limits: Option<RateLimits>,
    pub(in crate::dispatch) breakers: Option<Breakers>,
    pub(in crate::dispatch) max_retries: Option<u32>,
    pub(in crate::dispatch) batch_timeout: Option<Duration>,
    pub(in crate::dispatch) max_output_bytes: usize,
    pub(in crate::dispatch) max_media_bytes: usize,
    pub(in crate::dispatch) abort_on_failure: bool,
    pub(in crate::dispatch) abort_on_block: bool,
    pub(in crate::dispatch) secrets: Vec<String>,
}

impl Policy {
    /// Creates a policy without approver, grants or limits.
    ///
    /// Tools with `permission = "ask"` and tools that require a capability do not run. Only the
    /// retries and rate limits that tools declare apply.
    ///
    /// ```
    /// use tool_runtime::{Agent, Policy, ScriptedModel, Tools};
    ///
    /// let policy = Policy::new().max_retries(2);
    /// let agent = Agent::new(ScriptedModel::default(), Tools::new()).policy(policy);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            permissions: Permissions::default(),
            approver: None,
            previewers: Previewers::default(),
            interceptors: Interceptors::default(),
            attempt_hooks: AttemptHooks::default(),
            granted: Granted::default(),
            concurrency: None,
            rate_limits: None,
            breakers: None,
            max_retries: None,
            batch_timeout: None,
            max_output_bytes: DEFAULT_MAX_OUTPUT_BYTES,
            max_media_bytes: DEFAULT_MAX_MEDIA_BYTES,
            abort_on_failure: false,
            abort_on_block: false,
            secrets: Vec::new(),
        }
    }

    /// Sets the rules that override the permissions that tools declare.
    ///
    /// Default: each tool's own permission applies.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Sets the approver that decides on calls of tools with `permission = "ask"`.
    ///
    /// Default: none. Without an approver, such tools are neither offered to the model nor run.
    #[must_use]
    #[doc(alias = "approval")]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Sets a function that decides on calls of tools with `permission = "ask"`, instead of an
    /// [`Approver`].
    ///
    /// The future of the function can't borrow from the function. An `async` closure that uses a
    /// captured value borrows it, so clone the value for each request instead:
    /// `move |request| { let limit = Arc::clone(&limit); async move { … } }`.
    ///
    /// ```
    /// use tool_runtime::dispatch::Approval;
    /// use tool_runtime::{Dispatcher, Policy, Registry, tool, tools};
    ///
    /// /// Pays an amount.
    /// #[tool(permission = "ask")]
    /// async fn pay(amount: u32) -> String {
    ///     format!("{amount} paid")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let policy = Policy::new().approve_with(async |request| {
    ///     match request.arguments["amount"].as_u64() {
    ///         Some(0..=100) => Approval::Once,
    ///         _ => Approval::Deny("at most 100 may be paid".into()),
    ///     }
    /// });
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![pay])?).policy(policy);
    /// let execution = dispatcher.call("pay", serde_json::json!({ "amount": 5 })).await;
    /// assert_eq!(execution.result.text, "5 paid");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn approve_with<F, A>(self, approve: F) -> Self
    where
        F: Fn(ApprovalRequest) -> A + Send + Sync + 'static,
        A: Future<Output = Approval> + Send + 'static,
    {
        self.approver(approve_function(approve))
    }

    /// Adds a function that runs before each call, instead of an [`Interceptor`].
    ///
    /// ```
    /// use tool_runtime::dispatch::InterceptAction;
    /// use tool_runtime::{Dispatcher, Policy, Registry, tool, tools};
    ///
    /// /// Writes a file.
    /// #[tool]
    /// async fn write(path: String) {}
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let policy = Policy::new().before_call(|call, _| match call.name.as_str() {
    ///     "write" => InterceptAction::Block("writes are disabled".into()),
    ///     _ => InterceptAction::Run,
    /// });
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![write])?).policy(policy);
    /// let execution = dispatcher.call("write", serde_json::json!({ "path": "a.txt" })).await;
    /// assert_eq!(execution.result.text, "The call was blocked: writes are disabled");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn before_call(
        self,
        intercept: impl Fn(&mut ToolCall, &mut InterceptContext<'_>) -> InterceptAction
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.interceptor(before_function(intercept))
    }

    /// Adds a previewer, which shows the approver what calls would do.
    ///
    /// The first previewer that has a text for a call describes it.
    #[must_use]
    pub fn previewer(mut self, previewer: impl Previewer + 'static) -> Self {
        self.previewers.add(Arc::new(previewer));
        self
    }

    /// Adds an interceptor that runs before and after each call.
    ///
    /// Interceptors run before a call in the order in which they were added, and after it in the
    /// reverse order.
    #[must_use]
    pub fn interceptor(mut self, interceptor: impl Interceptor + 'static) -> Self {
        self.interceptors.add(Arc::new(interceptor));
        self
    }

    /// Adds a hook that runs before and after each attempt of a call, once the rest of the policy
    /// lets it run.
    ///
    /// Hooks run before an attempt in the order in which they were added, and after it in the
    /// reverse order. If the policy has a hook, the dispatcher validates all arguments itself, so
    /// that the hook sees exactly what runs.
    #[must_use]
    pub fn attempt_hook(mut self, hook: impl AttemptHook + 'static) -> Self {
        self.attempt_hooks.add(Arc::new(hook));
        self
    }

    /// Grants capabilities that tools declare by `requires("…")`, such as `filesystem`.
    ///
    /// A tool that requires a capability which is not granted is neither offered to the model nor
    /// run. Each call adds to the capabilities that were granted before.
    #[must_use]
    pub fn grant(mut self, capabilities: impl IntoStrings) -> Self {
        self.granted.extend(capabilities.into_strings());
        self
    }

    /// Limits how many calls run at the same time. Default: unlimited.
    #[must_use]
    #[doc(alias = "limits")]
    pub fn concurrency(mut self, limits: Concurrency) -> Self {
        self.concurrency = Some(limits);
        self
    }

    /// Limits how often calls may start.
    ///
    /// Default: unlimited, except for tools that declare a `rate_limit`.
    #[must_use]
    #[doc(alias = "limits")]
    pub fn rate_limits(mut self, limits: RateLimits) -> Self {
        self.rate_limits = Some(limits);
        self
    }

    /// Sets the circuit breakers, which block calls to tool providers that fail repeatedly.
    ///
    /// Default: none.
    #[must_use]
    pub fn breakers(mut self, breakers: Breakers) -> Self {
        self.breakers = Some(breakers);
        self
    }

    /// Limits the number of retries of a call to at most `retries`.
    ///
    /// The limit lowers what a tool declares by `max_retries`; it never adds retries. With 0, every
    /// call has a single attempt. Default: no limit.
    #[must_use]
    #[doc(alias = "retries")]
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = Some(retries);
        self
    }

    /// Limits the time that all calls of one reply may take together. Default: unlimited.
    ///
    /// The dispatcher stops the calls that have no result by then and reports a timeout to the
    /// model; an agent's run continues. [`Agent::run_timeout`](crate::Agent::run_timeout) ends the
    /// run instead.
    #[must_use]
    pub fn batch_timeout(mut self, timeout: Duration) -> Self {
        self.batch_timeout = Some(timeout);
        self
    }

    /// Limits the size of the text of an output that is sent to the model, in bytes. Default:
    /// 100,000. The texts of all parts share the limit; images and other data have
    /// [their own](Self::max_media_bytes).
    ///
    /// If the text is longer, the model receives its head and tail. The complete text is kept in
    /// [`ToolExecution::full_text`](crate::ToolExecution::full_text), and so in events and logs.
    #[must_use]
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.max_output_bytes = bytes;
        self
    }

    /// Limits the size of the images, audio and files of an output together, in bytes before they
    /// are encoded as base64. Default: 20,000,000.
    ///
    /// The model receives a note in the place of each one that does not fit.
    #[must_use]
    pub fn max_media_bytes(mut self, bytes: usize) -> Self {
        self.max_media_bytes = bytes;
        self
    }

    /// Aborts the batch, and an agent's run, if a call fails. By default, the other calls run, and
    /// the model receives every result.
    ///
    /// Calls that have not started are cancelled. Calls that have started finish: stopping them
    /// would leave half-done work. Unknown tool names and invalid arguments are not failures of a
    /// tool: the model receives them as results and can correct its calls.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, tool, tools};
    ///
    /// /// Fails.
    /// #[tool(sequential)]
    /// async fn fail() -> Result<(), &'static str> {
    ///     Err("the disk is full")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![fail])?)
    ///     .policy(Policy::new().abort_on_failure());
    /// let calls = ["1", "2"].map(|id| ToolCall::new(id, "fail", "{}"));
    /// let aborted = dispatcher.try_dispatch(calls.into()).await.unwrap_err();
    /// assert_eq!(aborted.index, 0);
    /// assert_eq!(aborted.executions[1].attempts, 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn abort_on_failure(mut self) -> Self {
        self.abort_on_failure = true;
        self
    }

    /// Aborts the batch, and an agent's run, if a call is blocked, in the same way as
    /// [`abort_on_failure`](Self::abort_on_failure).
    ///
    /// A call is blocked by an interceptor, a missing capability, a permission, an approver, an
    /// attempt hook, a circuit breaker, a rate limit that leaves no time, or the limit of nested
    /// calls: see [`BlockReason`](crate::event::BlockReason). A call that awaits approval does not
    /// count.
    #[must_use]
    pub fn abort_on_block(mut self) -> Self {
        self.abort_on_block = true;
        self
    }

    /// Adds values, such as keys and passwords, to redact in results and events.
    ///
    /// Wherever one of these values occurs in the output of a tool, in an event or in a stream, it
    /// is replaced by `[redacted]`, for observers and for the model alike. It is found in [common
    /// encodings][guide] as well, such as JSON and base64.
    ///
    /// [guide]: https://docs.rs/tool-runtime/latest/tool_runtime/guide/observability/index.html#encodings
    ///
    /// Arguments that a tool marks, by `#[arg(secret)]` or by `writeOnly: true` in its schema, are
    /// redacted without being listed here. Values of four bytes or more are also redacted wherever
    /// an output repeats them.
    ///
    /// Tools, interceptors and approvers receive the original values. The transcript keeps the
    /// model's arguments byte for byte, since the provider expects them back unchanged. A call or
    /// an execution that the program prints itself is not redacted either.
    ///
    /// ```
    /// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, tool, tools};
    ///
    /// /// Logs in.
    /// #[tool(effect = "read")]
    /// async fn login(user: String, #[arg(secret)] password: String) -> String {
    ///     format!("{user} logged in with {password} and the key k3y-0f-th3-h0us3")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::RegistryError> {
    /// let policy = Policy::new().secrets(["k3y-0f-th3-h0us3"]);
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![login])?).policy(policy);
    /// let call = ToolCall::new("1", "login", r#"{"user": "ada", "password": "hunter22"}"#);
    /// let executions = dispatcher.dispatch(vec![call]).await;
    /// let text = "ada logged in with [redacted] and the key [redacted]";
    /// assert_eq!(executions[0].result.text, text);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[doc(alias = "redact")]
    pub fn secrets(mut self, secrets: impl IntoStrings) -> Self {
        self.secrets.extend(secrets.into_strings());
        self
    }

    /// Returns the number of retries that a call of this tool may have.
    pub(in crate::dispatch) fn max_retries_of(&self, tool: &ToolDefinition) -> u32 {
        self.max_retries.map_or(tool.max_retries, |most| most.min(tool.max_retries))
    }

    /// Whether this policy has no interceptors, attempt hooks, permissions, concurrency limits or
    /// breakers, so that a call of a tool that declares nothing can skip these stages.
    pub(in crate::dispatch) fn is_plain(&self) -> bool {
        self.interceptors.is_empty()
            && self.attempt_hooks.is_empty()
            && self.permissions.is_empty()
            && self.concurrency.is_none()
            && self.breakers.is_none()
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("permissions", &self.permissions)
            .field("has_approver", &self.approver.is_some())
            .field("previewers", &self.previewers)
            .field("interceptors", &self.interceptors)
            .field("attempt_hooks", &self.attempt_hooks)
            .field("granted", &self.granted)
            .field("concurrency", &self.concurrency)
            .field("rate_limits", &self.rate_limits)
            .field("breakers", &self.breakers)
            .field("max_retries", &self.max_retries)
            .field("batch_timeout", &self.batch_timeout)
            .field("max_output_bytes", &self.max_output_bytes)
            .field("max_media_bytes", &self.max_media_bytes)
            .field("abort_on_failure", &self.abort_on_failure)
            .field("abort_on_block", &self.abort_on_block)
            .field("secrets", &self.secrets.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Policy;

    #[test]
    fn debug_output_contains_no_secret() {
        let policy = Policy::new().secrets(["k3y-0f-th3-h0us3", "hunter22"]);
        let debug = format!("{policy:?}");
        assert!(debug.contains("secrets: 2"), "{debug}");
        assert!(!debug.contains("k3y") && !debug.contains("hunter"), "{debug}");
    }
}
