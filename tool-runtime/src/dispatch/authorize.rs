//! Authorization of a call: capabilities, permissions and approvals.

use std::sync::Arc;

use serde_json::Value;

use super::ApprovalRequest;
use super::context::BatchContext;
use super::policy::{check_capabilities, not_allowed};
use super::record::CallRecord;
use crate::event::{BlockReason, ToolEvent};
use crate::guard::catch_panic;
use crate::message::Arguments;
use crate::registry::Entry;
use crate::tool::args::validated_arguments;
use crate::tool::{Permission, ToolContext, ToolError};

/// Authorizes a call. If its arguments were examined, returns their validated form: the tool
/// receives exactly what was approved.
pub(super) async fn authorize(
    batch: &BatchContext,
    entry: &Entry,
    ctx: &ToolContext,
    record: &mut CallRecord,
) -> Result<Option<Arguments>, ToolError> {
    let policy = &batch.state.policy;
    check_capabilities(entry.definition(), &policy.granted)
        .map_err(|error| record.block((BlockReason::Capability, error)))?;
    let permission = policy.permissions.for_tool(entry);
    let can_ask =
        permission == Permission::Ask && batch.state.approvals.can_decide(&batch.decisions);
    let examines_arguments =
        can_ask || permission != Permission::Deny && policy.permissions.has_predicates();
    if !examines_arguments && permission == Permission::Allow {
        return Ok(None);
    }
    decide(batch, entry, permission, examines_arguments, ctx, record).await
}

/// Decides on a call by the predicates of the policy and by its approver.
async fn decide(
    batch: &BatchContext,
    entry: &Entry,
    tool_permission: Permission,
    examines_arguments: bool,
    ctx: &ToolContext,
    record: &mut CallRecord,
) -> Result<Option<Arguments>, ToolError> {
    let state = &batch.state;
    let definition = entry.definition();
    let mut request = ApprovalRequest {
        call: ctx.call().clone(),
        arguments: Value::Null,
        tool: Arc::clone(entry.shared_definition()),
        provider: entry.provider().map(ToOwned::to_owned),
        redactor: batch.scope.redactor.clone(),
    };
    let mut validated = None;
    let mut permission = tool_permission;
    if examines_arguments {
        let (value, json) = validated_arguments(definition, &ctx.call().arguments, ctx)?;
        request.arguments = value;
        ctx.record_json(&json);
        validated = Some(Arguments::from(json));
        let for_call = catch_panic(|| state.policy.permissions.for_call(tool_permission, &request));
        permission = for_call.unwrap_or(Permission::Deny);
    }
    match permission {
        Permission::Allow => {}
        // A resumed call was approved when it started.
        Permission::Ask if batch.suspended_state(ctx.call()).is_some() => {}
        Permission::Ask => {
            let on_request = || {
                batch.scope.emit(|| ToolEvent::ApprovalRequested {
                    call: request.call.id.clone(),
                    tool: request.call.name.clone(),
                    arguments: request.arguments.clone(),
                });
            };
            let (run, decisions) = (batch.scope.origin.run, &batch.decisions);
            let (by, decision) = state.approvals.decide(&request, run, decisions, on_request).await;
            record.decided_by.clone_from(&by);
            decision.map_err(|blocked| record.block(blocked))?;
            if let Some(by) = by {
                let call = &request.call.id;
                batch.scope.emit(|| ToolEvent::Approved { call: call.clone(), by });
            }
        }
        Permission::Deny => {
            return Err(record.block((BlockReason::Permission, not_allowed(definition))));
        }
    }
    Ok(validated)
}
