//! What calls run under.

use std::collections::BTreeMap;
use std::time::Duration;

use super::approve::Approvals;
use super::concurrency::Places;
use super::halt::{OnBlock, OnFailure};
use super::intercept::Interceptors;
use super::memo::Memo;
use super::policy::{Granted, OUTPUT_LIMIT, Permissions};
use crate::event::Observers;
use crate::event::clock::Clock;
use crate::registry::{Entry, Snapshot};
use crate::secret::Redactor;
use crate::tool::Extensions;

/// What a dispatcher was told; its calls share it.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) observers: Observers,
    pub(super) redactor: Redactor,
    /// Whether spans hold arguments and results.
    #[cfg(feature = "tracing")]
    pub(super) trace_content: bool,
    pub(super) interceptors: Interceptors,
    pub(super) granted: Granted,
    pub(super) permissions: Permissions,
    pub(super) approvals: Approvals,
    pub(super) memo: Memo,
    pub(super) places: Places,
    pub(super) extensions: Extensions,
    pub(super) output_limit: usize,
    pub(super) deadline: Option<Duration>,
    pub(super) on_failure: OnFailure,
    pub(super) on_block: OnBlock,
    pub(super) clock: Clock,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            observers: Observers::default(),
            redactor: Redactor::default(),
            #[cfg(feature = "tracing")]
            trace_content: false,
            interceptors: Interceptors::default(),
            granted: Granted::default(),
            permissions: Permissions::default(),
            approvals: Approvals::default(),
            memo: Memo::default(),
            places: Places::default(),
            extensions: Extensions::default(),
            output_limit: OUTPUT_LIMIT,
            deadline: None,
            on_failure: OnFailure::default(),
            on_block: OnBlock::default(),
            clock: Clock::start(),
        }
    }
}

impl Terms {
    /// The same for another run, which remembers nothing of this one but what it is told.
    pub(super) fn for_run(&self, approved: BTreeMap<String, String>) -> Self {
        let approvals = self.approvals.for_run(approved);
        let redactor = self.redactor.for_run();
        Self { memo: Memo::default(), approvals, redactor, clock: Clock::start(), ..self.clone() }
    }

    /// What hides secrets while these tools are called; none where there are none.
    #[inline]
    pub(super) fn redactor_of(&self, tools: &Snapshot) -> Option<Redactor> {
        if tools.has_secrets() {
            let schema = |entry| (Entry::name(entry), &entry.definition().parameters);
            self.redactor.know(tools.entries().map(schema));
        }
        self.redactor.is_needed().then(|| self.redactor.clone())
    }
}
