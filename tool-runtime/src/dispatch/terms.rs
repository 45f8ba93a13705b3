//! What calls run under.

use std::collections::BTreeMap;
use std::time::Duration;

use super::approve::Approvals;
use super::circuits::Circuits;
use super::concurrency::Places;
use super::halt::{OnBlock, OnFailure};
use super::intercept::Interceptors;
use super::memo::Memo;
use super::policy::{Granted, OUTPUT_LIMIT, Permissions, is_granted};
use super::rate::Rates;
use crate::event::clock::Clock;
use crate::event::{Observers, RunId};
use crate::registry::{Entry, Snapshot};
use crate::schema::Schema;
use crate::secret::Redactor;
use crate::tool::{Extensions, LeftRunning, Permission};

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
    pub(super) rates: Rates,
    pub(super) places: Places,
    pub(super) circuits: Circuits,
    pub(super) left_running: LeftRunning,
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
            rates: Rates::default(),
            places: Places::default(),
            circuits: Circuits::default(),
            left_running: LeftRunning::default(),
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
    /// Whether they say nothing of any tool.
    #[inline]
    pub(super) fn are_plain(&self) -> bool {
        self.interceptors.is_empty()
            && self.permissions.is_empty()
            && !self.places.are_limited()
            && !self.circuits.are_set()
    }

    /// Whether a model may call this tool: it is allowed, if need be by somebody who can be asked,
    /// and needs nothing that isn't granted.
    pub(super) fn let_call(&self, entry: &Entry) -> bool {
        let may_run = match self.permissions.of_tool(entry) {
            Permission::Allow => true,
            Permission::Ask => self.approvals.can_ask(&[]) || self.permissions.looks_at_arguments(),
            Permission::Deny => false,
        };
        may_run && is_granted(entry.definition(), &self.granted).is_ok()
    }

    /// The same for another run, which remembers nothing of this one but what it is told.
    pub(super) fn for_run(&self, run: RunId, approved: BTreeMap<String, String>) -> Self {
        let approvals = self.approvals.for_run(run, approved);
        let redactor = self.redactor.for_run();
        Self { memo: Memo::default(), approvals, redactor, clock: Clock::start(), ..self.clone() }
    }

    /// What hides secrets while these tools are called; none where there are none.
    #[inline]
    pub(super) fn redactor_of(&self, tools: &Snapshot) -> Option<Redactor> {
        if tools.has_secrets() {
            let all = || tools.all_entries().flat_map(names_and_schema);
            self.redactor.know(tools.identity(), all);
        }
        self.redactor.is_needed().then(|| self.redactor.clone())
    }
}

fn names_and_schema(entry: &Entry) -> [(&str, &Schema); 2] {
    [entry.name(), entry.full_name()].map(|name| (name, &entry.definition().parameters))
}
