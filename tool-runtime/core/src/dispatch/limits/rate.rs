//! Rate limits: how often calls may start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::dispatch::limits::declared_limiters::DeclaredLimiters;
use crate::dispatch::limits::limiter::Limiter;
use crate::event::BlockReason;
use crate::registry::Entry;
use crate::tool::{RateLimit, ToolError, ToolErrorKind};

/// How long a call waits for its slot if neither the policy nor its tool has a limit.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);

/// Limits how often calls may start: of all tools, of one provider, or of one tool.
///
/// A tool's own `rate_limit = "10/min"` applies unless a limit for the tool is set here.
///
/// No span of the limit's length ever contains more starts than the limit, wherever the span
/// begins. There is no token bucket, which admits almost twice as many in the span after a pause. A
/// call waits for its slot in the order of arrival, after every check that could refuse it. The
/// timeout of its tool starts when the tool runs. Each attempt counts as a start. A dispatcher and
/// its clones share their counts, over all runs of an agent.
///
/// A call waits for at most the [`wait_timeout`](Self::wait_timeout), and never beyond the deadline
/// of the [batch](crate::Policy::batch_timeout) or the [run](crate::Agent::run_timeout). If the
/// next slot is free only later, the call does not wait: it is
/// [blocked](crate::event::BlockReason::RateLimit) at once, and the model receives the number of
/// seconds after which to call again. Until then, the tool is not offered to the model.
///
/// ```
/// use tool_runtime::dispatch::RateLimits;
/// use tool_runtime::{Dispatcher, Policy, RateLimit, Registry, ToolCall, tool, tools};
///
/// /// Sends a mail.
/// #[tool]
/// async fn send_mail(to: String) -> String {
///     format!("sent to {to}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let limits = RateLimits::default()
///     .all(RateLimit::per_second(20))
///     .provider("github", RateLimit::per_hour(5_000))
///     .tool("send_mail", RateLimit::per_minute(2));
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![send_mail])?)
///     .policy(Policy::new().rate_limits(limits));
///
/// // A third mail would be blocked: its slot is free only after a minute.
/// let calls = ["Ada", "Grace"]
///     .map(|to| ToolCall::new(to, "send_mail", format!(r#"{{"to": "{to}"}}"#)));
/// let executions = dispatcher.dispatch(calls.into()).await;
/// assert_eq!(executions[1].result.text, "sent to Grace");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct RateLimits {
    all: Option<RateLimit>,
    tools: HashMap<String, RateLimit>,
    providers: HashMap<String, RateLimit>,
    wait_timeout: Option<Duration>,
}

impl RateLimits {
    /// Limits how long a call waits for its slot. [`Duration::MAX`] means no limit.
    ///
    /// Default: the timeout of the tool, or 30 s if the tool has none.
    #[must_use]
    pub fn wait_timeout(mut self, timeout: Duration) -> Self {
        self.wait_timeout = Some(timeout);
        self
    }

    /// Limits the calls of all tools together.
    #[must_use]
    pub fn all(mut self, limit: RateLimit) -> Self {
        self.all = Some(limit);
        self
    }

    /// Limits all tools with this [name](crate::registry#tool-names) together.
    ///
    /// If there is a limit for the full name of a tool, only that limit applies to the tool.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>, limit: RateLimit) -> Self {
        self.tools.insert(name.into(), limit);
        self
    }

    /// Limits all tools of a tool provider together.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>, limit: RateLimit) -> Self {
        self.providers.insert(name.into(), limit);
        self
    }

    /// Returns the names in the limits of single tools and of single providers.
    pub(crate) fn names(&self) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
        (self.tools.keys().map(String::as_str), self.providers.keys().map(String::as_str))
    }
}

/// The rate limiters of a dispatcher; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct RateLimiters {
    is_configured: bool,
    /// The zero of the times in all windows.
    epoch: Instant,
    all: Option<Arc<Limiter>>,
    providers: Arc<HashMap<String, Arc<Limiter>>>,
    tools: Arc<HashMap<String, Arc<Limiter>>>,
    declared: Arc<Mutex<DeclaredLimiters>>,
    wait_timeout: Option<Duration>,
}

impl RateLimiters {
    pub(crate) fn new(limits: RateLimits) -> Self {
        let limiters = |limits: HashMap<String, RateLimit>| {
            let limiters = limits.into_iter().map(|(name, limit)| (name, Limiter::new(limit)));
            Arc::new(limiters.collect())
        };
        Self {
            is_configured: true,
            epoch: Instant::now(),
            all: limits.all.map(Limiter::new),
            providers: limiters(limits.providers),
            tools: limiters(limits.tools),
            declared: Arc::default(),
            wait_timeout: limits.wait_timeout,
        }
    }

    /// Whether calls of this tool may have to wait.
    pub(crate) fn apply_to(&self, entry: &Entry) -> bool {
        self.is_configured || entry.definition().rate_limit.is_some()
    }

    /// Waits until a call of this tool may start, and counts it.
    ///
    /// The narrowest limiter comes first, so that a call which waits for its tool's limit delays no
    /// other tool. The first call of a queue waits only for time and for wider queues, so every
    /// call makes progress.
    ///
    /// # Errors
    /// The next slot is free only after the deadline or the limit of the wait. A call that waits in
    /// a queue fails when it becomes the first or its wait ends: until then, the calls before it
    /// may be cancelled and leave their slots.
    pub(crate) async fn acquire(
        &self,
        entry: &Entry,
        deadline: Option<Instant>,
    ) -> Result<RateSlot, (BlockReason, ToolError)> {
        self.check(entry, deadline)?;
        let deadline = self.wait_deadline(entry, deadline);
        let limiters = self.limiters(entry);
        let mut queue_guards = Vec::with_capacity(limiters.len());
        for limiter in &limiters {
            let delay = || limiter.window().delay(self.epoch.elapsed());
            let turn = limiter.queue.lock();
            let turn = match deadline {
                None => Some(turn.await),
                Some(at) => timeout_at(at, turn).await.ok(),
            };
            let Some(turn) = turn else {
                return Err(blocked(entry, delay().unwrap_or_default()));
            };
            queue_guards.push(turn);
            while let Some(delay) = delay() {
                if !ends_in_time(delay, deadline) {
                    return Err(blocked(entry, delay));
                }
                sleep(delay).await;
            }
        }
        let at = self.epoch.elapsed();
        for limiter in &limiters {
            limiter.window().record(at);
        }
        drop(queue_guards);
        Ok(RateSlot { limiters, at })
    }

    /// Returns when a call of this tool stops waiting for its slot.
    fn wait_deadline(&self, entry: &Entry, deadline: Option<Instant>) -> Option<Instant> {
        let of_tool = || entry.definition().timeout;
        let limit = self.wait_timeout.or_else(of_tool).unwrap_or(DEFAULT_WAIT);
        let of_wait = Instant::now().checked_add(limit);
        of_wait.into_iter().chain(deadline).min()
    }

    /// Checks whether the next slot of a call is free before the deadline and the limit of the
    /// wait, without waiting.
    pub(crate) fn check(
        &self,
        entry: &Entry,
        deadline: Option<Instant>,
    ) -> Result<(), (BlockReason, ToolError)> {
        let deadline = self.wait_deadline(entry, deadline);
        let (limiters, now) = (self.limiters(entry), self.epoch.elapsed());
        let delays = limiters.iter().filter_map(|limiter| limiter.window().delay(now));
        match delays.max() {
            Some(delay) if !ends_in_time(delay, deadline) => Err(blocked(entry, delay)),
            _ => Ok(()),
        }
    }

    /// Returns the limiters that apply to this tool, the narrowest first.
    fn limiters(&self, entry: &Entry) -> Vec<Arc<Limiter>> {
        let provider = entry.provider().and_then(|name| self.providers.get(name).cloned());
        [self.tool_limiter(entry), provider, self.all.clone()].into_iter().flatten().collect()
    }

    /// Moves a slot to the current time, for a call that starts only now. Returns false if the slot
    /// has expired: other calls may have started in its place.
    pub(crate) fn postpone(&self, slot: &mut RateSlot) -> bool {
        // All windows are locked at once, and always in the same order.
        let mut windows: Vec<_> = slot.limiters.iter().map(|limiter| limiter.window()).collect();
        let now = self.epoch.elapsed();
        let counts = windows.iter().all(|window| window.counts(slot.at, now));
        if counts {
            windows.iter_mut().for_each(|window| window.postpone(slot.at, now));
            slot.at = now;
        }
        counts
    }

    fn tool_limiter(&self, entry: &Entry) -> Option<Arc<Limiter>> {
        if let Some(limiter) = entry.definition().names().find_map(|name| self.tools.get(name)) {
            return Some(Arc::clone(limiter));
        }
        let limit = entry.definition().rate_limit?;
        let mut declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        Some(declared.of_tool(entry, limit, self.epoch.elapsed()))
    }
}

impl Default for RateLimiters {
    fn default() -> Self {
        let mut limiters = Self::new(RateLimits::default());
        limiters.is_configured = false;
        limiters
    }
}

/// The counted start of a call; dropping it before [`commit`](Self::commit) removes the count.
#[derive(Debug, Default)]
pub(crate) struct RateSlot {
    limiters: Vec<Arc<Limiter>>,
    at: Duration,
}

impl RateSlot {
    /// Keeps the count, since the call starts.
    pub(crate) fn commit(mut self) {
        self.limiters.clear();
    }
}

impl Drop for RateSlot {
    fn drop(&mut self) {
        for limiter in &self.limiters {
            limiter.window().remove(self.at);
        }
    }
}

fn blocked(entry: &Entry, delay: Duration) -> (BlockReason, ToolError) {
    let (name, seconds) = (entry.name(), delay.as_secs_f64().ceil().max(1.0));
    let text = format!(
        "Not run: the rate limit allows the next call of `{name}` in {seconds} s. Go on without \
         it, or call again then."
    );
    (BlockReason::RateLimit, ToolError::new(ToolErrorKind::Unavailable, text))
}

/// Whether a delay ends before the deadline. Otherwise the wait could not succeed.
pub(crate) fn ends_in_time(delay: Duration, deadline: Option<Instant>) -> bool {
    deadline.is_none_or(|at| at.saturating_duration_since(Instant::now()) > delay)
}
