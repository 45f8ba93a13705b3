//! Authorization of a call: capabilities, permissions and approvals.

use std::sync::Arc;

use serde_json::Value;

use crate::dispatch::approval::approval_request::ApprovalRequest;
use crate::dispatch::approval::approve::void_decision;
use crate::dispatch::call::call_context::CallContext;
use crate::dispatch::context::BatchContext;
use crate::dispatch::policy::{CallPermission, check_capabilities, not_allowed};
use crate::event::{BlockReason, Review, ToolEvent};
use crate::guard::catch_panic;
use crate::tool::{Permission, ToolError, ToolErrorKind};

/// Returns the permission of the tool of a call, whatever the arguments are. Blocks the call if
/// the tool requires a capability that is not granted. The process that made a served call has
/// authorized it.
pub(crate) fn tool_permission(call: &mut CallContext<'_>) -> Result<Permission, ToolError> {
    if call.batch.is_served() {
        return Ok(Permission::Allow);
    }
    let policy = &call.batch.state.policy;
    check_capabilities(call.entry.definition(), &policy.granted)
        .map_err(|error| call.record.block((BlockReason::Capability, error)))?;
    Ok(policy.permissions.for_tool(call.entry))
}

/// Whether a predicate or an approver examines the arguments of calls with this permission.
pub(crate) fn examines_arguments(batch: &BatchContext, permission: Permission) -> bool {
    let can_ask = || batch.state.approvals.can_decide(batch.decisions());
    !batch.is_served()
        && (permission == Permission::Ask && can_ask()
            || permission != Permission::Deny && batch.state.policy.permissions.has_predicates())
}

/// Authorizes a call: by the permission of its tool, by the predicates of the policy, and by an
/// approver.
pub(crate) async fn authorize(
    call: &mut CallContext<'_>,
    permission: Permission,
) -> Result<(), ToolError> {
    let is_examined = examines_arguments(call.batch, permission);
    if permission == Permission::Allow && !is_examined {
        return Ok(());
    }
    let mut request = ApprovalRequest {
        call: call.ctx.call().clone(),
        arguments: Value::Null,
        json: call.arguments().clone(),
        tool: Arc::clone(call.entry.shared_definition()),
        provider: call.entry.provider().map(ToOwned::to_owned),
        preview: None,
        redactor: call.batch.scope.redactor.clone(),
    };
    // The predicates examine no call that is denied already, even if its arguments are known.
    let Some(validated) = call.validated.as_mut().filter(|_| is_examined) else {
        return decide(call, permission.into(), &request).await;
    };
    call.ctx.record_json(&validated.json.to_text());
    request.arguments = std::mem::take(&mut validated.value);
    let permissions = &call.batch.state.policy.permissions;
    let run = call.ctx.run_context();
    let for_call = catch_panic(|| permissions.for_call(permission, &request, run));
    let for_call = for_call.unwrap_or_else(|panic| {
        call.record.add_failure(format!("a permission predicate {panic}"));
        Permission::Deny.into()
    });
    let decided = decide(call, for_call, &request).await;
    if let Some(validated) = &mut call.validated {
        validated.value = request.arguments;
    }
    decided
}

/// Lets the tool of a call that could be approved check its validated arguments, so that no
/// person decides on a call that the tool refuses.
fn check_arguments(call: &CallContext<'_>) -> Result<(), ToolError> {
    let CallContext { batch, entry, ctx, .. } = *call;
    if call.validated.is_none() || !batch.state.approvals.can_decide(batch.decisions()) {
        return Ok(());
    }
    let checked = catch_panic(|| entry.tool().check_arguments(call.arguments(), ctx));
    checked.unwrap_or_else(|panic| {
        let text = format!("`{}` failed to check its arguments.", entry.name());
        Err(ToolError::new(ToolErrorKind::Panicked, text).with_source(panic.to_string()))
    })
}

/// Applies the permission of a call, and asks the approver if necessary.
async fn decide(
    call: &mut CallContext<'_>,
    CallPermission { permission, reason }: CallPermission,
    request: &ApprovalRequest,
) -> Result<(), ToolError> {
    let CallContext { batch, entry, ctx, .. } = *call;
    match permission {
        Permission::Allow => Ok(()),
        // A resumed call was approved when it started.
        Permission::Ask if batch.is_resumed(&request.call, entry) => Ok(()),
        Permission::Ask => {
            check_arguments(call)?;
            let id = &request.call.id;
            let approvals = &batch.state.approvals;
            let run = ctx.run_context().run_id();
            let runs = &batch.state.runs;
            let void_decision = void_decision(request, run, runs, batch.decisions());
            let mut preview = None;
            let on_request = |previewed: &ApprovalRequest| {
                preview.clone_from(&previewed.preview);
                if batch.is_deferred(request) {
                    return;
                }
                batch.scope.emit(|| ToolEvent::ApprovalRequested {
                    call: id.clone(),
                    tool: request.call.name.clone(),
                    arguments: request.arguments_json().to_owned(),
                    title: entry.definition().title.clone(),
                    expires_at: batch.scope.deadline.map(|at| batch.scope.clock.at(at)),
                    void_decision: void_decision.clone(),
                    preview: previewed.preview.clone(),
                });
            };
            let decision =
                approvals.decide(request, ctx.run_context(), runs, batch.decisions(), on_request);
            let (decided_by, decision) = decision.await;
            // An approval for the run may have evicted those of another one.
            batch.state.report_evicted_runs();
            if let Err(blocked) = decision {
                let blocked = not_deferred(batch, request, blocked);
                let preview = preview.filter(|_| blocked.0 == BlockReason::Pending);
                let review = Review { decided_by, void_decision, preview, ..Review::default() };
                call.record.set_review(review);
                return Err(call.record.block(blocked));
            }
            if let Some(approved_by) = decided_by {
                let review = Review { decided_by: Some(approved_by.clone()), ..Review::default() };
                call.record.set_review(review);
                batch.scope.emit(|| ToolEvent::Approved { call: id.clone(), approved_by });
            }
            Ok(())
        }
        Permission::Deny => {
            let error = not_allowed(entry.definition(), reason.as_deref());
            Err(call.record.block((BlockReason::Permission, error)))
        }
    }
}

/// Replaces a deferred decision on a resumed call by a denial. If the call became pending for the
/// decision, it would lose the state of its tool and start a second time.
fn not_deferred(
    batch: &BatchContext,
    request: &ApprovalRequest,
    blocked: (BlockReason, ToolError),
) -> (BlockReason, ToolError) {
    if blocked.0 != BlockReason::Pending || batch.resumed_call(&request.call).is_none() {
        return blocked;
    }
    let text = format!("`{}` has changed since then, and needs approval again.", request.tool.name);
    (BlockReason::Approver, ToolError::new(ToolErrorKind::Denied, text))
}
