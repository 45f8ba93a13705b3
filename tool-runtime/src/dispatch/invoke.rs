use crate::guard::{Guarded, Panic};
use crate::message::Arguments;
use crate::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};

/// Runs one tool once, and catches its panic. Nothing else: no clock, no events, no new task.
///
/// Nothing happens before the future is polled, the decoding of the arguments included.
///
/// Built with `panic = "abort"` there is no panic to catch: the process ends.
///
/// # Errors
/// The tool's own error, or [`ToolErrorKind::Panicked`].
///
/// ```
/// use tool_runtime::{ToolContext, ToolErrorKind, dispatch, tool};
///
/// /// Divides.
/// #[tool(effect = "none")]
/// async fn divide(
///     /// What is divided.
///     a: i64,
///     /// By what.
///     b: i64,
/// ) -> i64 {
///     a / b
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ctx = ToolContext::default();
/// let output = dispatch::invoke(&divide {}, &r#"{"a": 6, "b": 3}"#.into(), &ctx).await;
/// assert_eq!(output.unwrap().as_text(), "2");
///
/// let by_zero = r#"{"a": 6, "b": 0}"#.into();
/// let error = dispatch::invoke(&divide {}, &by_zero, &ctx).await.unwrap_err();
/// assert_eq!(error.kind(), ToolErrorKind::Panicked);
/// # }
/// ```
#[inline]
pub fn invoke<'a>(
    tool: &'a dyn Tool,
    arguments: &'a Arguments,
    ctx: &'a ToolContext,
) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'a {
    Guarded::new(|| tool.call_with(arguments, ctx), |panic| Err(crashed(panic)))
}

/// The panic's message is the operator's.
#[cold]
fn crashed(panic: Panic) -> ToolError {
    ToolError::new(ToolErrorKind::Panicked, "The tool crashed; this is not the arguments' fault.")
        .with_source(panic)
}
