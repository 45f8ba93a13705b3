use std::collections::{BTreeSet, HashSet};
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
    kind: FilterKind,
    previous: Filter,
}

enum FilterKind {
    Predicate(Box<dyn Fn(&Entry) -> bool + Send + Sync>),
    Only(NameSet),
    Without(NameSet),
}

impl Filter {
    /// Returns a filter with one more rule.
    pub(super) fn and(&self, predicate: impl Fn(&Entry) -> bool + Send + Sync + 'static) -> Self {
        self.with(FilterKind::Predicate(Box::new(predicate)))
    }

    /// Returns a filter that only tools with these names pass.
    pub(super) fn only(&self, names: NameSet) -> Self {
        self.with(FilterKind::Only(names))
    }

    /// Returns a filter that no tool with these names passes.
    pub(super) fn without(&self, names: NameSet) -> Self {
        self.with(FilterKind::Without(names))
    }

    fn with(&self, kind: FilterKind) -> Self {
        Self(Some(Arc::new(FilterRule { kind, previous: self.clone() })))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the names in the rules, sorted.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        let (mut names, mut next) = (BTreeSet::new(), self);
        while let Some(rule) = &next.0 {
            match &rule.kind {
                FilterKind::Predicate(_) => {}
                FilterKind::Only(set) | FilterKind::Without(set) => {
                    names.extend(set.0.iter().map(String::as_str));
                }
            }
            next = &rule.previous;
        }
        names
    }

    pub(super) fn passes(&self, entry: &Entry) -> bool {
        let mut next = self;
        while let Some(rule) = &next.0 {
            let passes = match &rule.kind {
                FilterKind::Predicate(predicate) => {
                    catch_panic(|| predicate(entry)).unwrap_or(false)
                }
                FilterKind::Only(names) => names.matches(entry),
                FilterKind::Without(names) => !names.matches(entry),
            };
            if !passes {
                return false;
            }
            next = &rule.previous;
        }
        true
    }
}

/// The names that a view is defined by.
pub(super) struct NameSet(HashSet<String>);

impl NameSet {
    pub(super) fn new<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    fn matches(&self, entry: &Entry) -> bool {
        entry.definition().names().any(|name| self.0.contains(name))
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
