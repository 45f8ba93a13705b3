//! The tool of a server as a tool of the runtime.

use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, GetMeta as _,
    InputRequiredResult, MetaObject, ServerResult,
};
use rmcp::service::ServiceError;
use rmcp::transport::DynamicTransportError;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};
use tool_core::{
    Arguments, Availability, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput, async_trait,
};

#[cfg(feature = "tracing")]
use crate::client::calls::call_span;
use crate::client::calls::content::ResultReader;
use crate::client::calls::deadline;
use crate::client::calls::metadata::record_result_meta;
use crate::client::calls::request_error::{HttpFailure, RequestError, http_failure, tool_error};
use crate::client::calls::rounded_number::rounded_number;
use crate::client::calls::task::RemoteTask;
use crate::client::challenge::MAX_CHALLENGES;
use crate::client::connect::link::Link;
use crate::client::connect::session::Session;
use crate::client::questions::input::{InputHandler, InputState, MAX_STATE_BYTES, QuestionCounts};
use crate::client::status::McpStatus;
use crate::client::wire::traffic::RequestSlot;

/// The time limit of a call whose definition has none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// A request that could not be delivered.
struct FailedSend {
    error: DynamicTransportError,
    /// The connection on which it was sent.
    session: Arc<Session>,
    /// The generation of the credentials with which it was sent.
    generation: u64,
}

/// Calls a tool of a server.
pub(crate) struct RemoteTool {
    pub(crate) definition: ToolDefinition,
    pub(crate) link: Arc<Link>,
    pub(crate) reader: ResultReader,
}

impl RemoteTool {
    /// Makes the call, until the server needs no more input.
    ///
    /// What happens rarely is boxed, so that it does not enlarge the future of every call.
    async fn exchange(
        &self,
        args: &Arguments,
        ctx: &ToolContext,
        deadline: Instant,
    ) -> Result<ToolOutput, ToolError> {
        let input = InputHandler { link: &self.link, tool: &self.definition.name, ctx };
        let mut state = InputState::default();
        if let Some(resumed) = ctx.resumed() {
            state = resumed.state_as()?;
            let answer = resumed.answer.as_ref().map(|answer| &answer.value);
            Box::pin(input.resumed(&mut state, answer)).await?;
        }
        if let Some(task) = state.task.clone() {
            return Box::pin(self.follow(task, &input, &mut state, deadline)).await;
        }
        loop {
            let params = self.params(args, &mut state, ctx)?;
            let result = self.authorized(params, &input, &mut state.counts, deadline).await;
            let result = result.map_err(|error| {
                let is_retry_safe = self.definition.is_retry_safe();
                let mark = |text: &str| self.reader.mark(text);
                tool_error(&self.link.name, error, is_retry_safe, mark)
            })?;
            let required = match result {
                ServerResult::CallToolResult(result) => {
                    let CallToolResult { content, structured_content, is_error, meta, .. } = result;
                    if let Some(MetaObject(meta)) = meta {
                        record_result_meta(meta, self.reader.limits.max_meta_bytes, ctx);
                    }
                    let is_error = is_error.unwrap_or_default();
                    return self.reader.read_blocks(content, structured_content, is_error);
                }
                ServerResult::InputRequiredResult(required) => required,
                ServerResult::CreateTaskResult(created) => {
                    let task = created.task.task_id;
                    return Box::pin(self.follow(task, &input, &mut state, deadline)).await;
                }
                other => {
                    let value = serde_json::to_value(other).unwrap_or_default();
                    // A list of requests in which one is malformed.
                    match InputRequiredResult::deserialize(&value) {
                        Ok(required) => required,
                        Err(_) => return self.read(value, ctx),
                    }
                }
            };
            Box::pin(input.required(&mut state, required)).await?;
        }
    }

    /// Returns the parameters of the next request, with the answers of the state.
    fn params(
        &self,
        args: &Arguments,
        state: &mut InputState,
        ctx: &ToolContext,
    ) -> Result<CallToolRequestParams, ToolError> {
        let arguments = match args {
            Arguments::Text(text) => {
                // The user may have approved other digits than the server would receive.
                if let Some(number) = rounded_number(text) {
                    let text = format!(
                        "The number {number} has too many digits: send one that fits 64 bits."
                    );
                    return Err(ToolError::invalid_arguments(text));
                }
                serde_json::from_str(text).ok()
            }
            Arguments::Value(value) => value.as_object().cloned(),
        };
        let Some(arguments) = arguments else {
            return Err(ToolError::invalid_arguments("The arguments must be a JSON object."));
        };
        let name = self.definition.name.clone();
        let mut params = CallToolRequestParams::new(name).with_arguments(arguments);
        let hook = &self.link.options.call_meta;
        params.meta = hook.of_call(&self.link.name, &self.definition.name, ctx)?;
        params.request_state = state.request_state.take();
        let responses = std::mem::take(&mut state.responses);
        params.input_responses = (!responses.is_empty()).then_some(responses);
        Ok(params)
    }

    /// Waits for the result of a task.
    async fn follow(
        &self,
        task: String,
        input: &InputHandler<'_>,
        state: &mut InputState,
        deadline: Instant,
    ) -> Result<ToolOutput, ToolError> {
        if task.len() > MAX_STATE_BYTES {
            return Err(input.failed("the id of its task is too long"));
        }
        let task = RemoteTask::new(&self.link, input, task);
        let result = task.result(state, deadline, |text| self.reader.mark(text)).await?;
        self.read(result, input.ctx)
    }

    /// Converts a result, and records its metadata.
    fn read(&self, mut result: Value, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if let Some(Value::Object(meta)) = result.get_mut("_meta").map(Value::take) {
            record_result_meta(meta, self.reader.limits.max_meta_bytes, ctx);
        }
        self.reader.read(result)
    }

    /// Sends the request, again after each challenge that is answered.
    async fn authorized(
        &self,
        params: CallToolRequestParams,
        input: &InputHandler<'_>,
        counts: &mut QuestionCounts,
        deadline: Instant,
    ) -> Result<ServerResult, RequestError> {
        let copy = self.link.challenges.can_answer().then(|| params.clone());
        let generation = self.link.challenges.generation();
        let session = self.link.session().ok_or(RequestError::Lost)?;
        match self.send(&session, params, input, counts, deadline).await {
            Err(RequestError::Service(ServiceError::TransportSend(error))) => {
                let failed = FailedSend { error, session, generation };
                Box::pin(self.challenged(failed, copy, input, counts, deadline)).await
            }
            result => result,
        }
    }

    /// Handles the failure of a request with the parameters, and sends it again if it was
    /// challenged.
    async fn challenged(
        &self,
        failed: FailedSend,
        params: Option<CallToolRequestParams>,
        input: &InputHandler<'_>,
        counts: &mut QuestionCounts,
        deadline: Instant,
    ) -> Result<ServerResult, RequestError> {
        let FailedSend { mut error, mut session, mut generation } = failed;
        let challenges = &self.link.challenges;
        let mut count = 0;
        loop {
            let challenge = match http_failure(&*error.error) {
                HttpFailure::Unauthorized(challenge) => challenge,
                HttpFailure::Unreachable => {
                    self.link.suspect(&session);
                    None
                }
                _ => None,
            };
            count += 1;
            let failed = RequestError::Service(ServiceError::TransportSend(error));
            let (Some(params), true) = (&params, challenge.is_some() && count <= MAX_CHALLENGES)
            else {
                return Err(failed);
            };
            let answer = challenges.answer(challenge.as_deref(), generation);
            if !matches!(timeout_at(deadline, answer).await, Ok(Ok(true))) {
                return Err(failed);
            }
            generation = challenges.generation();
            session = self.link.session().ok_or(RequestError::Lost)?;
            match self.send(&session, params.clone(), input, counts, deadline).await {
                Err(RequestError::Service(ServiceError::TransportSend(next))) => error = next,
                result => return result,
            }
        }
    }

    /// Sends the request and waits for its result. Passes progress on and answers questions.
    async fn send(
        &self,
        session: &Session,
        params: CallToolRequestParams,
        input: &InputHandler<'_>,
        counts: &mut QuestionCounts,
        deadline: Instant,
    ) -> Result<ServerResult, RequestError> {
        let slot = RequestSlot::of_call();
        let mut request: ClientRequest = CallToolRequest::new(params).into();
        let trace = &self.link.options.trace_context;
        trace.add(input.ctx.metadata(), request.get_meta_mut());
        let mut request = session.start(request, Arc::clone(&slot), deadline).await?;
        #[cfg(feature = "tracing")]
        call_span::record_request(&self.link, session, request.id());
        let emit_progress = || {
            slot.take_progress().into_iter().for_each(|progress| input.ctx.progress(progress));
        };
        let mut answering: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
        let mut expired = pin!(sleep_until(deadline));
        let result = loop {
            if answering.is_none()
                && let Some(question) = slot.take_question()
            {
                let earlier = counts.count(&question);
                answering = Some(Box::pin(input.answer(question, earlier)));
            }
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
                () = slot.new_messages() => emit_progress(),
            }
        };
        // What arrived before the result is reported before it.
        emit_progress();
        #[cfg(feature = "tracing")]
        call_span::record_error(&result);
        result
    }

    fn unavailable(&self) -> ToolError {
        let server = &self.link.name;
        let status = match &*self.link.status.borrow() {
            status @ McpStatus::Connecting => status.to_model_text(),
            _ => "not connected".to_owned(),
        };
        let text = format!("The MCP server `{server}` is {status}; the call did not run.");
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
            status => {
                let status = status.to_model_text();
                Availability::Unavailable(format!("the MCP server `{server}` is {status}"))
            }
        }
    }

    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.link.session().is_none() {
            return Err(self.unavailable());
        }
        let limit = self.definition.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let deadline = deadline::after(limit);
        let deadline = ctx.deadline().map_or(deadline, |of_call| of_call.min(deadline));
        self.exchange(&args, ctx, deadline).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every call moves and allocates its future, so what happens rarely has to stay in boxes.
    #[test]
    fn future_of_a_call_is_small() {
        fn size<'a, F>(
            _: impl Fn(&'a RemoteTool, &'a Arguments, &'a ToolContext, Instant) -> F,
        ) -> usize {
            size_of::<F>()
        }

        let size = size(RemoteTool::exchange);
        assert!(size <= 4_096, "{size} bytes");
    }
}
