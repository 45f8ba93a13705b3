//! Answers `prompts/get`, whose prompt may ask the client first.

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResponse};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tool_core::ToolError;

use super::prompts::{FoundPrompt, PromptRequest};
use crate::server::McpRequest;
use crate::server::call::{ask, input_required, seal};
use crate::server::connection::outbox::delivering;
use crate::server::connection::session::Session;
use crate::server::errors::failed;
use crate::server::input::{InputRequired, InputResponses, Suspended};

/// The number of times that a prompt may ask its client while it waits.
const MAX_ROUNDS: usize = 100;

pub(crate) async fn get_prompt(
    session: &Session,
    params: GetPromptRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let request = session.request(context);
    let arguments = params.arguments.unwrap_or_default();
    let prompt = session.shared.prompts.find(&params.name, &arguments)?;
    let arguments = Value::Object(arguments);
    let kind = seal::Kind::Prompt;
    let binding = seal::binding(kind, request.principal(), &params.name, &arguments);
    let seals = &session.shared.seals;
    let mut responses = None;
    if let Some(state) = params.request_state {
        let suspended: Suspended = seals.open(&state, &binding)?;
        let answers = params.input_responses.unwrap_or_default();
        if !suspended.mcp_input_requests.are_answered_by(&answers) {
            return input_required(&suspended.mcp_input_requests, state).map(Into::into);
        }
        responses = Some(InputResponses::new(answers, suspended.state));
    }
    let Value::Object(arguments) = arguments else {
        return Err(ErrorData::internal_error("the arguments are not an object", None));
    };
    let first = PromptRequest::new(arguments, responses, request.clone());
    match delivering(&request, &request.link(), render(&prompt, first)).await? {
        Ok(response) => Ok(response),
        Err(suspended) => {
            let state = seals.seal(&suspended, &binding)?;
            input_required(&suspended.mcp_input_requests, state).map(Into::into)
        }
    }
}

/// Renders the prompt, or returns its questions if the client can't be asked meanwhile.
async fn render(
    prompt: &FoundPrompt,
    mut next: PromptRequest,
) -> Result<Result<GetPromptResponse, Suspended>, ErrorData> {
    for _ in 0..MAX_ROUNDS {
        let request = next.request.clone();
        let error = match prompt.render(next.clone()).await {
            Ok(result) => return Ok(Ok(result.into())),
            Err(error) => error,
        };
        let Some(suspended) = suspended(&error) else { return Err(failed(&error)) };
        let questions = &suspended.mcp_input_requests;
        if let Some(missing) = questions.missing_capability(&request.capabilities()) {
            let message =
                format!("the prompt needs input, but the client does not support `{missing}`");
            return Err(ErrorData::invalid_request(message, None));
        }
        if !request.can_wait() {
            return Ok(Err(suspended));
        }
        next.responses = Some(answers(suspended, &request).await?);
    }
    Err(ErrorData::internal_error("the prompt asked the client too often", None))
}

async fn answers(suspended: Suspended, request: &McpRequest) -> Result<InputResponses, ErrorData> {
    let questions = &suspended.mcp_input_requests;
    let invalid = |text: String| ErrorData::invalid_request(text, None);
    let answers = ask(questions, &request.link(), request).await.map_err(invalid)?;
    if !questions.are_answered_by(&answers) {
        return Err(invalid("the client's answer does not fit the question".to_owned()));
    }
    Ok(InputResponses::new(answers, suspended.state))
}

fn suspended(error: &ToolError) -> Option<Suspended> {
    let InputRequired(suspended) = error.source()?.downcast_ref()?;
    Some(suspended.clone())
}
