use std::fmt;
use std::sync::Arc;

use crate::registry::{Entry, Snapshot};

/// The tools that a model can call in its run.
///
/// The dispatcher provides it as an extension of each call, so that a tool which finds others
/// returns only tools that its caller can call: those of the agent's view that the policy allows
/// and whose required capabilities are granted.
///
/// ```
/// use tool_runtime::dispatch::Dispatcher;
/// use tool_runtime::registry::CallableTools;
/// use tool_runtime::{Registry, ToolCall, ToolContext, tool, tools};
///
/// /// Counts the tools.
/// #[tool(effect = "read")]
/// async fn count(ctx: &ToolContext) -> usize {
///     ctx.get::<CallableTools>().map_or(0, |tools| tools.entries().count())
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
#[derive(Clone)]
pub struct CallableTools {
    tools: Snapshot,
    is_callable: Arc<dyn Fn(&Entry) -> bool + Send + Sync>,
}

impl CallableTools {
    /// Creates the set of the tools for which `is_callable` returns `true`.
    ///
    /// ```
    /// use tool_runtime::registry::CallableTools;
    /// use tool_runtime::{Registry, tool, tools};
    ///
    /// /// Returns the time.
    /// #[tool(effect = "read")]
    /// async fn now() -> &'static str {
    ///     "noon"
    /// }
    ///
    /// /// Deletes everything.
    /// #[tool]
    /// async fn clear() {}
    ///
    /// let registry = Registry::try_from(tools![now, clear])?;
    /// let tools = registry.snapshot();
    /// let callable = CallableTools::new(tools, |entry| entry.full_name() != "clear");
    /// assert_eq!(callable.entries().count(), 1);
    /// # Ok::<(), tool_runtime::RegistryError>(())
    /// ```
    pub fn new(
        tools: Snapshot,
        is_callable: impl Fn(&Entry) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { tools, is_callable: Arc::new(is_callable) }
    }

    /// Returns the tools that can be called and are available, sorted by name. It queries the
    /// [availability](crate::Tool::availability) of each tool.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.permitted().filter(|entry| entry.availability().is_available())
    }

    /// Returns the tools that can be called, whether they are available or not.
    pub(crate) fn permitted(&self) -> impl Iterator<Item = &Entry> {
        self.tools.entries().filter(|entry| (self.is_callable)(entry))
    }
}

impl fmt::Debug for CallableTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallableTools").field(&self.tools).finish()
    }
}
