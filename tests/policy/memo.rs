//! Pure tools are asked once.

use super::*;

static ASKED: AtomicU32 = AtomicU32::new(0);

/// Squares a number.
#[tool(pure)]
async fn square(number: i64) -> Result<i64, ToolError> {
    ASKED.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(10)).await;
    if number < 0 {
        return Err("not below zero".into());
    }
    Ok(number * number)
}

fn squares(numbers: &[&str]) -> Vec<ToolCall> {
    let call = |(n, number): (usize, &&str)| {
        ToolCall::new(format!("call_{n}"), "square", format!(r#"{{"number": {number}}}"#))
    };
    numbers.iter().enumerate().map(call).collect()
}

#[tokio::test(start_paused = true)]
async fn a_pure_tool_is_asked_once_for_the_same_arguments() {
    let dispatcher = dispatcher(tools![square]);
    // However they are written, and also while the first still runs.
    let done = dispatcher.dispatch(squares(&["7", " 7.0 ", "\"7\"", "8"])).await;
    assert_eq!(texts(&done), ["49", "49", "49", "64"]);
    assert_eq!(ASKED.swap(0, Ordering::SeqCst), 2);
    let remembered: Vec<_> = done.iter().map(|done| (done.remembered, done.attempts)).collect();
    assert_eq!(remembered.iter().filter(|told| **told == (true, 0)).count(), 2);

    let done = dispatcher.dispatch(squares(&["7"])).await;
    assert_eq!((ASKED.swap(0, Ordering::SeqCst), done[0].remembered), (0, true));

    // Errors are no outputs, and another run knows nothing of this one.
    dispatcher.dispatch(squares(&["-1"])).await;
    dispatcher.dispatch(squares(&["-1"])).await;
    super::dispatcher(tools![square]).dispatch(squares(&["7"])).await;
    assert_eq!(ASKED.swap(0, Ordering::SeqCst), 3);
}
