//! The tool of a server as a tool of the runtime.

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetMeta as _,
    InputRequiredResult, JsonObject, ServerResult,
};
use rmcp::service::ServiceError;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};
use tool_runtime::{
    Arguments, Availability, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput, async_trait,
};

use super::challenge::MAX_CHALLENGES;
use super::content::ResultReader;
use super::input::{InputHandler, InputState};
use super::link::Link;
use super::request_error::{HttpFailure, RequestError, http_failure, tool_error};
use super::session::Session;
use super::status::McpStatus;
use super::task::RemoteTask;
use super::trace_context::copy_trace_context;
use super::traffic::RequestSlot;

/// The time limit of a call whose definition has none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Calls a tool of a server.
pub(super) struct RemoteTool {
    pub(super) definition: ToolDefinition,
    pub(super) link: Arc<Link>,
    pub(super) reader: ResultReader,
}

impl RemoteTool {
    /// Makes the call, until the server needs no more input.
    async fn exchange(
        &self,
        arguments: JsonObject,
        ctx: &ToolContext,
        deadline: Instant,
    ) -> Result<ToolOutput, ToolError> {
        let name = &self.definition.name;
        let input = InputHandler { link: &self.link, tool: name, ctx };
        let mut state = InputState::default();
        if let Some(resumed) = ctx.resumed() {
            state = resumed.state_as()?;
            let answer = resumed.answer().map(|answer| &answer.value);
            input.resumed(&mut state, answer).await?;
        }
        if let Some(task) = state.task.clone() {
            return self.follow(task, &input, &mut state, deadline).await;
        }
        let mut params = CallToolRequestParams::new(name.clone()).with_arguments(arguments);
        loop {
            params.request_state = state.request_state.take();
            let responses = std::mem::take(&mut state.responses);
            params.input_responses = (!responses.is_empty()).then_some(responses);
            let result = self.authorized(&params, &input, deadline).await;
            let result = result.map_err(|error| {
                let is_retry_safe = self.definition.is_retry_safe();
                let mark = |text: &str| self.reader.mark(text);
                tool_error(&self.link.name, error, is_retry_safe, mark)
            })?;
            if let ServerResult::InputRequiredResult(required) = result {
                input.required(&mut state, required).await?;
                continue;
            }
            if let ServerResult::CreateTaskResult(created) = result {
                return self.follow(created.task.task_id, &input, &mut state, deadline).await;
            }
            if let ServerResult::CallToolResult(result) = result {
                let CallToolResult { content, structured_content, is_error, .. } = result;
                let is_error = is_error.unwrap_or_default();
                return self.reader.read_blocks(content, structured_content, is_error);
            }
            let value = serde_json::to_value(result).unwrap_or_default();
            // A list of requests in which one is malformed.
            if let Ok(required) = InputRequiredResult::deserialize(&value) {
                input.required(&mut state, required).await?;
                continue;
            }
            return self.reader.read(value);
        }
    }

    /// Waits for the result of a task.
    async fn follow(
        &self,
        task: String,
        input: &InputHandler<'_>,
        state: &mut InputState,
        deadline: Instant,
    ) -> Result<ToolOutput, ToolError> {
        let task = RemoteTask::new(&self.link, input, task);
        let result = task.result(state, deadline, |text| self.reader.mark(text)).await?;
        self.reader.read(result)
    }

    /// Sends the request, again after each challenge that is answered.
    async fn authorized(
        &self,
        params: &CallToolRequestParams,
        input: &InputHandler<'_>,
        deadline: Instant,
    ) -> Result<ServerResult, RequestError> {
        let mut challenges = 0;
        loop {
            let session = self.link.session().ok_or(RequestError::Lost)?;
            let generation = self.link.challenges.generation();
            let result = self.send(&session, params.clone(), input, deadline).await;
            let Err(RequestError::Service(ServiceError::TransportSend(error))) = &result else {
                return result;
            };
            match http_failure(&*error.error) {
                HttpFailure::Unauthorized(challenge) if challenges < MAX_CHALLENGES => {
                    challenges += 1;
                    let answer = self.link.challenges.answer(challenge.as_deref(), generation);
                    if !matches!(timeout_at(deadline, answer).await, Ok(Ok(true))) {
                        return result;
                    }
                }
                HttpFailure::Unreachable | HttpFailure::SessionExpired => {
                    self.link.suspected.notify_one();
                    return result;
                }
                _ => return result,
            }
        }
    }

    /// Sends the request and waits for its result. Passes progress on and answers questions.
    async fn send(
        &self,
        session: &Session,
        params: CallToolRequestParams,
        input: &InputHandler<'_>,
        deadline: Instant,
    ) -> Result<ServerResult, RequestError> {
        let (slot, mut questions) = RequestSlot::of_call();
        let mut request: ClientRequest = CallToolRequest::new(params).into();
        copy_trace_context(input.ctx.metadata(), request.get_meta_mut());
        let mut request = session.start(request, Arc::clone(&slot), deadline).await?;
        let emit_progress = || {
            slot.take_progress().into_iter().for_each(|progress| input.ctx.progress(progress));
        };
        let mut answering: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
        let mut samples = 0;
        let mut expired = pin!(sleep_until(deadline));
        let result = loop {
            let is_idle = answering.is_none();
            let answered = async {
                match &mut answering {
                    Some(answer) => answer.as_mut().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                result = request.result() => break result,
                () = &mut expired => break Err(RequestError::TimedOut),
                () = answered => answering = None,
                () = slot.progressed() => emit_progress(),
                question = questions.recv(), if is_idle => {
                    let Some(question) = question else { continue };
                    answering = Some(Box::pin(input.answer(question, samples)));
                    samples += 1;
                }
            }
        };
        // What arrived before the result is reported before it.
        emit_progress();
        result
    }

    fn unavailable(&self) -> ToolError {
        let server = &self.link.name;
        let text = format!("The MCP server `{server}` is not connected; the call did not run.");
        ToolError::new(ToolErrorKind::Unavailable, text)
    }
}

#[async_trait]
impl Tool for RemoteTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn availability(&self) -> Availability {
        let server = &self.link.name;
        match &*self.link.status.borrow() {
            McpStatus::Connected { .. } => Availability::Available,
            status => Availability::Unavailable(format!("the MCP server `{server}` is {status}")),
        }
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.link.session().is_none() {
            return Err(self.unavailable());
        }
        let arguments = match args {
            Arguments::Text(text) => serde_json::from_str(&text).ok(),
            Arguments::Value(value) => Some(Arc::unwrap_or_clone(value)),
        };
        let Some(Value::Object(arguments)) = arguments else {
            return Err(ToolError::validation("The arguments must be a JSON object."));
        };
        let limit = self.definition.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let deadline = Instant::now() + limit;
        let deadline = ctx.deadline().map_or(deadline, |of_call| of_call.min(deadline));
        // Boxed: the futures of the SDK are large, and calls are kept in lists.
        Box::pin(self.exchange(arguments, ctx, deadline)).await
    }
}
