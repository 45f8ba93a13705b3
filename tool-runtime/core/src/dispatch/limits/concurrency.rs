//! Concurrency limits: how many calls may run at the same time.

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::registry::Entry;

/// Limits how many calls may run at the same time: of all tools, of one provider, or of one tool.
///
/// Default: no limits. A call waits for its permits in the order of arrival, after every check that
/// could refuse it. The timeout of its tool starts once it has them. A dispatcher and its clones
/// share their permits, over all runs of an agent.
///
/// A tool that calls other tools keeps its permits meanwhile. The nested calls take none of the
/// permits that it holds, and do not count toward the limit for all calls. If two limited tools
/// call each other, they can block each other: set a [deadline](crate::Policy::batch_timeout) for
/// batches.
///
/// A `blocking` tool that exceeds its timeout releases its permits although its thread still runs:
/// see [`detached_threads`](crate::Dispatcher::detached_threads).
///
/// ```
/// use tool_runtime::dispatch::Concurrency;
/// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, tool, tools};
///
/// /// Renders a page.
/// #[tool(effect = "read")]
/// async fn render(page: u32) -> String {
///     format!("page {page}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let limits = Concurrency::default()
///     .max_calls(16)
///     .max_provider_calls("github", 4)
///     .max_tool_calls("render", 1);
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![render])?)
///     .policy(Policy::new().concurrency(limits));
///
/// // The second page is rendered after the first.
/// let calls = ["1", "2"]
///     .map(|page| ToolCall::new(page, "render", format!(r#"{{"page": {page}}}"#)));
/// let executions = dispatcher.dispatch(calls.into()).await;
/// assert_eq!(executions[1].result.text, "page 2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Concurrency {
    all: Option<usize>,
    tools: HashMap<String, usize>,
    providers: HashMap<String, usize>,
}

impl Concurrency {
    /// Limits the calls of all tools together to `max`, and to one at least.
    #[must_use]
    pub fn max_calls(mut self, max: usize) -> Self {
        self.all = Some(max);
        self
    }

    /// Limits all tools with this [name](crate::registry#tool-names) together.
    ///
    /// If there is a limit for the full name of a tool, only that limit applies to the tool.
    #[must_use]
    pub fn max_tool_calls(mut self, name: impl Into<String>, max: usize) -> Self {
        self.tools.insert(name.into(), max);
        self
    }

    /// Limits all tools of a tool provider together.
    #[must_use]
    pub fn max_provider_calls(mut self, name: impl Into<String>, max: usize) -> Self {
        self.providers.insert(name.into(), max);
        self
    }

    /// Returns the names in the limits of single tools and of single providers.
    pub(crate) fn names(&self) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
        (self.tools.keys().map(String::as_str), self.providers.keys().map(String::as_str))
    }
}

/// The semaphores of a dispatcher's concurrency limits; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConcurrencyLimits(Option<Arc<Semaphores>>);

#[derive(Debug)]
struct Semaphores {
    all: Option<Semaphore>,
    tools: HashMap<String, Semaphore>,
    providers: HashMap<String, Semaphore>,
}

impl ConcurrencyLimits {
    pub(crate) fn new(limits: Concurrency) -> Self {
        // With no permit at all every call would wait forever.
        let semaphore = |max: usize| Semaphore::new(max.clamp(1, Semaphore::MAX_PERMITS));
        let by_name = |limits: HashMap<String, usize>| {
            limits.into_iter().map(|(name, max)| (name, semaphore(max))).collect()
        };
        Self(Some(Arc::new(Semaphores {
            all: limits.all.map(semaphore),
            tools: by_name(limits.tools),
            providers: by_name(limits.providers),
        })))
    }

    pub(crate) fn are_set(&self) -> bool {
        self.0.is_some()
    }

    /// Waits for the permits that a call of this tool needs. `outer` are the tools whose calls the
    /// call is nested in.
    ///
    /// The narrowest limit comes first, so that a call which waits for its tool blocks no other
    /// tool. The order is always the same, so that two calls never wait for each other.
    pub(crate) async fn acquire<'p>(
        &'p self,
        entry: &Entry,
        outer: &[&Entry],
    ) -> [Option<SemaphorePermit<'p>>; 3] {
        let Some(semaphores) = &self.0 else { return [None, None, None] };
        let [tool, provider, all] = semaphores.for_tool(entry);
        // An outer call may hold the permit that a nested call would wait for until both are done.
        let is_held = |semaphore: &Semaphore| {
            let mut outer_semaphores =
                outer.iter().flat_map(|outer| semaphores.for_tool(outer)).flatten();
            outer_semaphores.any(|other| ptr::eq(other, semaphore))
        };
        let permit = async |semaphore: Option<&'p Semaphore>| {
            // Fails only for a closed semaphore, and these are never closed.
            semaphore.filter(|semaphore| !is_held(semaphore))?.acquire().await.ok()
        };
        [permit(tool).await, permit(provider).await, permit(all).await]
    }
}

impl Semaphores {
    /// Returns the semaphores that calls of this tool need permits of.
    fn for_tool(&self, entry: &Entry) -> [Option<&Semaphore>; 3] {
        let tool = entry.definition().names().find_map(|name| self.tools.get(name));
        let provider = entry.provider().and_then(|name| self.providers.get(name));
        [tool, provider, self.all.as_ref()]
    }
}
