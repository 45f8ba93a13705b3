//! Executes the calls that a script waits for, under the time limit and the cancellation of its
//! run.

use tokio::time::timeout_at;
use tool_core::{ToolCall, ToolContext, ToolErrorKind, ToolExecution};

use super::error::ScriptError;
#[cfg(feature = "fetch")]
use super::fetch::{Client, Requests};
use super::host_call::{HostCall, HostRequest, HostResult};
use super::watch::{Stop, Watch};

/// The clients that execute calls of a script which are not those of tools.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    /// Sends requests over the network.
    #[cfg(feature = "fetch")]
    pub(super) client: Option<Client>,
}

impl Host {
    /// Executes calls of tools as one batch, and requests over the network meanwhile.
    pub(super) async fn execute(
        &self,
        calls: Vec<HostCall>,
        ctx: &ToolContext,
        watch: &Watch,
    ) -> Result<Vec<(u32, HostResult)>, ScriptError> {
        let results = watch.cancellation().run_until_cancelled(self.results(calls, ctx));
        let results = timeout_at(watch.deadline().into(), results).await;
        let results = results.map_err(|_| ScriptError::Stopped(Stop::Deadline))?;
        results.ok_or(ScriptError::Stopped(Stop::Cancelled))
    }

    async fn results(&self, calls: Vec<HostCall>, ctx: &ToolContext) -> Vec<(u32, HostResult)> {
        let (mut ids, mut batch) = (Vec::new(), Vec::new());
        #[cfg(feature = "fetch")]
        let mut requests = Requests::default();
        for HostCall { id, request } in calls {
            match request {
                HostRequest::Tool { name, arguments } => {
                    ids.push(id);
                    batch.push(ToolCall::new("", name, arguments));
                }
                #[cfg(feature = "fetch")]
                HostRequest::Fetch(request) => {
                    if let Some(client) = &self.client {
                        requests.start(id, client, request, ctx);
                    }
                }
            }
        }
        let executions = if batch.is_empty() { Vec::new() } else { ctx.dispatch(batch).await };
        let results = ids.into_iter().zip(executions.iter().map(host_result)).collect();
        #[cfg(feature = "fetch")]
        let results = requests.join(results).await;
        results
    }
}

fn host_result(execution: &ToolExecution) -> HostResult {
    // The dispatcher would suggest tools that this one can't call, and this one itself.
    if execution.attempts == 0 && execution.failed_with(ToolErrorKind::NotFound.code()) {
        let name = &execution.call.name;
        return HostResult::Error(format!("No tool named `{name}` is registered now."));
    }
    if !execution.is_success() {
        return HostResult::Error(execution.result.text.clone());
    }
    match execution.structured_value() {
        Some(value) => HostResult::Json(value.to_string()),
        None => {
            let text = execution.full_text.as_ref().unwrap_or(&execution.result.text);
            HostResult::Text(text.clone())
        }
    }
}
