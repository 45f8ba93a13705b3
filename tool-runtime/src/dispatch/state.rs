//! The state that the calls of a dispatcher share: its policy and the counters of that policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Policy;
use super::approve::Approvals;
use super::circuits::Circuits;
use super::concurrency::Places;
use super::memo::Memo;
use super::policy::is_granted;
use super::rate::Rates;
use crate::event::clock::Clock;
use crate::event::{Observers, RunId};
use crate::registry::{Entry, Snapshot};
use crate::schema::Schema;
use crate::secret::Redactor;
use crate::tool::{Extensions, LeftRunning, Permission};

/// The configuration and the counters of a dispatcher; its calls share them.
#[derive(Clone, Debug)]
pub(super) struct DispatchState {
    pub(super) policy: Arc<Policy>,
    pub(super) observers: Observers,
    pub(super) redactor: Redactor,
    /// Whether spans hold arguments and results.
    #[cfg(feature = "tracing")]
    pub(super) trace_content: bool,
    pub(super) approvals: Approvals,
    pub(super) memo: Memo,
    pub(super) rates: Rates,
    pub(super) places: Places,
    pub(super) circuits: Circuits,
    pub(super) left_running: LeftRunning,
    pub(super) extensions: Extensions,
    pub(super) clock: Clock,
}

impl Default for DispatchState {
    fn default() -> Self {
        Self {
            policy: Arc::default(),
            observers: Observers::default(),
            redactor: Redactor::default(),
            #[cfg(feature = "tracing")]
            trace_content: false,
            approvals: Approvals::default(),
            memo: Memo::default(),
            rates: Rates::default(),
            places: Places::default(),
            circuits: Circuits::default(),
            left_running: LeftRunning::default(),
            extensions: Extensions::default(),
            clock: Clock::start(),
        }
    }
}

impl DispatchState {
    /// Replaces the policy; every counter starts at zero.
    pub(super) fn set_policy(&mut self, policy: Policy) {
        self.approvals = policy.approver.clone().map(Approvals::by).unwrap_or_default();
        self.places = policy.concurrency.clone().map(Places::of).unwrap_or_default();
        self.rates = policy.rate_limits.clone().map(Rates::of).unwrap_or_default();
        self.circuits = policy.breakers.clone().map(Circuits::of).unwrap_or_default();
        self.redactor = Redactor::default().with(policy.secrets.iter().cloned());
        self.policy = Arc::new(policy);
    }

    /// Whether a model may call this tool: the policy allows it or somebody can approve it, and
    /// every capability that it requires is granted.
    pub(super) fn let_call(&self, entry: &Entry) -> bool {
        let permissions = &self.policy.permissions;
        let may_run = match permissions.of_tool(entry) {
            Permission::Allow => true,
            Permission::Ask => self.approvals.can_ask(&[]) || permissions.looks_at_arguments(),
            Permission::Deny => false,
        };
        may_run && is_granted(entry.definition(), &self.policy.granted).is_ok()
    }

    /// Returns the state of another run: same policy and counters, but a memo, approvals and a clock
    /// of its own.
    pub(super) fn for_run(&self, run: RunId, approved: BTreeMap<String, String>) -> Self {
        let approvals = self.approvals.for_run(run, approved);
        let redactor = self.redactor.for_run();
        Self { memo: Memo::default(), approvals, redactor, clock: Clock::start(), ..self.clone() }
    }

    /// Returns the redactor for calls of these tools, if there is anything to redact.
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
