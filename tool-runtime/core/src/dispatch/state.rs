//! The state that the calls of a dispatcher share: its policy and the counters of that policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::memo::Memo;
use super::policy::{Policy, check_capabilities};
use super::runs::Runs;
use crate::dispatch::approval::approve::Approvals;
use crate::dispatch::call::emitted_ends::{EmittedEnds, EndClaim};
use crate::dispatch::limits::circuits::CircuitBreakers;
use crate::dispatch::limits::concurrency::ConcurrencyLimits;
use crate::dispatch::limits::rate::RateLimiters;
use crate::dispatch::rules::rule_reports::RuleReports;
use crate::event::clock::Clock;
use crate::event::{Event, Observers, Origin, RunEvent, RunId};
use crate::message::CallId;
use crate::registry::{Entry, Snapshot};
use crate::secret::Redactor;
use crate::tool::{DetachedThreads, Extensions, Permission, RunApproval};

/// The configuration and the counters of a dispatcher.
#[derive(Clone, Debug)]
pub(super) struct DispatchState {
    pub(super) policy: Arc<Policy>,
    pub(super) observers: Observers,
    pub(super) redactor: Redactor,
    /// Whether spans record arguments and results.
    #[cfg(feature = "tracing")]
    pub(super) trace_content: bool,
    pub(super) approvals: Approvals,
    pub(super) runs: Runs,
    pub(super) rule_reports: RuleReports,
    emitted_ends: EmittedEnds,
    /// Whether the state is that of one run, rather than of a dispatcher without an agent.
    serves_one_run: bool,
    pub(super) memo: Memo,
    pub(super) rates: RateLimiters,
    pub(super) concurrency: ConcurrencyLimits,
    pub(super) circuits: CircuitBreakers,
    pub(super) detached_threads: DetachedThreads,
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
            runs: Runs::default(),
            rule_reports: RuleReports::default(),
            emitted_ends: EmittedEnds::default(),
            serves_one_run: false,
            memo: Memo::default(),
            rates: RateLimiters::default(),
            concurrency: ConcurrencyLimits::default(),
            circuits: CircuitBreakers::default(),
            detached_threads: DetachedThreads::default(),
            extensions: Extensions::default(),
            clock: Clock::start(),
        }
    }
}

impl DispatchState {
    /// Replaces the policy; all of its counters start at zero.
    pub(super) fn set_policy(&mut self, policy: Policy) {
        let previewers = || policy.previewers.clone();
        let approver = policy.approver.clone();
        self.approvals = approver.map(|it| Approvals::new(it, previewers())).unwrap_or_default();
        let limits = policy.concurrency.clone();
        self.concurrency = limits.map(ConcurrencyLimits::new).unwrap_or_default();
        self.rates = policy.rate_limits.clone().map(RateLimiters::new).unwrap_or_default();
        self.circuits = policy.breakers.clone().map(CircuitBreakers::new).unwrap_or_default();
        self.runs = Runs::default();
        self.rule_reports = RuleReports::default();
        self.redactor = Redactor::default().with(policy.secrets.iter().cloned());
        self.policy = Arc::new(policy);
    }

    /// Whether a model may call this tool: it is allowed or can be approved, and all capabilities
    /// that it requires are granted.
    pub(super) fn is_callable(&self, entry: &Entry) -> bool {
        let permissions = &self.policy.permissions;
        let is_denied = permissions.for_tool(entry) == Permission::Deny;
        !is_denied && !self.lacks_approver(entry) && self.has_capabilities(entry)
    }

    /// Whether a call of this tool would be admitted now, or after a wait within the limits.
    pub(super) fn admits(&self, entry: &Entry) -> bool {
        let circuit = self.circuits.provider_circuit(entry);
        circuit.is_none_or(|circuit| circuit.check().is_ok())
            && (!self.rates.apply_to(entry) || self.rates.check(entry, None).is_ok())
    }

    /// Whether a model could call this tool if there were an approver.
    pub(super) fn lacks_approver(&self, entry: &Entry) -> bool {
        let permissions = &self.policy.permissions;
        permissions.for_tool(entry) == Permission::Ask
            && !self.approvals.can_decide(&[])
            && !permissions.has_predicates()
            && self.has_capabilities(entry)
    }

    fn has_capabilities(&self, entry: &Entry) -> bool {
        check_capabilities(entry.definition(), &self.policy.granted).is_ok()
    }

    /// Returns the state of a new run: it shares the policy and the counters, and has
    /// its own memo, approvals, detected secrets and clock.
    pub(super) fn for_run(&self, run: RunId, approved: BTreeMap<String, RunApproval>) -> Self {
        Self {
            runs: Runs::with_run(run, approved),
            serves_one_run: true,
            redactor: self.redactor.for_run(),
            memo: Memo::default(),
            clock: Clock::start(),
            ..self.clone()
        }
    }

    /// Returns the redactor for calls of these tools in this run; `None` if there is nothing to
    /// redact.
    pub(super) fn redactor_for(&self, tools: &Snapshot, run: RunId) -> Option<Redactor> {
        let has_secret_tools = tools.has_secrets() || self.redactor.has_secret_tools();
        if has_secret_tools {
            self.redactor.register_tools(tools.schemas());
        }
        if has_secret_tools && !self.serves_one_run {
            return Some(self.redactor_of_run(tools, run));
        }
        self.redactor.is_active().then(|| self.redactor.clone())
    }

    fn redactor_of_run(&self, tools: &Snapshot, run: RunId) -> Redactor {
        let redactor = self.runs.redactor(run, &self.redactor);
        redactor.register_tools(tools.schemas());
        self.report_evicted_runs();
        redactor
    }

    /// Emits the runs of which approvals or secrets were evicted.
    pub(super) fn report_evicted_runs(&self) {
        let redactor = self.redactor.is_active().then_some(&self.redactor);
        for run in self.runs.take_evicted() {
            let origin = Origin::new(run, 0);
            self.observers
                .emit(redactor, || Event::new(origin, self.clock.now(), RunEvent::StateEvicted));
        }
    }

    /// Returns the end of a call of the model that starts, perhaps again. Only the run of an agent
    /// is resumed, and then answers calls.
    pub(super) fn start_call(&self, run: RunId, call: &CallId) -> EndClaim {
        if self.serves_one_run { self.emitted_ends.start(run, call) } else { EndClaim::default() }
    }

    /// Records that the end of a call of this run is emitted. Returns `false` if it was emitted
    /// before.
    pub(super) fn claim_end(&self, run: RunId, call: &CallId) -> bool {
        self.emitted_ends.claim(run, call)
    }

    /// Records that the results of all calls of the run so far are saved.
    pub(super) fn release_ends(&self, run: RunId) {
        self.emitted_ends.release(run);
    }

    /// Removes all that is kept of a run.
    pub(super) fn end_run(&self, run: RunId) {
        self.runs.end(run);
        self.memo.end_run(run);
    }
}
