//! The unmatched rules that were reported.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::event::UnmatchedRule;
use crate::schema::NamedSchemas;

/// The unmatched rules that were reported; clones share them.
#[derive(Clone, Default, Debug)]
pub(crate) struct RuleReports(Arc<Mutex<Reports>>);

#[derive(Default, Debug)]
pub(crate) struct Reports {
    /// The contents of the registry that were compared last.
    pub(crate) compared: Option<Weak<dyn NamedSchemas>>,
    pub(crate) reported: HashSet<UnmatchedRule>,
}

impl RuleReports {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Reports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
