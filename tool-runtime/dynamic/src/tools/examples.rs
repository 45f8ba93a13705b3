//! Runs the example calls of tools, and compares their outputs.

use serde::Serialize;
use serde_json::{Map, Value};
use tool_runtime::{Arguments, Tool, ToolCall, ToolContext, ToolError};

use crate::pieces::{CheckedPieces, ExampleCall};

/// The longest output that a report quotes.
const MAX_QUOTED_CHARS: usize = 2_000;

/// The result of one example call.
#[derive(Debug, Serialize)]
pub(super) struct ExampleResult {
    passed: bool,
    arguments: Map<String, Value>,
    /// The output, or the text of the error.
    result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Value>,
}

/// Runs the examples of a tool that is not registered. Its calls of other tools are those of `ctx`.
///
/// # Errors
/// Returns all failed examples, for the model that wrote the pieces.
pub(super) async fn check_examples(
    tool: &dyn Tool,
    pieces: &CheckedPieces,
    ctx: &ToolContext,
) -> Result<(), ToolError> {
    let mut failures = Vec::new();
    for (index, example) in pieces.examples().iter().enumerate() {
        let arguments = Value::from(example.arguments.clone()).to_string();
        let call = tool.call(Arguments::from(arguments), ctx);
        let result = match tokio::time::timeout(pieces.timeout(), call).await {
            Ok(result) => result.map(|output| output.as_text().to_owned()),
            Err(_) => Err(ToolError::failed("It ran longer than its time limit.")),
        };
        let result = result.map_err(|error| error.text().to_owned());
        let ExampleResult { passed, result, expected, .. } = judge(example, result);
        match expected {
            _ if passed => {}
            Some(expected) => {
                failures.push(format!("- `examples[{index}]`: expected {expected}, got {result}"));
            }
            None => failures.push(format!("- `examples[{index}]`: {result}")),
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    let text = format!("The tool was not made. Its examples failed:\n{}", failures.join("\n"));
    Err(ToolError::validation(text))
}

/// Calls a registered tool with examples, under the policy of the run.
pub(super) async fn call_examples(
    name: &str,
    examples: &[ExampleCall],
    ctx: &ToolContext,
) -> Vec<ExampleResult> {
    let calls = examples
        .iter()
        .map(|example| ToolCall::new("", name, Value::from(example.arguments.clone()).to_string()));
    let executions = ctx.dispatch(calls.collect()).await;
    let results = executions.into_iter().map(|execution| {
        let is_success = execution.is_success();
        let text = execution.full_text.unwrap_or(execution.result.text);
        if is_success { Ok(text) } else { Err(text) }
    });
    examples.iter().zip(results).map(|(example, result)| judge(example, result)).collect()
}

fn judge(example: &ExampleCall, result: Result<String, String>) -> ExampleResult {
    let passed = match (&result, &example.output) {
        (Ok(text), Some(expected)) => is_output(text, expected),
        (Ok(_), None) => true,
        (Err(_), _) => false,
    };
    let expected = example.output.clone().filter(|_| result.is_ok());
    let (Ok(text) | Err(text)) = result;
    let result = text.chars().take(MAX_QUOTED_CHARS).collect();
    ExampleResult { passed, arguments: example.arguments.clone(), result, expected }
}

/// Returns whether a text is an output: as a text, or as JSON.
fn is_output(text: &str, expected: &Value) -> bool {
    expected.as_str() == Some(text)
        || serde_json::from_str::<Value>(text).is_ok_and(|value| value == *expected)
}
