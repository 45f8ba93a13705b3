//! Whether a call may run: what its tool needs, what the program says, whoever is asked.

use std::sync::Arc;

use serde_json::Value;

use super::ApprovalRequest;
use super::policy::{is_granted, not_allowed};
use super::record::Record;
use super::running::Running;
use crate::event::{Gate, ToolEvent};
use crate::guard::guarded;
use crate::message::Arguments;
use crate::registry::Entry;
use crate::tool::args::settled;
use crate::tool::{Permission, ToolContext, ToolError};

/// Whether the call may run; and if somebody looked at its arguments, these, for they are what the
/// tool is then given.
pub(super) async fn permitted(
    running: &Running,
    entry: &Entry,
    ctx: &ToolContext,
    record: &mut Record,
) -> Result<Option<Arguments>, ToolError> {
    let Running { state, .. } = running;
    let definition = entry.definition();
    is_granted(definition, &state.policy.granted)
        .map_err(|error| record.block((Gate::Capability, error)))?;
    let of_tool = state.policy.permissions.of_tool(entry);
    let is_looked_at = of_tool == Permission::Ask && state.approvals.can_ask(&running.decisions)
        || of_tool != Permission::Deny && state.policy.permissions.looks_at_arguments();
    if !is_looked_at && of_tool == Permission::Allow {
        return Ok(None);
    }
    asked(running, entry, of_tool, is_looked_at, ctx, record).await
}

/// The same, where the program or somebody has to look at the call.
async fn asked(
    running: &Running,
    entry: &Entry,
    of_tool: Permission,
    is_looked_at: bool,
    ctx: &ToolContext,
    record: &mut Record,
) -> Result<Option<Arguments>, ToolError> {
    let Running { state, .. } = running;
    let definition = entry.definition();
    let mut request = ApprovalRequest {
        call: ctx.call().clone(),
        arguments: Value::Null,
        tool: Arc::clone(entry.shared_definition()),
        provider: entry.provider().map(ToOwned::to_owned),
        redactor: running.scope.redactor.clone(),
    };
    let mut looked_at = None;
    let mut permission = of_tool;
    if is_looked_at {
        let (value, json) = settled(definition, &ctx.call().arguments, ctx)?;
        request.arguments = value;
        ctx.record_decoded_json(&json);
        looked_at = Some(Arguments::from(json));
        permission = guarded(|| state.policy.permissions.of_call(of_tool, &request))
            .unwrap_or(Permission::Deny);
    }
    match permission {
        Permission::Allow => {}
        // Where it goes on, somebody let it begin.
        Permission::Ask if running.goes_on_from(ctx.call()).is_some() => {}
        Permission::Ask => {
            let asked = || {
                running.scope.tell(|| ToolEvent::Asked {
                    call: request.call.id.clone(),
                    tool: request.call.name.clone(),
                    arguments: request.arguments.clone(),
                });
            };
            let (run, decisions) = (running.scope.origin.run, &running.decisions);
            let (by, decided) = state.approvals.ask(&request, run, decisions, asked).await;
            record.decided_by.clone_from(&by);
            decided.map_err(|held| record.block(held))?;
            if let Some(by) = by {
                let call = &request.call.id;
                running.scope.tell(|| ToolEvent::Approved { call: call.clone(), by });
            }
        }
        Permission::Deny => {
            return Err(record.block((Gate::Permission, not_allowed(definition))));
        }
    }
    Ok(looked_at)
}
