//! The requests of a server that a call answers, in both revisions of the protocol.
//!
//! Before 2026-07-28, a server sends requests to the client while a call is in flight. Since then,
//! it returns them as the result of the call, and the call is made again with the answers. Such a
//! call can be suspended until the answer arrives.

use std::collections::BTreeMap;

use rmcp::model::{ElicitRequestParams, ErrorData, InputRequest, InputRequiredResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_core::{ToolContext, ToolError};

use crate::client::connect::link::Link;
use crate::client::questions::elicitation::{Elicitation, ElicitationAction, answer_of};
use crate::client::wire::traffic::Question;

/// The number of times that a server may ask for input during one call.
pub(crate) const MAX_ROUNDS: u32 = 10;

/// The number of questions to the user during one call.
const MAX_QUESTIONS: u32 = 20;

/// The number of requests of one round.
const MAX_REQUESTS: usize = 20;

/// The size of the state of a server, of its requests for input, and of the id of its task, each in
/// bytes. They are saved with a paused run.
pub(crate) const MAX_STATE_BYTES: usize = 1 << 20;

/// The saved state of a call whose server asks for input.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct InputState {
    round: u32,
    /// The requests of all rounds, and of those that arrived while the call was in flight.
    #[serde(flatten)]
    pub(crate) counts: QuestionCounts,
    /// The state of the server, returned as received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_state: Option<String>,
    /// The id of the task that the server runs for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<String>,
    requests: BTreeMap<String, Value>,
    pub(crate) responses: BTreeMap<String, Value>,
}

/// The number of requests of each kind during one call.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct QuestionCounts {
    #[serde(default)]
    elicitations: u32,
    samples: u32,
}

impl QuestionCounts {
    /// Counts a request, and returns the number of earlier ones of its kind.
    pub(crate) fn count(&mut self, question: &Question) -> u32 {
        let count = match question {
            Question::Elicit { .. } => &mut self.elicitations,
            Question::Sample(..) => &mut self.samples,
        };
        *count += 1;
        *count - 1
    }
}

/// Answers the requests for one call.
pub(crate) struct InputHandler<'c> {
    pub(crate) link: &'c Link,
    pub(crate) tool: &'c str,
    pub(crate) ctx: &'c ToolContext,
}

impl InputHandler<'_> {
    /// Answers a request that arrived while the call is in flight, after so many `earlier` ones of
    /// its kind.
    pub(crate) async fn answer(&self, question: Question, earlier: u32) {
        match question {
            Question::Elicit { answer, .. } if earlier >= MAX_QUESTIONS => {
                let reason = format!("limit of {MAX_QUESTIONS} questions for one call exceeded");
                let _ = answer.send(Err(ErrorData::invalid_request(reason, None)));
            }
            Question::Elicit { params, is_of_call, answer } => {
                let mut elicitation = match self.elicitation(&params) {
                    Ok(elicitation) => elicitation,
                    Err(reason) => {
                        let _ = answer.send(Err(ErrorData::invalid_params(reason, None)));
                        return;
                    }
                };
                elicitation.tool = elicitation.tool.filter(|_| is_of_call);
                let answered = self.elicit(elicitation.clone()).await;
                let cancelled = || elicitation.result(ElicitationAction::Cancel);
                let result = elicitation.result(answered).or_else(|_| cancelled());
                if let Ok(result) = result {
                    let _ = answer.send(Ok(result));
                }
            }
            Question::Sample(params, answer) => {
                if let Some(sampling) = &self.link.options.sampling {
                    let _ = answer.send(sampling.answer(*params, earlier, self.ctx).await);
                }
            }
        }
    }

    /// Starts a round with what the server asks for, and answers it.
    ///
    /// # Errors
    /// The call is suspended, or the server asks for what the client does not offer.
    pub(crate) async fn required(
        &self,
        state: &mut InputState,
        required: InputRequiredResult,
    ) -> Result<(), ToolError> {
        state.round += 1;
        if state.round > MAX_ROUNDS {
            return Err(self.failed(&format!("it asked for input more than {MAX_ROUNDS} times")));
        }
        let requests = required.input_requests.unwrap_or_default();
        if requests.len() > MAX_REQUESTS {
            return Err(self
                .failed(&format!("it sent more than {MAX_REQUESTS} requests for input at once")));
        }
        if required.request_state.as_ref().is_some_and(|state| state.len() > MAX_STATE_BYTES) {
            return Err(self.failed("its state is too large"));
        }
        let mut bytes = 0;
        let mut saved = BTreeMap::new();
        for (key, request) in requests {
            let request = serde_json::to_value(request).unwrap_or_default();
            bytes += key.len() + request.to_string().len();
            if bytes > MAX_STATE_BYTES {
                return Err(self.failed("its requests for input are too large"));
            }
            saved.insert(key, request);
        }
        state.request_state = required.request_state;
        state.responses.clear();
        state.requests = saved;
        self.answer_all(state).await
    }

    /// Continues a suspended call with the answer to its question.
    ///
    /// # Errors
    /// The call is suspended again, because the answer does not match or another one is needed.
    pub(crate) async fn resumed(
        &self,
        state: &mut InputState,
        answer: Option<&Value>,
    ) -> Result<(), ToolError> {
        let open = state.requests.iter().find(|(key, _)| !state.responses.contains_key(*key));
        if let (Some((key, request)), Some(answer)) = (open, answer)
            && let Ok(InputRequest::Elicitation(request)) = InputRequest::deserialize(request)
        {
            let elicitation =
                self.elicitation(&request.params).map_err(|reason| self.failed(reason))?;
            match elicitation.result(answer_of(answer)) {
                Ok(result) => {
                    let result = serde_json::to_value(result).unwrap_or_default();
                    state.responses.insert(key.clone(), result);
                }
                Err(mismatch) => {
                    let question = elicitation.question();
                    let question = format!("The answer does not match: {mismatch}\n{question}");
                    return Err(suspended(&elicitation, question, state));
                }
            }
        }
        self.answer_all(state).await
    }

    async fn answer_all(&self, state: &mut InputState) -> Result<(), ToolError> {
        let open: Vec<_> = state
            .requests
            .iter()
            .filter(|(key, _)| !state.responses.contains_key(*key))
            .map(|(key, request)| (key.clone(), request.clone()))
            .collect();
        for (key, request) in open {
            let response = self.response(state, &request).await?;
            state.responses.insert(key, response);
        }
        Ok(())
    }

    async fn response(&self, state: &mut InputState, request: &Value) -> Result<Value, ToolError> {
        let response = match InputRequest::deserialize(request) {
            Ok(InputRequest::Elicitation(request)) => {
                let elicitation =
                    self.elicitation(&request.params).map_err(|reason| self.failed(reason))?;
                state.counts.elicitations += 1;
                if state.counts.elicitations > MAX_QUESTIONS {
                    let cause = format!("it asked more than {MAX_QUESTIONS} questions");
                    return Err(self.failed(&cause));
                }
                let answer = self.elicit(elicitation.clone()).await;
                if answer == ElicitationAction::Later {
                    return Err(suspended(&elicitation, elicitation.question(), state));
                }
                let result = elicitation.result(answer).map_err(|mismatch| {
                    let cause =
                        format!("the elicitation handler returned a wrong answer: {mismatch}");
                    self.failed("the answer to its question was invalid").with_source(cause)
                })?;
                serde_json::to_value(result)
            }
            Ok(InputRequest::CreateMessage(request)) => {
                let Some(sampling) = &self.link.options.sampling else {
                    return Err(self.failed("it requested sampling, which is off"));
                };
                let result = sampling.answer(request.params, state.counts.samples, self.ctx).await;
                state.counts.samples += 1;
                let result = result.map_err(|error| self.failed(&error.message))?;
                serde_json::to_value(result)
            }
            Ok(InputRequest::ListRoots(_)) => serde_json::to_value(self.link.roots.list()),
            _ => return Err(self.failed("it requested input of an unknown kind")),
        };
        Ok(response.unwrap_or_default())
    }

    fn elicitation(&self, params: &ElicitRequestParams) -> Result<Elicitation, &'static str> {
        Elicitation::new(&self.link.name, Some(self.tool), params)
    }

    async fn elicit(&self, elicitation: Elicitation) -> ElicitationAction {
        match &self.link.options.elicitation {
            Some(handler) => handler.elicit(elicitation).await,
            None => ElicitationAction::Decline,
        }
    }

    pub(crate) fn failed(&self, cause: &str) -> ToolError {
        let server = &self.link.name;
        ToolError::failed(format!("The MCP server `{server}` did not complete the call: {cause}."))
    }
}

/// Suspends a call of the server until its question is answered.
fn suspended(elicitation: &Elicitation, question: String, state: &InputState) -> ToolError {
    let error = ToolError::suspended(question, state);
    match elicitation.form_schema() {
        Some(schema) => error.answer_schema(schema.as_value().clone()),
        None => error,
    }
}
