//! How many calls run at once.

use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::registry::Entry;

/// How many calls may run at once: of all tools, of one, of one provider's. What isn't limited isn't.
///
/// A call waits for its place after everything that could refuse it, and in the order in which it
/// came; a tool's timeout begins when it has one. All calls of a dispatcher and its clones count, so
/// one that is shared limits all that share it. A tool that calls tools holds its place meanwhile,
/// and they take none of those that it holds; nor do they count among all. Two limited tools that
/// call each other may wait for each other: give their batch a deadline. A `blocking` tool that is past
/// its time gives its place up though its thread is still at work: see
/// [`left_running`](crate::Dispatcher::left_running).
///
/// ```
/// use tool_runtime::dispatch::Concurrency;
/// use tool_runtime::{Dispatcher, Policy, Registry};
///
/// let limits = Concurrency::default().all(16).provider("github", 4).tool("render", 1);
/// let dispatcher = Dispatcher::new(Registry::new()).policy(Policy::new().concurrency(limits));
/// # let _ = dispatcher;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Concurrency {
    all: Option<usize>,
    tools: HashMap<String, usize>,
    providers: HashMap<String, usize>,
}

impl Concurrency {
    /// At most this many calls at once, and at least one.
    #[must_use]
    pub fn all(mut self, most: usize) -> Self {
        self.all = Some(most);
        self
    }

    /// At most this many of the tools together that [go by](crate::registry#what-names-mean) this name.
    /// Where a tool is limited by its full name, that counts alone.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, most: usize) -> Self {
        self.tools.insert(name.into(), most);
        self
    }

    /// At most this many of the tools of a provider together.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>, most: usize) -> Self {
        self.providers.insert(name.into(), most);
        self
    }
}

/// The places that calls wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Option<Arc<Limited>>);

#[derive(Debug)]
struct Limited {
    all: Option<Semaphore>,
    tools: HashMap<String, Semaphore>,
    providers: HashMap<String, Semaphore>,
}

impl Places {
    pub(super) fn of(limits: Concurrency) -> Self {
        // Without a single place every call would wait for ever.
        let places = |most: usize| Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        let named = |limits: HashMap<String, usize>| {
            limits.into_iter().map(|(name, most)| (name, places(most))).collect()
        };
        Self(Some(Arc::new(Limited {
            all: limits.all.map(places),
            tools: named(limits.tools),
            providers: named(limits.providers),
        })))
    }

    pub(super) fn are_limited(&self) -> bool {
        self.0.is_some()
    }

    /// Waits until the tool may run; it may for as long as the places are held.
    ///
    /// The narrowest first, so that a call that waits for its tool keeps none from others; always in
    /// this order, so that no two calls wait for each other.
    pub(super) async fn take<'p>(
        &'p self,
        entry: &Entry,
        around: &[&Entry],
    ) -> [Option<SemaphorePermit<'p>>; 3] {
        let Some(limited) = &self.0 else { return [None, None, None] };
        let [of_tool, of_provider, of_all] = limited.of(entry);
        // What a call within a call would wait for, the outer one may hold until this one is done.
        let is_held = |places: &Semaphore| {
            let mut held = around.iter().flat_map(|outer| limited.of(outer)).flatten();
            held.any(|held| ptr::eq(held, places))
        };
        let place = async |places: Option<&'p Semaphore>| {
            // Never closed.
            places.filter(|places| !is_held(places))?.acquire().await.ok()
        };
        [place(of_tool).await, place(of_provider).await, place(of_all).await]
    }
}

impl Limited {
    /// What calls of this tool take places of.
    fn of(&self, entry: &Entry) -> [Option<&Semaphore>; 3] {
        let of_tool = entry.definition().names().find_map(|name| self.tools.get(name));
        let of_provider = entry.provider().and_then(|name| self.providers.get(name));
        [of_tool, of_provider, self.all.as_ref()]
    }
}
