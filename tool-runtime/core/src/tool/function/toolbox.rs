//! Several tools that share one value.

use std::sync::Arc;

use crate::tool::function::Function;

/// A value whose methods are tools. `#[tool]` on an `impl` block implements it.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use tool_runtime::{tool, tools};
///
/// struct Counter(AtomicU32);
///
/// #[tool]
/// impl Counter {
///     /// Increments the counter.
///     #[tool(effect = "write")]
///     async fn increment(&self) -> u32 {
///         self.0.fetch_add(1, Ordering::Relaxed) + 1
///     }
///
///     /// Returns the count.
///     #[tool(effect = "read")]
///     async fn count(&self) -> u32 {
///         self.0.load(Ordering::Relaxed)
///     }
/// }
///
/// let tools = tools![..Counter(AtomicU32::new(0))];
/// assert_eq!(tools.into_iter().count(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a toolbox",
    label = "not a toolbox",
    note = "`..value` adds the tools of a value whose `impl` is under `#[tool]`; \
            it has to be `Send + Sync + 'static`; to join two lists of tools, use `.merge(…)`"
)]
pub trait Toolbox: Sized {
    /// Returns the tools of a shared value.
    fn from_shared(shared: Arc<Self>) -> Vec<Function>;

    /// Returns the tools of a value.
    fn into_tools(self) -> Vec<Function> {
        Self::from_shared(Arc::new(self))
    }
}

/// Lets the program keep access to the value.
#[diagnostic::do_not_recommend]
impl<T: Toolbox> Toolbox for Arc<T> {
    fn from_shared(shared: Arc<Self>) -> Vec<Function> {
        Self::clone(&shared).into_tools()
    }

    fn into_tools(self) -> Vec<Function> {
        T::from_shared(self)
    }
}
