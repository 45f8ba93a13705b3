//! The limit of an output that the model receives.

use tool_runtime::Policy;

use super::*;

/// Says a lot.
#[tool]
async fn talk(bytes: usize) -> Result<String, ToolError> {
    let said = format!("begin {} end", "x".repeat(bytes));
    if bytes == 50 { Err(said.into()) } else { Ok(said) }
}

#[tokio::test]
async fn model_receives_the_head_and_the_tail_of_a_long_output() {
    let dispatcher = dispatcher(tools![talk]).policy(Policy::new().output_limit(20));
    let calls = ["1", "50", "90"].map(|n| ToolCall::new(n, "talk", format!(r#"{{"bytes": {n}}}"#)));
    let done = dispatcher.dispatch(calls.into()).await;
    assert_eq!((texts(&done)[0], &done[0].full_text), ("begin x end", &None));
    for (done, cut) in done[1..].iter().zip([40, 80]) {
        let all = cut + 20;
        let told = format!("begin xxxx\n[… {cut} of {all} bytes left out …]\nxxxxxx end");
        assert_eq!(done.result.text, told);
        assert_eq!(done.full_text.as_ref().unwrap().len(), all);
    }
}
