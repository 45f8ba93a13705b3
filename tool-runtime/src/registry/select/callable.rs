use std::fmt;
use std::sync::Arc;

use crate::registry::{Entry, Snapshot};

/// The tools that a model may call in its run, as a tool finds them in its context.
///
/// The dispatcher puts it there, so that a tool which looks for others finds those that its caller
/// may call: of the agent's view, allowed, with nothing needed that isn't granted.
///
/// ```
/// use tool_runtime::dispatch::Dispatcher;
/// use tool_runtime::registry::Callable;
/// use tool_runtime::{Registry, ToolCall, ToolContext, tool, tools};
///
/// /// Tells how many tools there are.
/// #[tool(effect = "read")]
/// async fn count(ctx: &ToolContext) -> usize {
///     ctx.get::<Callable>().map_or(0, |tools| tools.entries().count())
/// }
///
/// /// Deletes everything.
/// #[tool(permission = "deny")]
/// async fn clear() {}
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![clear, count])?);
/// let done = dispatcher.dispatch(vec![ToolCall::new("1", "count", "{}")]).await;
/// assert_eq!(done[0].result.text, "1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Callable {
    tools: Snapshot,
    may_call: Arc<dyn Fn(&Entry) -> bool + Send + Sync>,
}

impl Callable {
    /// Those of these tools for which `may_call` holds.
    pub fn new(tools: Snapshot, may_call: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Self {
        Self { tools, may_call: Arc::new(may_call) }
    }

    /// The tools that may be called and can run now, sorted by name. Each is asked.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.permitted().filter(|entry| entry.availability().is_available())
    }

    /// The tools that may be called, whether they can run now or not. None is asked.
    pub(crate) fn permitted(&self) -> impl Iterator<Item = &Entry> {
        self.tools.entries().filter(|entry| (self.may_call)(entry))
    }
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Callable").field(&self.tools).finish()
    }
}
