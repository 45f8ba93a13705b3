//! Approvals: decisions on calls of tools with `permission = "ask"`.

use std::fmt;
use std::sync::Arc;

use crate::dispatch::approval::approval_request::ApprovalRequest;
use crate::dispatch::approval::preview::Previewers;
use crate::dispatch::runs::Runs;
use crate::event::{BlockReason, RunId};
use crate::guard::{Panic, await_guarded, catch_panic};
use crate::tool::{
    Approval, Decision, MAX_PENDING_LEVELS, RunApproval, RunContext, ToolDefinition, ToolError,
    ToolErrorKind, can_be_pending, definition_changed,
};
use async_trait::async_trait;

/// Decides whether a call may run.
///
/// The dispatcher asks the approver about each call of a tool with `permission = "ask"`. It asks
/// after the arguments are validated, so an approval applies to the arguments that the tool
/// receives. If there is no approver, or if it panics, the call is refused.
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver};
/// use tool_runtime::{
///     Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tool, tools,
/// };
///
/// struct SmallAmounts;
///
/// #[async_trait]
/// impl Approver for SmallAmounts {
///     async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
///         match request.arguments["amount"].as_u64() {
///             Some(0..=100) => Approval::Once,
///             _ => Approval::Deny("at most 100 may be paid".into()),
///         }
///     }
/// }
///
/// /// Pays an amount.
/// #[tool(permission = "ask")]
/// async fn pay(to: String, amount: u32) -> String {
///     format!("{amount} paid to {to}")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let policy = Policy::new().approver(SmallAmounts);
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![pay])?).policy(policy);
/// let calls = ["5", "500"].map(|amount| {
///     ToolCall::new(amount, "pay", format!(r#"{{"to": "Ada", "amount": {amount}}}"#))
/// });
/// let executions = dispatcher.dispatch(calls.into()).await;
/// assert_eq!(executions[0].result.text, "5 paid to Ada");
/// assert_eq!(executions[1].result.text, "`pay` was not approved: at most 100 may be paid");
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't approve calls",
    label = "implement `Approver` for a type of your own, under `#[async_trait]`",
    note = "for a closure, call `Policy::approve_with`; to decide after the run has paused, pass `AskLater`"
)]
#[async_trait]
pub trait Approver: Send + Sync {
    /// Decides on one call. `ctx` has the agent, the run and the session that it belongs to.
    ///
    /// Return [`Approval::Defer`] to decide later: an agent's run then pauses with
    /// [`AwaitingApproval`](crate::StopReason::AwaitingApproval).
    ///
    /// # Cancellation
    /// The future is dropped if the run is cancelled or the deadline of the batch passes.
    async fn approve(&self, request: &ApprovalRequest, ctx: &RunContext<'_>) -> Approval;

    /// Returns the name of the approver in events and executions. Default: `approver`.
    fn name(&self) -> &str {
        "approver"
    }
}

/// Returns an approver that calls a function.
pub(crate) fn approve_function<A: Future<Output = Approval> + Send + 'static>(
    approve: impl Fn(ApprovalRequest) -> A + Send + Sync + 'static,
) -> impl Approver {
    struct ApproveFunction<F>(F);

    #[async_trait]
    impl<F, A> Approver for ApproveFunction<F>
    where
        F: Fn(ApprovalRequest) -> A + Send + Sync,
        A: Future<Output = Approval> + Send,
    {
        async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
            (self.0)(request.clone()).await
        }
    }

    ApproveFunction(approve)
}

/// An approver that defers every decision, so that the run pauses until decisions arrive.
///
/// The run stops with [`AwaitingApproval`](crate::StopReason::AwaitingApproval), which holds the
/// serializable run. Persist it, collect the decisions, and pass it to
/// [`Agent::resume`](crate::Agent::resume), in this or another process.
///
/// If the run belongs to a [sub-agent](crate::agent::SubAgent), the run of the calling agent pauses
/// as well, and the decisions are made on the [nested run](crate::agent::Paused#nested-runs).
///
/// Any other call that a tool makes can't pause, since its tool waits for the result: the tool
/// receives the error `TOOL_AWAITING_APPROVAL` and may continue without it.
///
/// ```
/// use tool_runtime::dispatch::AskLater;
/// use tool_runtime::{Dispatcher, Policy, Registry, ToolCall, tool, tools};
///
/// /// Deletes a file.
/// #[tool(permission = "ask")]
/// async fn delete(path: String) -> String {
///     format!("{path} is deleted")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let policy = Policy::new().approver(AskLater);
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![delete])?).policy(policy);
/// let call = ToolCall::new("1", "delete", r#"{"path": "draft.txt"}"#);
/// let executions = dispatcher.dispatch(vec![call]).await;
/// assert!(executions[0].is_pending());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AskLater;

#[async_trait]
impl Approver for AskLater {
    async fn approve(&self, _: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
        Approval::Defer
    }
}

/// The approver, and what it is shown.
#[derive(Clone, Default)]
pub(crate) struct Approvals {
    approver: Option<Arc<dyn Approver>>,
    previewers: Previewers,
}

impl Approvals {
    pub(crate) fn new(approver: Arc<dyn Approver>, previewers: Previewers) -> Self {
        Self { approver: Some(approver), previewers }
    }

    /// Whether a call can be approved at all.
    pub(crate) fn can_decide(&self, decisions: &[Decision]) -> bool {
        self.approver.is_some() || !decisions.is_empty()
    }

    /// Decides on a call: by an earlier decision on it, by an approval of its tool for the run, or
    /// else by the approver. Returns the name of the approver, and the reason if the call is
    /// blocked.
    ///
    /// `on_request` receives the request, with its preview, before the approver is asked.
    pub(crate) async fn decide(
        &self,
        request: &ApprovalRequest,
        ctx: RunContext<'_>,
        runs: &Runs,
        decisions: &[Decision],
        on_request: impl FnOnce(&ApprovalRequest),
    ) -> (Option<String>, Result<(), (BlockReason, ToolError)>) {
        let (name, full_name) = (&request.tool.name, request.tool.full_name());
        let run = ctx.run_id();
        let decision = decisions
            .iter()
            .find(|it| it.is_on(&request.call.id, &request.tool, request.arguments_json()));
        // A decision on this call takes precedence over an approval of its tool.
        if decision.is_none()
            && let Some(decided_by) = approved_for_run(runs, run, &request.tool)
        {
            return (Some(decided_by), Ok(()));
        }
        let (approval, decided_by) = match (decision, &self.approver) {
            (Some(decision), _) => (decision.approval.clone(), decision.decided_by.clone()),
            (None, None) => {
                let text = format!("`{name}` needs approval, but no approver is configured.");
                let denied = ToolError::new(ToolErrorKind::Denied, text);
                return (None, Err((BlockReason::Approver, denied)));
            }
            (None, Some(approver)) => {
                let request = &self.previewers.preview(request).await;
                on_request(request);
                let decided_by = catch_panic(|| approver.name().to_owned());
                let decided_by = decided_by.unwrap_or_else(|Panic(_)| "approver".to_owned());
                match await_guarded(|| approver.approve(request, &ctx)).await {
                    Ok(approval) => (approval, decided_by),
                    Err(panic) => {
                        let text =
                            format!("`{name}` was not approved: the approver failed to decide");
                        let error = ToolError::new(ToolErrorKind::Denied, text)
                            .with_source(format!("the approver {panic}"));
                        return (Some(decided_by), Err((BlockReason::Approver, error)));
                    }
                }
            }
        };
        let denied =
            |text| Err((BlockReason::Approver, ToolError::new(ToolErrorKind::Denied, text)));
        match approval {
            Approval::Once => (Some(decided_by), Ok(())),
            Approval::ForRun => {
                let fingerprint = Some(request.tool.fingerprint());
                let approval = RunApproval { decided_by: decided_by.clone(), fingerprint };
                runs.approve(run, full_name, approval);
                (Some(decided_by), Ok(()))
            }
            Approval::Deny(reason) => {
                (Some(decided_by), denied(format!("`{name}` was not approved: {reason}")))
            }
            Approval::Defer if !can_be_pending(&request.arguments) => {
                let text = format!(
                    "`{name}` was not run: it awaits approval, and its arguments have too many levels to be saved \
                     until then. Send them with fewer levels: at most {MAX_PENDING_LEVELS}."
                );
                (Some(decided_by), denied(text))
            }
            Approval::Defer => {
                let text = format!("`{name}` was not run: it awaits approval.");
                let pending = ToolError::new(ToolErrorKind::AwaitingApproval, text);
                (None, Err((BlockReason::Pending, pending)))
            }
        }
    }
}

/// Returns why an earlier decision on this call, or one for the rest of the run, does not apply to
/// it; `None` if there is no such decision.
pub(crate) fn void_decision(
    request: &ApprovalRequest,
    run: RunId,
    runs: &Runs,
    decisions: &[Decision],
) -> Option<String> {
    let (tool, json) = (&request.tool, request.arguments_json());
    if let Some(decision) = decisions.iter().rev().find(|it| it.call == request.call.id) {
        let change = decision.change(tool, json)?;
        return Some(format!("decision of {} is void: {change}", decision.decided_by));
    }
    let name = tool.full_name();
    let approval = runs.approval(run, name)?;
    let is_void = approval.fingerprint != Some(tool.fingerprint());
    let (by, change) = (approval.decided_by, definition_changed(name));
    is_void.then(|| format!("decision of {by} for the run is void: {change}"))
}

/// Returns who approved this definition of a tool for the rest of the run.
fn approved_for_run(runs: &Runs, run: RunId, definition: &ToolDefinition) -> Option<String> {
    let approval = runs.approval(run, definition.full_name())?;
    (approval.fingerprint == Some(definition.fingerprint())).then_some(approval.decided_by)
}

impl fmt::Debug for Approvals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approvals")
            .field("has_approver", &self.approver.is_some())
            .finish_non_exhaustive()
    }
}
