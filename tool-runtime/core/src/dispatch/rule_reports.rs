//! The unmatched rules that were reported.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::event::UnmatchedRule;
use crate::schema::NamedSchemas;

/// The unmatched rules that were reported; clones share them.
#[derive(Clone, Default, Debug)]
pub(super) struct RuleReports(Arc<Mutex<Reports>>);

#[derive(Default, Debug)]
pub(super) struct Reports {
    /// The contents of the registry that were compared last.
    pub(super) compared: Option<Weak<dyn NamedSchemas>>,
    pub(super) reported: HashSet<UnmatchedRule>,
}

impl RuleReports {
    pub(super) fn lock(&self) -> MutexGuard<'_, Reports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
