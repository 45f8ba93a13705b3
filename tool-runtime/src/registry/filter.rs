use std::fmt;
use std::sync::Arc;

use super::Entry;
use crate::guard::catch_panic;

/// The filter of a view: a tool passes if it passes all rules.
///
/// A rule is foreign code. A tool for which it panics does not pass.
#[derive(Clone, Default)]
pub(super) struct Filter(Option<Arc<FilterRule>>);

struct FilterRule {
    predicate: Box<dyn Fn(&Entry) -> bool + Send + Sync>,
    previous: Filter,
}

impl Filter {
    /// Returns a filter with one more rule.
    pub(super) fn and(&self, predicate: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(FilterRule { predicate: Box::new(predicate), previous: self.clone() })))
    }

    #[inline]
    pub(super) fn passes(&self, entry: &Entry) -> bool {
        let mut next = self;
        while let Some(rule) = &next.0 {
            if !catch_panic(|| (rule.predicate)(entry)).unwrap_or(false) {
                return false;
            }
            next = &rule.previous;
        }
        true
    }
}

/// Drops the rules in a loop. Recursion would overflow the stack for a long chain of views.
impl Drop for FilterRule {
    fn drop(&mut self) {
        let mut next = self.previous.0.take();
        while let Some(mut rule) = next.and_then(Arc::into_inner) {
            next = rule.previous.0.take();
        }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "some" } else { "all" })
    }
}
