//! The methods of a [`Dispatcher`] that only the agent loop calls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::Dispatcher;
use super::abort::aborts;
use super::policy::Policy;
use super::state::DispatchState;
use crate::dispatch::call::record::end_events;
use crate::event::{Event, EventKind, Origin, RunId, ToolEvent, ToolExecution, UnmatchedRule};
use crate::message::{CallId, Delta, ToolCall, ToolResult};
use crate::registry::{Entry, Registry, Snapshot};
use crate::tool::{Extensions, RunApproval, ToolDefinition};

impl Dispatcher {
    /// Returns the tools that the policy lets a model call, whether they are available or not.
    pub(crate) fn callable_tools<'s>(&self, tools: &'s Snapshot) -> Vec<&'s ToolDefinition> {
        let callable = tools.entries().filter(|entry| self.state.is_callable(entry));
        callable.map(Entry::definition).collect()
    }

    /// Returns the tools whose calls are all refused because there is no approver.
    pub(crate) fn undecidable_tools<'s>(&self, tools: &'s Snapshot) -> Vec<&'s ToolDefinition> {
        let undecidable = tools.entries().filter(|entry| self.state.lacks_approver(entry));
        undecidable.map(Entry::definition).collect()
    }

    /// Returns the rules for tools and providers that apply to no tool of the registry.
    pub(crate) fn unmatched_rules(&self, tools: &Snapshot) -> Vec<UnmatchedRule> {
        self.state.unmatched_rules(tools)
    }

    /// Emits each rule that applies to no tool, once.
    pub(crate) fn report_unmatched_rules(&self, origin: &Origin, tools: &Snapshot) {
        self.state.report_unmatched_rules(origin, tools);
    }

    /// Returns the values that tools find by their types.
    pub(crate) fn registered_extensions(&self) -> &Extensions {
        &self.state.extensions
    }

    /// Returns the index of the execution that aborted its batch.
    pub(crate) fn aborted_at(&self, executions: &[ToolExecution]) -> Option<usize> {
        let Policy { abort_on_failure, abort_on_block, .. } = *self.state.policy;
        executions.iter().position(|execution| aborts(abort_on_failure, abort_on_block, execution))
    }

    /// Returns a dispatcher for a new run: it shares the policy and the counters, and has a memo
    /// and its own approvals. `approved` are the tools that are approved for the run, and by
    /// whom.
    pub(crate) fn for_run(
        &self,
        registry: Registry,
        run: RunId,
        approved: BTreeMap<String, RunApproval>,
    ) -> Self {
        Self { registry, state: Arc::new(self.state.for_run(run, approved)) }
    }

    /// Returns the tools that are approved for the rest of the run, and by whom.
    pub(crate) fn approved_tools(&self, run: RunId) -> BTreeMap<String, RunApproval> {
        self.state.runs.approved_tools(run)
    }

    /// Returns the time by the clock of the run.
    pub(crate) fn now(&self) -> SystemTime {
        self.state.clock.now()
    }

    /// Whether there are observers of all events.
    pub(crate) fn has_observers(&self) -> bool {
        self.state.observers.need_all()
    }

    /// Emits an event of the run that these calls belong to.
    pub(crate) fn emit<K: Into<EventKind>>(&self, origin: &Origin, kind: impl FnOnce() -> K) {
        let DispatchState { observers, redactor, clock, .. } = self.state.as_ref();
        let redactor = redactor.is_active().then_some(redactor);
        observers.emit(redactor, || Event::new(origin.clone(), clock.now(), kind()));
    }

    /// Whether spans have messages, arguments and results.
    #[cfg(feature = "tracing")]
    pub(crate) fn traces_content(&self) -> bool {
        self.state.trace_content
    }

    /// Whether an observer needs the pieces of replies.
    pub(crate) fn receives_deltas(&self) -> bool {
        self.state.observers.receive_deltas()
    }

    /// Sends a piece of a reply, without secrets, to the observers that need it.
    pub(crate) fn emit_delta(&self, origin: &Origin, delta: Delta<'_>) {
        self.state.observers.emit_delta(origin, delta);
    }

    /// Emits the end of a call that another dispatcher ran.
    pub(crate) fn emit_end(&self, origin: &Origin, execution: &ToolExecution) {
        if self.claim_end(origin.run, &execution.call.id) {
            end_events(execution).for_each(|event| self.emit(origin, || event));
        }
    }

    /// Emits the end of a call that its run answered, unless it was emitted before.
    pub(crate) fn emit_answered(&self, origin: &Origin, call: ToolCall, result: ToolResult) {
        if self.claim_end(origin.run, &call.id) {
            self.emit(origin, || ToolEvent::Finished(self.skipped_execution(call, result)));
        }
    }

    fn claim_end(&self, run: RunId, call: &CallId) -> bool {
        self.has_observers() && self.state.claim_end(run, call)
    }

    /// Emits the start of a call that another dispatcher runs.
    pub(crate) fn emit_started(&self, origin: &Origin, call: &ToolCall) {
        if self.has_observers() {
            self.state.start_call(origin.run, &call.id);
        }
        self.emit(origin, || ToolEvent::Started { call: call.clone(), tool: None });
    }

    /// Records that the results of all calls of the run so far are saved.
    pub(crate) fn release_ends(&self, run: RunId) {
        self.state.release_ends(run);
    }

    /// Returns the execution of a call that is not run here.
    pub(crate) fn skipped_execution(&self, call: ToolCall, result: ToolResult) -> ToolExecution {
        let mut execution = ToolExecution::new(call, result);
        execution.started_at = self.state.clock.now();
        execution
    }
}
