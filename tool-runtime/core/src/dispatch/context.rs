//! The context that the calls of one reply share.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::abort::AbortState;
use super::memo::{WriteGuard, is_mutating};
use super::state::DispatchState;
use crate::dispatch::approval::approval_request::ApprovalRequest;
use crate::dispatch::call::emitted_ends::EndClaim;
use crate::dispatch::call::unknown_tool::ToolSuggestions;
use crate::event::{BlockReason, RunId, ToolEvent, ToolExecution};
use crate::message::{CallId, ToolCall};
use crate::registry::{Entry, Snapshot};
use crate::tool::dispatch_contract::BatchScope;
use crate::tool::{
    CallEnd, CallWork, Decision, Permission, RunContext, SuspendedCall, ToolDefinition, ToolError,
    ToolErrorKind,
};

/// The maximum depth of nested calls.
const MAX_DEPTH: u32 = 8;

/// The tools, the policy and the inputs of one batch.
pub(super) struct BatchContext {
    pub(super) tools: Snapshot,
    pub(super) state: Arc<DispatchState>,
    pub(super) scope: BatchScope,
    pub(super) abort: AbortState,
    /// Boxed, since few batches have a history.
    pub(super) history: Option<Box<BatchHistory>>,
    /// Boxed, since few calls need it.
    pub(super) on_demand: OnceLock<Box<OnDemand>>,
}

/// The earlier events of a batch whose calls are resumed, nested or made by another process.
pub(super) struct BatchHistory {
    pub(super) decisions: Vec<Decision>,
    /// The deferred decisions on calls about which an approver was asked before.
    pub(super) deferred: Vec<Decision>,
    /// Sorted by the id of the call.
    pub(super) suspended: Vec<SuspendedCall>,
    /// The calls that have started before, in a process that ended since.
    pub(super) started: Vec<CallId>,
    /// The names of tools that were offered before and are no longer registered, sorted.
    pub(super) removed_tools: Vec<String>,
    pub(super) outer: Option<OuterCalls>,
    /// The call that the calls are nested in, perhaps through the run of an agent.
    pub(super) caller: Option<Arc<CallWork>>,
    /// The idempotency key of the only call, if another process made it.
    pub(super) served_key: Option<String>,
}

/// The calls that a batch is nested in.
pub(super) struct OuterCalls {
    /// The names of their tools, outermost first.
    pub(super) names: Vec<String>,
    /// The run that their memoized outputs belong to.
    pub(super) memo_run: RunId,
}

/// The values that a batch creates for the first call that needs them.
#[derive(Default)]
pub(super) struct OnDemand {
    suggestions: ToolSuggestions,
    /// The run to which memoized outputs belong if the calls are outside of a run.
    own_run: OnceLock<RunId>,
}

impl BatchContext {
    /// Returns the decisions on calls that were made before.
    pub(super) fn decisions(&self) -> &[Decision] {
        self.history.as_ref().map_or(&[], |history| &history.decisions)
    }

    /// Whether an approver was asked about this call of this tool before.
    pub(super) fn is_deferred(&self, request: &ApprovalRequest) -> bool {
        let ApprovalRequest { call, tool, .. } = request;
        let is_on = |deferred: &Decision| deferred.is_on(&call.id, tool, request.arguments_json());
        self.history.as_ref().is_some_and(|history| history.deferred.iter().any(is_on))
    }

    /// Returns the calls that started before, sorted by their ids.
    pub(super) fn suspended(&self) -> &[SuspendedCall] {
        self.history.as_ref().map_or(&[], |history| &history.suspended)
    }

    /// Whether this call has started before, in a process that ended since.
    pub(super) fn has_started_before(&self, call: &ToolCall) -> bool {
        self.history.as_ref().is_some_and(|history| history.started.contains(&call.id))
    }

    /// Whether a tool of this name was offered before and is no longer registered.
    pub(super) fn is_removed(&self, name: &str) -> bool {
        let removed = self.history.as_ref().map_or(&[][..], |history| &history.removed_tools);
        removed.binary_search_by(|removed| removed.as_str().cmp(name)).is_ok()
    }

    fn outer(&self) -> Option<&OuterCalls> {
        self.history.as_ref()?.outer.as_ref()
    }

    /// Returns the names of the tools whose calls this batch is nested in, outermost first.
    pub(super) fn outer_names(&self) -> &[String] {
        self.outer().map_or(&[], |outer| &outer.names)
    }

    /// Whether another process made the call and has applied its policy.
    pub(super) fn is_served(&self) -> bool {
        self.history.as_ref().is_some_and(|history| history.served_key.is_some())
    }

    /// Returns why calls end whose futures are dropped.
    pub(super) fn end_of_dropped_calls(&self) -> CallEnd {
        let BatchScope { permit, cancellation, .. } = &self.scope;
        let has_lost_lease = permit.as_ref().is_some_and(|permit| !permit.is_valid());
        let is_cancelled = cancellation.as_ref().is_some_and(CancellationToken::is_cancelled);
        let caller = self.history.as_ref().and_then(|history| history.caller.as_ref());
        match caller {
            _ if has_lost_lease => CallEnd::Dropped,
            _ if is_cancelled => CallEnd::Cancelled,
            None => CallEnd::Dropped,
            // If the caller still runs, it has decided not to wait any longer.
            Some(caller) if caller.end.get() == Some(CallEnd::Dropped) => CallEnd::Dropped,
            Some(_) => CallEnd::Cancelled,
        }
    }

    fn on_demand(&self) -> &OnDemand {
        self.on_demand.get_or_init(Box::default)
    }

    /// Returns the search for tools that unknown names may mean.
    pub(super) fn suggestions(&self) -> &ToolSuggestions {
        &self.on_demand().suggestions
    }

    /// Returns the run that the calls of the batch belong to.
    pub(super) fn run_context(&self) -> RunContext<'_> {
        self.scope.run_context(&self.state.extensions)
    }

    /// Checks the limit of nested calls, without which tools could call each other forever.
    pub(super) fn check_depth(&self) -> Result<(), (BlockReason, ToolError)> {
        if self.scope.origin.depth < MAX_DEPTH {
            return Ok(());
        }
        let most = MAX_DEPTH - 1;
        let text = format!("Not run: calls of tools may be nested at most {most} levels deep.");
        Err((BlockReason::Depth, ToolError::new(ToolErrorKind::Denied, text)))
    }

    /// Returns the event of a call that starts.
    pub(super) fn started_event(&self, call: &ToolCall) -> ToolEvent {
        let tool = self.tools.entry(&call.name).map(|entry| Box::new(entry.called_tool()));
        ToolEvent::Started { call: call.clone(), tool }
    }

    /// Returns the tool of a call that no part of the policy applies to: it runs once, without any
    /// check, and with no limit but its time.
    pub(super) fn unrestricted_tool(&self, call: &ToolCall) -> Option<&Entry> {
        let Self { state, scope, .. } = self;
        let is_open = scope.deadline.is_none() && scope.origin.depth == 0;
        if !is_open
            || call.is_doubtful
            || !call.leftover.is_empty()
            || !self.suspended().is_empty()
            || self.is_served()
            || !state.policy.is_plain()
            || self.abort.check().is_err()
        {
            return None;
        }
        let entry = self.tools.entry(&call.name)?;
        let tool = entry.definition();
        let is_unrestricted = tool.permission == Permission::Allow
            && tool.requires.is_empty()
            && tool.max_retries == 0
            && !tool.pure
            && !self.invalidates_reads(tool)
            && !state.rates.apply_to(entry);
        is_unrestricted.then_some(entry)
    }

    /// Whether a call of this tool may change what the memo holds.
    fn invalidates_reads(&self, tool: &ToolDefinition) -> bool {
        (self.tools.has_memoized_reads() || self.state.memo.has_reads()) && is_mutating(tool)
    }

    /// Records that a tool is about to run, if the memo has to know.
    pub(super) fn begin_write(&self, entry: &Entry) -> Option<WriteGuard> {
        let tool = entry.definition();
        let is_needed = self.invalidates_reads(tool);
        is_needed.then(|| self.state.memo.begin_write(self.memo_run(), tool))
    }

    /// Returns the run that memoized outputs belong to.
    pub(super) fn memo_run(&self) -> RunId {
        match (self.scope.origin.run, self.outer()) {
            (run, _) if run != RunId::default() => run,
            (_, Some(outer)) => outer.memo_run,
            (_, None) => *self.on_demand().own_run.get_or_init(RunId::random),
        }
    }

    /// Returns the tools that a model may call, whether they are available or not.
    pub(super) fn callable(&self) -> impl Iterator<Item = &Entry> {
        self.tools.entries().filter(|entry| self.state.is_callable(entry))
    }

    /// Redacts what the model and the program receive, and marks what people can't see in it.
    /// Results of nested calls are for the tool that made the calls, and stay as they are.
    pub(super) fn clean_result(&self, execution: &mut ToolExecution) {
        if self.is_outermost() {
            if let Some(redactor) = &self.scope.redactor {
                redactor.redact_result(execution);
            }
            execution.result.mark_invisible();
        }
    }

    /// Returns the end of a call that starts, perhaps again. A nested call is never answered by its
    /// run.
    pub(super) fn start_call(&self, call: &ToolCall) -> EndClaim {
        if self.is_outermost() {
            self.state.start_call(self.scope.origin.run, &call.id)
        } else {
            EndClaim::default()
        }
    }

    /// Whether the calls are the model's, rather than nested in the call of a tool.
    pub(super) fn is_outermost(&self) -> bool {
        self.outer().is_none()
    }

    /// Returns the tools whose calls this batch is nested in.
    pub(super) fn outer_tools(&self) -> Vec<&Entry> {
        self.outer_names().iter().filter_map(|name| self.tools.entry(name)).collect()
    }
}

/// The outputs of a batch that belongs to no run end with it.
impl Drop for BatchContext {
    fn drop(&mut self) {
        if let Some(run) = self.on_demand.get().and_then(|values| values.own_run.get()) {
            self.state.memo.end_run(*run);
        }
    }
}
