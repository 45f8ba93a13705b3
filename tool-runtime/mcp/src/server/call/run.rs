use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ErrorCode, InputRequiredResult};
use serde_json::Value;
use tool_core::dispatch::{Batch, RunInfo};
use tool_core::{Arguments, Dispatcher, Snapshot, ToolCall, ToolDefinition, ToolExecution};

use super::super::McpRequest;
use super::super::connection::outbox::{Link, delivering};
use super::super::input::InputRequests;
use super::super::result_meta::result_meta;
use super::observer::CallObserver;
use super::pending::{ANSWERED_BY, Outcome, PendingCall};
use super::resume::Resume;
use super::seal::{self, Sealed, Seals};
use crate::content::{call_result, error_result};

/// The number of times that one call may ask its client while it waits.
const MAX_ROUNDS: usize = 100;

/// A call with all that it needs to run.
pub(crate) struct Invocation {
    pub(super) dispatcher: Dispatcher,
    pub(super) tools: Snapshot,
    pub(crate) definition: Arc<ToolDefinition>,
    pub(super) call: ToolCall,
    pub(crate) request: McpRequest,
    pub(super) run_info: Option<Arc<RunInfo>>,
    pub(super) resume: Resume,
}

/// The end of a call.
enum Ended {
    Finished(Box<ToolExecution>),
    Failed(String),
    InputRequired(PendingCall),
}

impl Invocation {
    /// Whether the call continues with answers of the client.
    pub(crate) fn is_resumed(&self) -> bool {
        !self.resume.decisions.is_empty() || !self.resume.suspended.is_empty()
    }

    /// Runs the call and returns the response to its request.
    pub(super) async fn respond(&mut self, seals: &Seals) -> Result<CallToolResponse, ErrorData> {
        let link = self.request.link();
        match self.run(&link).await {
            Ended::InputRequired(PendingCall { questions, reason }) => {
                let state = Sealed { call: self.call.id.clone(), reason };
                let state = seals.seal(&state, &self.binding())?;
                input_required(&questions, state).map(Into::into)
            }
            ended => self.result(ended).map(Into::into),
        }
    }

    /// Returns what a state of this call is valid for.
    fn binding(&self) -> Vec<u8> {
        let arguments = match &self.call.arguments {
            Arguments::Value(value) => Value::clone(value),
            Arguments::Text(text) => Value::from(&**text),
        };
        let kind = seal::Kind::Tool;
        seal::binding(kind, self.request.principal(), &self.call.name, &arguments)
    }

    /// Runs the call as a task and returns its result.
    pub(crate) async fn complete(mut self, link: &Link) -> Result<CallToolResult, ErrorData> {
        let ended = self.run(link).await;
        self.result(ended)
    }

    /// Runs the call and sends what comes before its result.
    async fn run(&mut self, link: &Link) -> Ended {
        let request = self.request.clone();
        delivering(&request, link, self.run_rounds(link)).await
    }

    async fn run_rounds(&mut self, link: &Link) -> Ended {
        if let Some(text) = self.resume.declined.take() {
            return Ended::Failed(text);
        }
        let (execution, to_approve) = self.dispatch().await;
        if !execution.is_pending() {
            return Ended::Finished(Box::new(execution));
        }
        // Boxed, so that it does not enlarge the future of every call.
        Box::pin(self.continue_rounds(link, execution, to_approve)).await
    }

    /// Asks the client and runs the call again, until it is no longer pending.
    async fn continue_rounds(
        &mut self,
        link: &Link,
        mut execution: ToolExecution,
        mut to_approve: Option<String>,
    ) -> Ended {
        for _ in 0..MAX_ROUNDS {
            let Some(pending) = PendingCall::of(&execution, &self.definition, to_approve) else {
                return Ended::Finished(Box::new(execution));
            };
            let missing = pending.questions.missing_capability(&self.request.capabilities());
            if let Some(missing) = missing {
                return Ended::Failed(self.unable(missing));
            }
            if !self.request.can_wait() {
                return Ended::InputRequired(pending);
            }
            let answers = tokio::select! {
                answers = ask(&pending.questions, link, &self.request) => answers,
                () = self.request.cancellation().cancelled() => Err("The call was cancelled.".into()),
            };
            let answers = match answers {
                Ok(answers) => answers,
                Err(text) => return Ended::Failed(text),
            };
            let (id, definition) = (&self.call.id, &self.definition);
            match pending.reason.outcome(id, definition, answers, ANSWERED_BY) {
                Outcome::Resume(resume) => self.resume = resume,
                Outcome::Unanswered => {
                    return Ended::Failed("The client's answer does not fit the question.".into());
                }
                Outcome::Declined(text) => return Ended::Failed(text),
            }
            if let Some(text) = self.resume.declined.take() {
                return Ended::Failed(text);
            }
            (execution, to_approve) = self.dispatch().await;
            if !execution.is_pending() {
                return Ended::Finished(Box::new(execution));
            }
        }
        Ended::Failed(format!(
            "`{}` asked the client for input more than {MAX_ROUNDS} times.",
            self.definition.name
        ))
    }

    /// Dispatches the call, and returns the arguments that an approval would be for.
    async fn dispatch(&mut self) -> (ToolExecution, Option<String>) {
        let observer = CallObserver::new(self.call.id.clone(), self.request.clone());
        let mut batch = Batch::from(vec![self.call.clone()]);
        batch.run_info.clone_from(&self.run_info);
        batch.cancellation = Some(self.request.cancellation().clone());
        batch.extensions = std::mem::take(&mut batch.extensions).with(self.request.clone());
        batch.decisions = std::mem::take(&mut self.resume.decisions);
        batch.suspended = std::mem::take(&mut self.resume.suspended);
        batch.observers.add(observer.clone());
        let mut executions = self.dispatcher.dispatch_on(&self.tools, batch).await;
        // The dispatcher returns one execution for each call.
        let execution = executions.pop().unwrap_or_else(|| {
            let text = "The call has no result.";
            let code = tool_core::ToolErrorKind::Indeterminate.code();
            let result = tool_core::ToolResult::failure(&self.call, code, text);
            ToolExecution::new(self.call.clone(), result)
        });
        (execution, observer.arguments_to_approve())
    }

    fn unable(&self, missing: &'static str) -> String {
        let name = &self.definition.name;
        format!(
            "`{name}` needs an approval or other input, which this client can't give: it does not \
             support `{missing}`. Go on without this tool."
        )
    }

    /// Converts the end of a call into its result, or into the error of a protocol that its tool
    /// returned.
    fn result(&self, ended: Ended) -> Result<CallToolResult, ErrorData> {
        match ended {
            Ended::Finished(execution) => {
                let has_schema = self.definition.output.is_some();
                match execution.protocol_error.as_deref().filter(|_| !execution.is_success()) {
                    Some(error) => {
                        let code = i32::try_from(error.code).unwrap_or(ErrorCode::INTERNAL_ERROR.0);
                        let data = Some(error.data.clone()).filter(|data| !data.is_null());
                        Err(ErrorData::new(ErrorCode(code), execution.result.text, data))
                    }
                    None => {
                        let meta = result_meta(&execution.effects);
                        let mut result = call_result(*execution, has_schema);
                        result.meta = meta;
                        Ok(result)
                    }
                }
            }
            Ended::Failed(text) => Ok(error_result(text)),
            Ended::InputRequired(_) => Ok(error_result(self.unable("elicitation"))),
        }
    }
}

/// Creates the result that asks the client to send the request again with answers.
pub(crate) fn input_required(
    questions: &InputRequests,
    state: String,
) -> Result<InputRequiredResult, ErrorData> {
    let invalid =
        |error: tool_core::ToolError| ErrorData::internal_error(error.text().to_owned(), None);
    let requests = questions.0.iter();
    let requests = requests.map(|(key, input)| Ok((key.clone(), input.input_request()?)));
    let requests = requests.collect::<Result<_, _>>().map_err(invalid)?;
    Ok(InputRequiredResult::new(Some(requests), Some(state)))
}

type Answers = std::collections::BTreeMap<String, Value>;

/// Asks all questions at once and returns the answers, or the text of an error.
pub(crate) async fn ask(
    questions: &InputRequests,
    link: &Link,
    request: &McpRequest,
) -> Result<Answers, String> {
    let limit = request.limits().answer_timeout;
    let answers = questions.0.iter().map(|(key, input)| async move {
        Ok::<_, tool_core::ToolError>((key.clone(), link.ask(key, input, limit).await?))
    });
    let answers = futures_util::future::try_join_all(answers).await;
    answers.map(|it| it.into_iter().collect()).map_err(|error| error.text().to_owned())
}
