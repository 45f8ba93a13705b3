//! Tools that run as tasks.

use std::time::Duration;

use tokio::time::sleep;
use tool_runtime::event::ProtocolError;
use tool_runtime::mcp::server::{InputRequests, InputResponses};
use tool_runtime::{ToolContext, ToolError, Tools, tool, tools};

use super::input::{field, form};

/// Greets at once.
#[tool(effect = "none")]
async fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

/// Computes for some seconds.
#[tool(effect = "none")]
async fn slow_compute(seconds: Option<f64>, label: Option<String>) -> String {
    let seconds = seconds.unwrap_or(1.0).clamp(0.0, 60.0);
    sleep(Duration::from_secs_f64(seconds)).await;
    format!("slow_compute({}) done after {seconds}s", label.as_deref().unwrap_or("compute"))
}

/// Fails after a second.
#[tool]
async fn failing_job() -> Result<(), ToolError> {
    sleep(Duration::from_secs(1)).await;
    Err(ToolError::failed("failing_job: intentional tool execution error"))
}

/// Fails by the protocol.
#[tool]
async fn protocol_error_job() -> Result<(), ToolError> {
    sleep(Duration::from_millis(200)).await;
    let error = ToolError::failed("protocol_error_job: intentional protocol-level failure");
    Err(error.with_protocol_error(ProtocolError::new(-32603)))
}

/// Asks before it deletes.
#[tool]
async fn confirm_delete(filename: Option<String>, ctx: &ToolContext) -> Result<String, ToolError> {
    let filename = filename.unwrap_or_else(|| "file.txt".to_owned());
    match InputResponses::of(ctx) {
        None => {
            let question = form(&format!("Delete {filename}?"), "confirm", "boolean");
            Err(InputRequests::new().elicit("confirm", question).suspend(()))
        }
        Some(responses) => {
            let reply = responses.elicited("confirm")?;
            let confirmed = reply.content().is_some_and(|content| content["confirm"] == true);
            Ok(format!("confirm_delete({filename}): confirmed = {confirmed}"))
        }
    }
}

/// Asks two questions at once.
#[tool]
async fn multi_input(ctx: &ToolContext) -> Result<String, ToolError> {
    match InputResponses::of(ctx) {
        None => Err(InputRequests::new()
            .elicit("input-a", form("Provide value A", "value", "string"))
            .elicit("input-b", form("Provide value B", "value", "string"))
            .suspend(())),
        Some(responses) => {
            let value = |key| field(&responses, key, "value");
            Ok(format!("multi_input: a = {}, b = {}", value("input-a")?, value("input-b")?))
        }
    }
}

/// Asks for a name, and greets as a task.
#[tool]
async fn test_tool_with_task(ctx: &ToolContext) -> Result<String, ToolError> {
    let Some(responses) = InputResponses::of(ctx) else {
        let question = form("What is your name?", "name", "string");
        return Err(InputRequests::new().elicit("user_name", question).suspend(()));
    };
    sleep(Duration::from_millis(200)).await;
    Ok(format!("Hello, {}! (async)", field(&responses, "user_name", "name")?))
}

pub fn tools() -> Tools {
    tools![
        greet,
        slow_compute,
        failing_job,
        protocol_error_job,
        confirm_delete,
        multi_input,
        test_tool_with_task,
    ]
}
