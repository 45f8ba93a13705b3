use std::fmt;
use std::sync::Arc;

use super::Entry;
use crate::guard::catch_panic;

/// Which tools of a registry a view of it holds: those that pass all rules. A rule is foreign code:
/// what it panics at doesn't pass.
#[derive(Clone, Default)]
pub(super) struct Filter(Option<Arc<Rule>>);

struct Rule {
    passes: Box<dyn Fn(&Entry) -> bool + Send + Sync>,
    before: Filter,
}

impl Filter {
    /// These rules, and one more.
    pub(super) fn and(&self, passes: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Rule { passes: Box::new(passes), before: self.clone() })))
    }

    #[inline]
    pub(super) fn passes(&self, entry: &Entry) -> bool {
        let mut next = self;
        while let Some(rule) = &next.0 {
            // One that panics has let nothing through.
            if !catch_panic(|| (rule.passes)(entry)).unwrap_or(false) {
                return false;
            }
            next = &rule.before;
        }
        true
    }
}

/// One after the other: a view of a view of a view may be the last to hold them all, and a stack holds
/// only so many.
impl Drop for Rule {
    fn drop(&mut self) {
        let mut next = self.before.0.take();
        while let Some(mut rule) = next.and_then(Arc::into_inner) {
            next = rule.before.0.take();
        }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "some" } else { "all" })
    }
}
