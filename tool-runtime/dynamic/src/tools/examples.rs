//! Runs the example calls of tools, and compares their outputs.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Number, Value};
use tokio::time::{Instant, timeout_at};
use tool_core::{Arguments, Tool, ToolCall, ToolContext, ToolError};

use crate::spec::{CheckedSpec, ExampleCall, check_examples};

/// How long all examples together may run before a tool is registered.
const MAX_TIME: Duration = Duration::from_secs(300);

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
/// Returns all failed examples, for the model that wrote the spec.
pub(super) async fn run_examples(
    tool: &dyn Tool,
    spec: &CheckedSpec,
    ctx: &ToolContext,
) -> Result<(), ToolError> {
    let mut failures = Vec::new();
    let all_end = Instant::now() + MAX_TIME;
    for (index, example) in spec.examples().iter().enumerate() {
        if Instant::now() >= all_end {
            let seconds = MAX_TIME.as_secs();
            failures.push(format!("- all of them together ran longer than {seconds} seconds"));
            break;
        }
        let arguments = Value::from(example.arguments.clone()).to_string();
        let call = tool.call(Arguments::from(arguments), ctx);
        let end = all_end.min(Instant::now() + spec.timeout());
        let result = match timeout_at(end, call).await {
            Ok(result) => result.map(|output| output.as_text().to_owned()),
            Err(_) => {
                let seconds = spec.timeout().as_secs();
                let text = format!("It ran longer than its time limit of {seconds} seconds.");
                Err(ToolError::failed(text))
            }
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
    Err(ToolError::invalid_arguments(text))
}

/// Returns the examples that a model sent to test a tool, if they are within the limits.
///
/// # Errors
/// Returns all errors at once. No example has run.
pub(super) fn accepted(examples: Vec<ExampleCall>) -> Result<Vec<ExampleCall>, ToolError> {
    let errors = check_examples(&examples);
    if errors.is_empty() {
        return Ok(examples);
    }
    Err(ToolError::invalid_arguments(format!("No example ran. Correct these arguments:\n{errors}")))
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
        || serde_json::from_str::<Value>(text).is_ok_and(|value| is_equal(&value, expected))
}

/// Returns whether two values are equal, where numbers are compared by value: `3.0` equals `3`.
fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || is_same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(left), Value::Object(right)) => {
            let is_in_right = |(name, value)| right.get(name).is_some_and(|it| is_equal(value, it));
            left.len() == right.len() && left.iter().all(is_in_right)
        }
        _ => left == right,
    }
}

/// Returns whether an integer and a fraction, or two fractions, are the same number.
fn is_same_number(left: &Number, right: &Number) -> bool {
    let are_integers = !left.is_f64() && !right.is_f64();
    // Integers differ already if they are not equal, even where their fractions would be equal.
    !are_integers && left.as_f64() == right.as_f64()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::json;
    use tool_core::{ToolDefinition, ToolOutput, async_trait};

    use super::{Arguments, ExampleCall, Tool, ToolContext, ToolError, is_output, run_examples};
    use crate::spec::{BodyLanguage, ToolSpec};

    #[test]
    fn numbers_are_compared_by_value_at_all_levels() {
        for (text, expected, is_expected) in [
            ("3.0", json!(3), true),
            ("3", json!(3.0), true),
            ("3.5", json!(3), false),
            (r#"{"a": [1.0, {"b": 2}]}"#, json!({ "a": [1, { "b": 2.0 }] }), true),
            (r#"{"a": [1.0, {"b": 2}]}"#, json!({ "a": [1, { "b": 3 }] }), false),
            (r#"{"a": 1, "b": 2}"#, json!({ "a": 1 }), false),
            ("[1, 2]", json!([1]), false),
            // Different integers, which are equal as fractions.
            ("9007199254740993", json!(9_007_199_254_740_992_i64), false),
            ("3", json!("3"), true),
            ("\"3\"", json!(3), false),
            ("-0.0", json!(0), true),
        ] {
            assert_eq!(is_output(text, &expected), is_expected, "{text} {expected}");
        }
    }

    /// A tool whose calls never end.
    struct Endless(ToolDefinition, Arc<AtomicU32>);

    #[async_trait]
    impl Tool for Endless {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        async fn call(&self, _: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_examples_have_one_time_limit() {
        let spec = ToolSpec::new(BodyLanguage::JavaScript, "n", "Waits.", "return 1;");
        let example = ExampleCall::new::<String>([]);
        let spec = (0..16).fold(spec.timeout_seconds(200), |it, _| it.example(example.clone()));
        let spec = spec.check().unwrap();
        let calls = Arc::new(AtomicU32::new(0));
        let tool = Endless(spec.definition().clone(), Arc::clone(&calls));
        let start = tokio::time::Instant::now();
        let error = run_examples(&tool, &spec, &ToolContext::default()).await.unwrap_err();
        assert_eq!(start.elapsed(), super::MAX_TIME);
        assert!(error.text().contains("`examples[0]`: It ran longer than its time limit of"));
        assert!(error.text().ends_with("- all of them together ran longer than 300 seconds"));
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }
}
