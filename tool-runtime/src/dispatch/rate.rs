//! How often calls may begin.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as Queue;
use tokio::time::{Instant, sleep};

use super::policy::Window;
use crate::registry::Entry;
use crate::tool::RateLimit;

/// How often calls may begin: of all tools, of one provider's, of one. A tool's own
/// `rate_limit = "10/min"` counts unless something is said of it here.
///
/// Never more than allowed begin in any span of that length, wherever it starts: there is no bucket of
/// tokens, which lets nearly twice as many through in the span after a pause. A call waits for its
/// turn after everything that could refuse it, in the order in which it came, and within the time of
/// its batch; its tool's timeout begins when it runs. Each attempt counts. All calls of a dispatcher
/// and its clones count, over all runs of an agent.
///
/// ```
/// use tool_runtime::dispatch::RateLimits;
/// use tool_runtime::{Dispatcher, Policy, RateLimit, Registry};
///
/// let limits = RateLimits::default()
///     .all(RateLimit::per_second(20))
///     .provider("github", RateLimit::per_hour(5_000))
///     .tool("send_mail", RateLimit::per_minute(2));
/// let dispatcher = Dispatcher::new(Registry::new()).policy(Policy::new().rate_limits(limits));
/// # let _ = dispatcher;
/// ```
#[derive(Clone, Debug, Default)]
pub struct RateLimits {
    all: Option<RateLimit>,
    tools: HashMap<String, RateLimit>,
    providers: HashMap<String, RateLimit>,
}

impl RateLimits {
    /// At most so many calls.
    #[must_use]
    pub fn all(mut self, limit: RateLimit) -> Self {
        self.all = Some(limit);
        self
    }

    /// At most so many of the tools together that [go by](crate::registry#what-names-mean) this name.
    /// Where a tool is limited by its full name, that counts alone.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, limit: RateLimit) -> Self {
        self.tools.insert(name.into(), limit);
        self
    }

    /// At most so many of the tools of a provider together.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>, limit: RateLimit) -> Self {
        self.providers.insert(name.into(), limit);
        self
    }
}

type Declared = (RateLimit, Arc<Limiter>);

/// The turns that calls wait for; clones share them.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    is_set: bool,
    begun: Instant,
    all: Option<Arc<Limiter>>,
    providers: Arc<HashMap<String, Arc<Limiter>>>,
    tools: Arc<HashMap<String, Arc<Limiter>>>,
    /// Of tools that limit themselves, by their full names, from their first call on.
    declared: Arc<Mutex<HashMap<String, Declared>>>,
}

#[derive(Debug)]
struct Limiter {
    /// Only the first in it looks at the window, until it may begin.
    queue: Queue<()>,
    window: Mutex<Window>,
}

impl Rates {
    pub(super) fn of(limits: RateLimits) -> Self {
        let of_each = |limits: HashMap<String, RateLimit>| {
            let limiters = limits.into_iter().map(|(name, limit)| (name, Limiter::new(limit)));
            Arc::new(limiters.collect())
        };
        Self {
            is_set: true,
            begun: Instant::now(),
            all: limits.all.map(Limiter::new),
            providers: of_each(limits.providers),
            tools: of_each(limits.tools),
            declared: Arc::default(),
        }
    }

    /// Whether calls of this tool may have to wait.
    #[inline]
    pub(super) fn limit(&self, entry: &Entry) -> bool {
        self.is_set || entry.definition().rate_limit.is_some()
    }

    /// Waits until a call of this tool may begin, and counts it.
    ///
    /// The narrowest first, so that a call that waits for its tool keeps nobody else waiting. Whoever is
    /// first in a queue waits for nothing but time and wider queues, so all get on.
    pub(super) async fn turn(&self, entry: &Entry) -> Turn {
        let of_provider = entry.provider().and_then(|name| self.providers.get(name).cloned());
        let limiters: Vec<_> =
            [self.of_tool(entry), of_provider, self.all.clone()].into_iter().flatten().collect();
        let mut first_in_line = Vec::with_capacity(limiters.len());
        for limiter in &limiters {
            first_in_line.push(limiter.queue.lock().await);
            loop {
                let wait = limiter.window().wait(self.begun.elapsed());
                let Some(wait) = wait else { break };
                sleep(wait).await;
            }
        }
        let at = self.begun.elapsed();
        for limiter in &limiters {
            limiter.window().note(at);
        }
        drop(first_in_line);
        Turn { limiters, at }
    }

    /// The call begins only now, and counts from now on; unless its turn was so long ago that others have had it since.
    pub(super) fn put_off(&self, turn: &mut Turn) -> bool {
        // All at once, and always in this order.
        let mut windows: Vec<_> = turn.limiters.iter().map(|limiter| limiter.window()).collect();
        let now = self.begun.elapsed();
        let holds = windows.iter().all(|window| window.holds(turn.at, now));
        if holds {
            windows.iter_mut().for_each(|window| window.put_off(turn.at, now));
            turn.at = now;
        }
        holds
    }

    fn of_tool(&self, entry: &Entry) -> Option<Arc<Limiter>> {
        if let Some(limiter) = entry.definition().names().find_map(|name| self.tools.get(name)) {
            return Some(Arc::clone(limiter));
        }
        let limit = entry.definition().rate_limit?;
        let mut declared = lock(&self.declared);
        if let Some((known, limiter)) = declared.get(entry.full_name())
            && *known == limit
        {
            return Some(Arc::clone(limiter));
        }
        let limiter = Limiter::new(limit);
        declared.insert(entry.full_name().to_owned(), (limit, Arc::clone(&limiter)));
        Some(limiter)
    }
}

impl Default for Rates {
    fn default() -> Self {
        let mut rates = Self::of(RateLimits::default());
        rates.is_set = false;
        rates
    }
}

impl Limiter {
    fn new(limit: RateLimit) -> Arc<Self> {
        Arc::new(Self { queue: Queue::new(()), window: Mutex::new(Window::new(limit)) })
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        lock(&self.window)
    }
}

/// A call's turn, which is given back unless the call begins.
#[derive(Debug, Default)]
pub(super) struct Turn {
    limiters: Vec<Arc<Limiter>>,
    at: Duration,
}

impl Turn {
    /// The call begins.
    pub(super) fn take(mut self) {
        self.limiters.clear();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        for limiter in &self.limiters {
            limiter.window().forget(self.at);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
