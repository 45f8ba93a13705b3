//! Tool calls: from `tools/call` to the dispatcher and back.
//!
//! 1. `mod.rs` finds the tool and gives the call a new id, because ids of MCP requests repeat.
//! 2. `run.rs` dispatches it, with `observer.rs` watching for progress and approvals.
//! 3. If the call is pending, `pending.rs` converts the approval or question into questions to the
//!    client. Either the client is asked at once, or `seal.rs` seals the state of the call and the
//!    client sends it back with the answers.
//! 4. `outbox.rs` in the folder above sends what comes before the answer.

mod observer;
mod pending;
mod resume;
mod run;
pub(crate) mod seal;

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tool_core::dispatch::RunInfo;
use tool_core::event::RunId;
use tool_core::registry::Entry;
use tool_core::{Dispatcher, Registry, ToolCall};

use super::Access;
use super::McpRequest;
use super::Shared;
use super::connection::session::Session;
use super::errors::unknown;
use resume::Resume;
pub(crate) use run::{Invocation, ask, input_required};
use seal::Sealed;

/// Answers `tools/call`.
pub(crate) async fn call_tool(
    session: &Session,
    params: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let request = session.request(context);
    let mut invocation = Box::new(prepare(&session.shared, params, request)?);
    match session.shared.tasks.as_ref() {
        Some(tasks) if tasks.applies_to(&invocation)? => tasks.start(*invocation),
        _ => invocation.respond(&session.shared.seals).await,
    }
}

fn prepare(
    shared: &Shared,
    params: CallToolRequestParams,
    request: McpRequest,
) -> Result<Invocation, ErrorData> {
    let access = request.access();
    let dispatcher = match access.and_then(|access| access.dispatcher.clone()) {
        Some(dispatcher) => dispatcher,
        None => shared.dispatcher()?.clone(),
    };
    let tools = registry(shared, access)?.snapshot();
    let Some(definition) = tools.entry(&params.name).map(Entry::shared_definition).cloned() else {
        return Err(unknown("tool", &params.name));
    };
    let arguments = Value::Object(params.arguments.unwrap_or_default());
    let sealed: Option<Sealed> = match params.request_state {
        Some(state) => {
            let kind = seal::Kind::Tool;
            let binding = seal::binding(kind, request.principal(), &params.name, &arguments);
            Some(shared.seals.open(&state, &binding)?)
        }
        None => None,
    };
    let id = match &sealed {
        Some(sealed) => sealed.call.clone(),
        None => RunId::random().to_string().into(),
    };
    let resume = match sealed {
        Some(sealed) => sealed.resume(&definition, params.input_responses.unwrap_or_default()),
        None => Resume::default(),
    };
    let run_info = run_info(&request);
    let call = ToolCall::new(id, params.name.into_owned(), arguments);
    Ok(Invocation { dispatcher, tools, definition, call, request, run_info, resume })
}

/// Returns the tools that the caller may use.
pub(crate) fn registry(shared: &Shared, access: Option<&Access>) -> Result<Registry, ErrorData> {
    let view = access.and_then(|access| access.registry.as_ref());
    let dispatcher = access.and_then(|access| access.dispatcher.as_ref());
    match view.or_else(|| dispatcher.map(Dispatcher::registry)) {
        Some(registry) => Ok(registry.clone()),
        None => Ok(shared.dispatcher()?.registry().clone()),
    }
}

/// Collects the metadata of the caller and of the request.
fn run_info(request: &McpRequest) -> Option<Arc<RunInfo>> {
    let access = request.access();
    let mut traces = ["traceparent", "tracestate", "baggage"].into_iter().filter_map(|key| {
        let value = request.meta().get(key)?.as_str()?;
        Some((key, value))
    });
    let first = traces.next();
    if access.is_none() && first.is_none() {
        return None;
    }
    let mut info = RunInfo::default();
    if let Some(access) = access {
        info.metadata.clone_from(&access.metadata);
        info = info.metadata("principal", access.principal());
    }
    for (key, value) in first.into_iter().chain(traces) {
        info = info.metadata(key, value);
    }
    Some(Arc::new(info))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every request moves its future, so what happens rarely has to stay in boxes.
    #[test]
    fn future_of_a_call_is_small() {
        type Context = RequestContext<RoleServer>;

        fn size<'a, F>(_: impl Fn(&'a Session, CallToolRequestParams, Context) -> F) -> usize {
            size_of::<F>()
        }

        let size = size(call_tool);
        assert!(size <= 6_144, "{size} bytes");
    }
}
