//! Calls that a server runs as tasks (extension `io.modelcontextprotocol/tasks`).
//!
//! The server answers a call with the id of a task, whose state is polled until it has a result. A
//! task outlives the connection: polling continues when there is a new one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CancelTaskParams, CancelTaskRequest, ClientRequest, GetTaskParams, GetTaskRequest,
    InputRequests, InputRequiredResult, ServerResult, Task, TaskPayload, UpdateTaskParams,
    UpdateTaskRequest,
};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};
use tool_core::event::Progress;
use tool_core::{ToolError, ToolErrorKind};

use crate::client::calls::deadline;
use crate::client::calls::request_error::{RequestError, tool_error};
use crate::client::connect::link::Link;
use crate::client::connect::secrets::is_failure;
use crate::client::error::McpError;
use crate::client::questions::input::{InputHandler, InputState};
use crate::client::tools::text::{clean, clean_line};

/// The interval between two polls, if the server suggests none.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// The shortest and the longest interval between two polls.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(30));

/// How long the cancellation of a task may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of characters of a text of the server that are kept.
const MAX_CHARS: usize = 2_000;

/// A task on a server. Dropping it cancels the task.
pub(crate) struct RemoteTask<'c> {
    link: Arc<Link>,
    input: &'c InputHandler<'c>,
    id: String,
    interval: Duration,
    /// The requests for input that were answered. A server may take a while to notice.
    answered: BTreeSet<String>,
    status_message: Option<String>,
    is_done: bool,
}

impl<'c> RemoteTask<'c> {
    pub(crate) fn new(link: &Arc<Link>, input: &'c InputHandler<'c>, id: String) -> Self {
        let link = Arc::clone(link);
        let (answered, interval) = (BTreeSet::new(), INTERVALS.0);
        Self { link, input, id, interval, answered, status_message: None, is_done: false }
    }

    /// Returns the result of the call. `mark` marks a text of the server as untrusted.
    ///
    /// # Errors
    /// The task failed or was cancelled, the deadline passed, or the call is suspended: then
    /// `state` contains the task, and the responses of the next attempt are sent to it.
    pub(crate) async fn result(
        mut self,
        state: &mut InputState,
        deadline: Instant,
        mark: impl Fn(&str) -> String,
    ) -> Result<Value, ToolError> {
        state.task = Some(self.id.clone());
        let server = self.link.name.clone();
        loop {
            if !state.responses.is_empty() {
                let params = UpdateTaskParams::new(self.id.clone(), state.responses.clone());
                let request = UpdateTaskRequest::new(params).into();
                // An answer that may not have arrived is sent again: its key makes it the same.
                if self.request(request, "tasks/update", deadline, &mark).await?.is_none() {
                    self.wait(deadline).await?;
                    continue;
                }
                self.answered.extend(std::mem::take(&mut state.responses).into_keys());
            }
            self.wait(deadline).await?;
            let request = GetTaskRequest::new(GetTaskParams::new(self.id.clone())).into();
            let Some(polled) = self.request(request, "tasks/get", deadline, &mark).await? else {
                continue;
            };
            let ServerResult::GetTaskResult(polled) = polled else {
                let text = format!("The MCP server `{server}` sent no valid state of its task.");
                return Err(ToolError::failed(text));
            };
            self.observe(&polled.task.task);
            match polled.task.payload {
                TaskPayload::Completed { result } => {
                    self.is_done = true;
                    let mut result = Value::Object(result);
                    if is_failure(&result) {
                        self.link.target.secrets().redact_value(&mut result);
                    }
                    return Ok(result);
                }
                TaskPayload::Failed { error } => {
                    self.is_done = true;
                    let message = error.get("message").and_then(Value::as_str).unwrap_or("failed");
                    let message = self.link.target.secrets().redact(message);
                    return Err(ToolError::failed(mark(&clean(&message, MAX_CHARS))));
                }
                TaskPayload::Cancelled => {
                    self.is_done = true;
                    let text = format!("The MCP server `{server}` cancelled the call.");
                    return Err(ToolError::new(ToolErrorKind::Indeterminate, text));
                }
                TaskPayload::InputRequired { input_requests } => {
                    self.answer(state, input_requests).await?;
                }
                _ => {}
            }
        }
    }

    /// Answers the requests that are new.
    async fn answer(
        &mut self,
        state: &mut InputState,
        mut requests: InputRequests,
    ) -> Result<(), ToolError> {
        requests.retain(|key, _| !self.answered.contains(key));
        if requests.is_empty() {
            return Ok(());
        }
        let required = InputRequiredResult::from_input_requests(requests);
        let answered = self.input.required(state, required).await;
        // A suspended call continues with the task.
        self.is_done =
            matches!(&answered, Err(error) if error.kind() == ToolErrorKind::AwaitingApproval);
        answered
    }

    /// Waits until the next poll.
    async fn wait(&self, deadline: Instant) -> Result<(), ToolError> {
        let next = deadline::after(self.interval);
        sleep_until(next.min(deadline)).await;
        if next >= deadline { Err(self.timed_out()) } else { Ok(()) }
    }

    /// Waits longer before the next request, as long as the server asks for.
    fn back_off(&mut self, retry_after: Option<Duration>) {
        let doubled = self.interval * 2;
        let interval = retry_after.unwrap_or_default().max(doubled).max(DEFAULT_INTERVAL);
        self.interval = interval.min(INTERVALS.1);
    }

    fn timed_out(&self) -> ToolError {
        tool_error(&self.link.name, RequestError::TimedOut, false, str::to_owned)
    }

    /// Reports the message of the task as progress, and adopts its interval.
    fn observe(&mut self, task: &Task) {
        let interval = task.poll_interval_ms.map_or(DEFAULT_INTERVAL, Duration::from_millis);
        self.interval = interval.clamp(INTERVALS.0, INTERVALS.1);
        let secrets = || self.link.target.secrets();
        let message = task.status_message.as_ref().map(|text| secrets().redact(text));
        let message = message.map(|text| clean_line(&text, MAX_CHARS));
        if message.is_some() && message != self.status_message {
            self.status_message.clone_from(&message);
            self.input.ctx.progress(Progress { done: 0.0, total: None, message });
        }
    }

    /// Sends a request about the task. Returns `None` if the connection is down or the server is
    /// busy; then the next attempt waits longer.
    async fn request(
        &mut self,
        request: ClientRequest,
        operation: &'static str,
        deadline: Instant,
        mark: impl Fn(&str) -> String,
    ) -> Result<Option<ServerResult>, ToolError> {
        let Some(session) = self.link.session() else { return Ok(None) };
        match session.request(request, operation, deadline).await {
            Ok(result) => Ok(Some(result)),
            // Only the stream of the response may have ended: other calls use the connection. A
            // new session may know the task.
            Err(McpError::ConnectionLost { .. } | McpError::SessionExpired { .. }) => {
                self.back_off(None);
                Ok(None)
            }
            Err(McpError::Transport { .. }) => {
                self.back_off(None);
                self.link.suspect(&session);
                Ok(None)
            }
            Err(McpError::Busy { retry_after, .. }) => {
                self.back_off(retry_after);
                Ok(None)
            }
            Err(McpError::Timeout { .. }) => Err(self.timed_out()),
            Err(
                error @ (McpError::AuthorizationRequired { .. }
                | McpError::AuthorizationFailed { .. }),
            ) => {
                let text = error.to_model_text(&self.link.name);
                Err(ToolError::new(ToolErrorKind::Denied, text))
            }
            Err(McpError::Rpc { message, .. }) => Err(ToolError::failed(mark(&message))),
            Err(error) => Err(ToolError::failed(mark(&error.to_string()))),
        }
    }
}

impl Drop for RemoteTask<'_> {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.is_done, Handle::try_current()) else { return };
        let Some(session) = self.link.session() else { return };
        let request = CancelTaskRequest::new(CancelTaskParams::new(self.id.clone())).into();
        runtime.spawn(async move {
            let deadline = deadline::after(CANCEL_TIMEOUT);
            let _ = session.request(request, "tasks/cancel", deadline).await;
        });
    }
}
