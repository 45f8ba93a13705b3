//! The limit of an output that the model receives.

use tool_runtime::Policy;

use super::*;

/// Says a lot.
#[tool]
async fn print(bytes: usize) -> Result<String, ToolError> {
    let text = format!("begin {} end", "x".repeat(bytes));
    if bytes == 50 { Err(text.into()) } else { Ok(text) }
}

#[tokio::test]
async fn model_receives_the_head_and_the_tail_of_a_long_output() {
    let dispatcher = dispatcher(tools![print]).policy(Policy::new().output_limit(20));
    let calls =
        ["1", "50", "90"].map(|n| ToolCall::new(n, "print", format!(r#"{{"bytes": {n}}}"#)));
    let executions = dispatcher.dispatch(calls.into()).await;
    assert_eq!((texts(&executions)[0], &executions[0].full_text), ("begin x end", &None));
    for (execution, cut) in executions[1..].iter().zip([40, 80]) {
        let all = cut + 20;
        let truncated = format!("begin xxxx\n[… {cut} of {all} bytes left out …]\nxxxxxx end");
        assert_eq!(execution.result.text, truncated);
        assert_eq!(execution.full_text.as_ref().unwrap().len(), all);
    }
}
