//! Tools that send messages and requests to their client.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tool_runtime::event::{Progress, ProtocolError};
use tool_runtime::mcp::LogLevel;
use tool_runtime::mcp::server::{
    ElicitationReply, ElicitationRequest, McpRequest, Prompt, PromptMessage, Prompts,
    SamplingRequest,
};
use tool_runtime::{Registry, ToolContext, ToolError, Tools, tool, tools};

const LOGGER: &str = "conformance";

/// Logs three messages.
#[tool(effect = "none")]
async fn test_tool_with_logging(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    let request = ctx.require::<McpRequest>()?;
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        request.log(LogLevel::Info, LOGGER, text).await;
        sleep(Duration::from_millis(50)).await;
    }
    Ok("Logging test completed")
}

/// Logs a message if the request asks for it.
#[tool(effect = "none")]
async fn test_logging_tool(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    ctx.require::<McpRequest>()?.log(LogLevel::Emergency, LOGGER, "a message").await;
    Ok("Logging tool completed")
}

/// Reports progress.
#[tool(effect = "none")]
async fn test_tool_with_progress(ctx: &ToolContext) -> &'static str {
    for (percent, message) in [(0.0, "Starting"), (50.0, "Halfway"), (100.0, "Complete")] {
        ctx.progress(Progress { done: percent, total: Some(100.0), message: Some(message.into()) });
        sleep(Duration::from_millis(50)).await;
    }
    "Progress test completed"
}

/// Prompts the model of the client.
#[tool]
async fn test_sampling(
    /// The prompt to send.
    prompt: String,
    ctx: &ToolContext,
) -> Result<String, ToolError> {
    let reply =
        ctx.require::<McpRequest>()?.sample(SamplingRequest::new(prompt).max_tokens(100)).await?;
    Ok(format!("LLM response: {}", reply.text))
}

async fn elicit(ctx: &ToolContext, message: &str, schema: Value) -> Result<String, ToolError> {
    let question = ElicitationRequest::new(message, schema);
    Ok(match ctx.require::<McpRequest>()?.elicit(question).await? {
        ElicitationReply::Accepted(content) => format!("action=accept, content={content}"),
        ElicitationReply::Declined => "action=decline".to_owned(),
        _ => "action=cancel".to_owned(),
    })
}

/// Asks the user.
#[tool]
async fn test_elicitation(
    /// The message to show.
    message: String,
    ctx: &ToolContext,
) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    Ok(format!("User response: {}", elicit(ctx, &message, schema).await?))
}

/// Asks the user with default values.
#[tool]
async fn test_elicitation_sep1034_defaults(ctx: &ToolContext) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "default": true },
        },
    });
    Ok(format!("Elicitation completed: {}", elicit(ctx, "Please check.", schema).await?))
}

/// Asks the user with choices of every kind.
#[tool]
async fn test_elicitation_sep1330_enums(ctx: &ToolContext) -> Result<String, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": {
                "type": "string",
                "oneOf": [
                    { "const": "value1", "title": "First Option" },
                    { "const": "value2", "title": "Second Option" },
                    { "const": "value3", "title": "Third Option" },
                ],
            },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
            },
            "titledMulti": {
                "type": "array",
                "items": {
                    "anyOf": [
                        { "const": "value1", "title": "First Choice" },
                        { "const": "value2", "title": "Second Choice" },
                        { "const": "value3", "title": "Third Choice" },
                    ],
                },
            },
        },
    });
    Ok(format!("Elicitation completed: {}", elicit(ctx, "Please choose.", schema).await?))
}

/// Needs a client whose model can be used.
#[tool(effect = "none")]
async fn test_missing_capability(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    if ctx.require::<McpRequest>()?.supports_sampling() {
        return Ok("Required capability declared");
    }
    let data = json!({ "requiredCapabilities": { "sampling": {} } });
    let error = ProtocolError::new(-32021).data(data);
    Err(ToolError::failed("Missing required client capability").with_protocol_error(error))
}

/// Changes the list of tools.
#[tool]
async fn test_trigger_tool_change(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    /// Exists for a moment.
    #[tool(effect = "none")]
    async fn test_temporary_tool() {}

    let registry = ctx.require::<Registry>()?;
    registry.register_all(tools![test_temporary_tool])?;
    registry.unregister("test_temporary_tool");
    Ok("Tool list change triggered")
}

/// Changes the list of prompts.
#[tool]
async fn test_trigger_prompt_change(ctx: &ToolContext) -> Result<&'static str, ToolError> {
    let prompts = ctx.require::<Prompts>()?;
    let messages = || async { Ok(vec![PromptMessage::user("?")]) };
    prompts.insert(Prompt::new("test_temporary_prompt"), move |_| messages());
    prompts.remove("test_temporary_prompt");
    Ok("Prompt list change triggered")
}

/// Takes long enough for a client to reconnect.
#[tool(effect = "none")]
async fn test_reconnection() -> &'static str {
    sleep(Duration::from_millis(100)).await;
    "Reconnection test completed"
}

pub fn tools() -> Tools {
    tools![
        test_tool_with_logging,
        test_logging_tool,
        test_tool_with_progress,
        test_sampling,
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
        test_missing_capability,
        test_trigger_tool_change,
        test_trigger_prompt_change,
        test_reconnection,
    ]
}
