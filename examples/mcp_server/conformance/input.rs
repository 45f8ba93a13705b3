//! Tools that suspend their calls until the client has answered.

use serde_json::{Value, json};
use tool_runtime::mcp::server::{
    ElicitationRequest, InputRequests, InputResponses, McpRequest, SamplingRequest,
};
use tool_runtime::{ToolContext, ToolError, Tools, tool, tools};

/// Creates a form with one required field.
pub fn form(message: &str, field: &str, kind: &str) -> ElicitationRequest {
    let schema = json!({
        "type": "object",
        "properties": { field: { "type": kind } },
        "required": [field],
    });
    ElicitationRequest::new(message, schema)
}

fn ask_name() -> InputRequests {
    InputRequests::new().elicit("user_name", form("What is your name?", "name", "string"))
}

/// Returns a field of a reply, or a dash.
pub fn field(responses: &InputResponses, key: &str, field: &str) -> Result<String, ToolError> {
    let reply = responses.elicited(key)?;
    let value = reply.content().and_then(|content| content.get(field)).and_then(Value::as_str);
    Ok(value.unwrap_or("-").to_owned())
}

/// Asks the user.
#[tool]
async fn test_input_required_result_elicitation(ctx: &ToolContext) -> Result<String, ToolError> {
    match InputResponses::of(ctx) {
        None => Err(ask_name().suspend(())),
        Some(responses) => Ok(format!("Hello, {}!", field(&responses, "user_name", "name")?)),
    }
}

/// Prompts the model of the client.
#[tool]
async fn test_input_required_result_sampling(ctx: &ToolContext) -> Result<String, ToolError> {
    const KEY: &str = "capital_question";
    match InputResponses::of(ctx) {
        None => {
            let prompt = SamplingRequest::new("What is the capital of France?").max_tokens(100);
            Err(InputRequests::new().sample(KEY, prompt).suspend(()))
        }
        Some(responses) => Ok(format!("Sampling response: {}", responses.sampled(KEY)?.text)),
    }
}

/// Asks for the folders of the client.
#[tool]
async fn test_input_required_result_list_roots(ctx: &ToolContext) -> Result<String, ToolError> {
    match InputResponses::of(ctx) {
        None => Err(InputRequests::new().roots("client_roots").suspend(())),
        Some(responses) => Ok(format!("Client roots: {:?}", responses.roots("client_roots")?)),
    }
}

fn confirm(ctx: &ToolContext) -> Result<String, ToolError> {
    match InputResponses::of(ctx) {
        None => {
            let question = form("Please confirm", "ok", "boolean");
            Err(InputRequests::new().elicit("confirm", question).suspend("confirm"))
        }
        Some(responses) => Ok(format!("Confirmed: state-ok ({})", responses.state_as::<String>()?)),
    }
}

/// Keeps a state.
#[tool]
async fn test_input_required_result_request_state(ctx: &ToolContext) -> Result<String, ToolError> {
    confirm(ctx)
}

/// Keeps a state that the client will change.
#[tool]
async fn test_input_required_result_tampered_state(ctx: &ToolContext) -> Result<String, ToolError> {
    confirm(ctx)
}

/// Asks for everything at once.
#[tool]
async fn test_input_required_result_multiple_inputs(
    ctx: &ToolContext,
) -> Result<&'static str, ToolError> {
    match InputResponses::of(ctx) {
        None => {
            let greeting = SamplingRequest::new("Generate a greeting").max_tokens(100);
            Err(ask_name().sample("greeting", greeting).roots("client_roots").suspend(()))
        }
        Some(_) => Ok("All inputs received"),
    }
}

/// Asks twice.
#[tool]
async fn test_input_required_result_multi_round(ctx: &ToolContext) -> Result<String, ToolError> {
    let question = |key: &str, message: &str, field: &str| {
        InputRequests::new().elicit(key, form(message, field, "string"))
    };
    let Some(responses) = InputResponses::of(ctx) else {
        let first = question("step1", "Step 1: What is your name?", "name");
        return Err(first.suspend(None::<String>));
    };
    match responses.state_as::<Option<String>>()? {
        None => {
            let name = field(&responses, "step1", "name")?;
            let second = question("step2", "Step 2: What is your favorite color?", "color");
            Err(second.suspend(Some(name)))
        }
        Some(name) => {
            let color = field(&responses, "step2", "color")?;
            Ok(format!("Multi-round flow complete: {name} likes {color}"))
        }
    }
}

/// Asks only what the client can answer.
#[tool]
async fn test_input_required_result_capabilities(
    ctx: &ToolContext,
) -> Result<&'static str, ToolError> {
    if InputResponses::of(ctx).is_some() {
        return Ok("Capability-aware flow complete");
    }
    let request = ctx.require::<McpRequest>()?;
    let mut questions = InputRequests::new();
    if request.supports_elicitation() {
        questions = ask_name();
    }
    if request.supports_sampling() {
        questions = questions.sample("greeting", SamplingRequest::new("Generate a greeting"));
    }
    if request.supports_roots() {
        questions = questions.roots("client_roots");
    }
    match questions.is_empty() {
        true => Ok("The client can't answer questions"),
        false => Err(questions.suspend(())),
    }
}

/// Asks for a value.
#[tool]
async fn test_streaming_elicitation(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    match InputResponses::of(ctx) {
        None => {
            let question = form("Provide a value", "value", "string");
            Err(InputRequests::new().elicit("streaming_elicitation", question).suspend(()))
        }
        Some(_) => Ok("Value received"),
    }
}

pub fn tools() -> Tools {
    tools![
        test_input_required_result_elicitation,
        test_input_required_result_sampling,
        test_input_required_result_list_roots,
        test_input_required_result_request_state,
        test_input_required_result_tampered_state,
        test_input_required_result_multiple_inputs,
        test_input_required_result_multi_round,
        test_input_required_result_capabilities,
        test_streaming_elicitation,
    ]
}
