//! The limiters of tools that declare a rate limit, from their first call on.
//!
//! A limiter without a recent start equals a new one, so it is evicted. Until then, the limiter of
//! an unregistered tool is kept: registering the tool again must not reset its limit.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::dispatch::limits::limiter::Limiter;
use crate::registry::Entry;
use crate::tool::{RateLimit, Tool};

/// The maximum number of limiters of tools that no longer exist.
const MAX_OF_DROPPED_TOOLS: usize = 1_000;

/// The minimum number of limiters before unused ones are searched for.
const MIN_COUNT: usize = 64;

/// The limiters by the full names of their tools.
#[derive(Debug, Default)]
pub(crate) struct DeclaredLimiters {
    by_name: HashMap<String, DeclaredLimiter>,
    /// The count at which unused limiters are removed: twice the count after the last removal, so
    /// that a removal costs a constant time per new limiter.
    max_count: usize,
}

#[derive(Debug)]
struct DeclaredLimiter {
    limit: RateLimit,
    tool: Weak<dyn Tool>,
    limiter: Arc<Limiter>,
}

impl DeclaredLimiters {
    /// Returns the limiter of a tool that declares this limit.
    pub(crate) fn of_tool(
        &mut self,
        entry: &Entry,
        limit: RateLimit,
        now: Duration,
    ) -> Arc<Limiter> {
        if let Some(known) = self.by_name.get_mut(entry.full_name())
            && known.limit == limit
        {
            known.tool = Arc::downgrade(entry.tool());
            return Arc::clone(&known.limiter);
        }
        if self.by_name.len() >= self.max_count.max(MIN_COUNT) {
            self.remove_unused(now);
        }
        let (limiter, tool) = (Limiter::new(limit), Arc::downgrade(entry.tool()));
        let declared = DeclaredLimiter { limit, tool, limiter: Arc::clone(&limiter) };
        self.by_name.insert(entry.full_name().to_owned(), declared);
        limiter
    }

    fn remove_unused(&mut self, now: Duration) {
        self.by_name.retain(|_, it| it.is_in_use() || it.limiter.window().has_starts(now));
        let is_dropped =
            |limiter: &DeclaredLimiter| limiter.tool.strong_count() == 0 && !limiter.is_in_use();
        if self.by_name.values().filter(|it| is_dropped(it)).count() > MAX_OF_DROPPED_TOOLS {
            self.by_name.retain(|_, it| !is_dropped(it));
        }
        self.max_count = 2 * self.by_name.len();
    }
}

impl DeclaredLimiter {
    /// Whether a call waits for the limiter or has a slot of it.
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.limiter) > 1
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::json;

    use super::*;
    use crate::message::Arguments;
    use crate::registry::{Registry, Snapshot, Tools};
    use crate::tool::{ToolContext, ToolDefinition, ToolError, ToolOutput};

    const LIMIT: RateLimit = RateLimit { times: 2, per: Duration::from_secs(60) };

    struct Named(ToolDefinition);

    #[async_trait]
    impl Tool for Named {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text("ok"))
        }
    }

    /// Returns a registry with one tool of this name.
    fn registered(name: &str) -> Snapshot {
        let tool = Named(ToolDefinition::new(name, "It.", json!({ "type": "object" })));
        let tool: Arc<dyn Tool> = Arc::new(tool);
        Registry::try_from([tool].into_iter().collect::<Tools>()).unwrap().snapshot()
    }

    fn start(limiters: &mut DeclaredLimiters, tools: &Snapshot, at: Duration) -> Arc<Limiter> {
        let limiter = limiters.of_tool(tools.entries().next().unwrap(), LIMIT, at);
        limiter.window().record(at);
        limiter
    }

    #[test]
    fn limiters_of_unregistered_tools_are_forgotten() {
        // Starts that expire soon, and starts that all count.
        for (pause, max) in [(1_000, 2 * 60), (0, 2 * MAX_OF_DROPPED_TOOLS)] {
            let mut limiters = DeclaredLimiters::default();
            for cycle in 0..10_000 {
                let at = Duration::from_millis(pause) * cycle;
                start(&mut limiters, &registered(&format!("tool_{cycle}")), at);
                let count = limiters.by_name.len();
                assert!(count <= max + MIN_COUNT, "{count} after {cycle} cycles");
            }
        }
    }

    #[test]
    fn limit_survives_another_registration_and_other_tools() {
        let mut limiters = DeclaredLimiters::default();
        let at = Duration::from_secs(1);
        let first = Arc::downgrade(&start(&mut limiters, &registered("a"), at));
        let running = registered("running");
        let registered_limiter = Arc::downgrade(&start(&mut limiters, &running, at));
        for cycle in 0..500 {
            start(&mut limiters, &registered(&format!("tool_{cycle}")), at);
        }
        let current = start(&mut limiters, &registered("a"), at);
        assert!(first.upgrade().is_some_and(|first| Arc::ptr_eq(&first, &current)));
        assert!(current.window().delay(at).is_some());
        for cycle in 0..5_000 {
            start(&mut limiters, &registered(&format!("tool_{cycle}")), at);
        }
        assert!(registered_limiter.upgrade().is_some(), "the tool is still registered");
    }
}
