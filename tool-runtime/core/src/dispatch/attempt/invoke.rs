use std::pin::Pin;
use std::task::{Context, Poll};

use crate::guard::{CatchPanic, Panic};
use crate::message::Arguments;
use crate::tool::{CallEnd, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};

/// Invokes one tool once and catches its panic.
///
/// This is the bare invocation: there is no timeout, no event, no policy and no new task. The
/// future is lazy: arguments are decoded and the tool starts at the first poll.
///
/// If the program is built with `panic = "abort"`, a panic ends the process.
///
/// # Errors
/// Returns the error of the tool, or [`ToolErrorKind::Panicked`] if it panicked.
///
/// # Cancellation
/// Dropping the future drops the future of the tool.
///
/// ```
/// use tool_runtime::{ToolContext, ToolErrorKind, dispatch, tool};
///
/// /// Divides one number by another.
/// #[tool(effect = "none")]
/// async fn divide(dividend: i64, divisor: i64) -> i64 {
///     dividend / divisor
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ctx = ToolContext::default();
/// let arguments = r#"{"dividend": 6, "divisor": 3}"#.into();
/// let output = dispatch::invoke(&divide {}, &arguments, &ctx).await;
/// assert_eq!(output.unwrap().as_text(), "2");
///
/// let by_zero = r#"{"dividend": 6, "divisor": 0}"#.into();
/// let error = dispatch::invoke(&divide {}, &by_zero, &ctx).await.unwrap_err();
/// assert_eq!(error.kind(), ToolErrorKind::Panicked);
/// # }
/// ```
pub fn invoke<'a>(
    tool: &'a dyn Tool,
    arguments: &'a Arguments,
    ctx: &'a ToolContext,
) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'a {
    let decode_and_call = || {
        let call = tool.call_with(arguments, ctx);
        // The code of the tool runs when the future is polled.
        ctx.end_decoding();
        call
    };
    Invocation { ctx, future: CatchPanic::new(decode_and_call, |panic| Err(panicked(panic))) }
}

/// The future of a tool, which records why it ended.
struct Invocation<'c, F> {
    ctx: &'c ToolContext,
    future: F,
}

impl<F: Future + Unpin> Future for Invocation<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { ctx, future } = self.get_mut();
        let polled = Pin::new(future).poll(cx);
        if polled.is_ready() {
            ctx.end(CallEnd::Finished);
        }
        polled
    }
}

/// Runs before the future is dropped.
impl<F> Drop for Invocation<'_, F> {
    fn drop(&mut self) {
        self.ctx.end_dropped();
    }
}

/// Converts a panic. Its message is for the operator alone.
fn panicked(panic: Panic) -> ToolError {
    ToolError::new(ToolErrorKind::Panicked, "The tool crashed; this is not the arguments' fault.")
        .with_source(panic)
}
