use std::panic::resume_unwind;

use tokio::task::spawn_blocking;

use super::args::Call;
use super::{ToolError, ToolErrorKind, ToolOutput};

/// Runs a function that doesn't wait where it holds up nobody.
///
/// It can't be stopped: when nobody waits for it any more, its thread still works to the end.
pub fn on_blocking_thread<F>(run: F) -> Call<'static>
where
    F: FnOnce() -> Result<ToolOutput, ToolError> + Send + 'static,
{
    Box::pin(async move {
        match spawn_blocking(run).await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            Err(_) => {
                let text = "The program is shutting down; the tool was not run.";
                Err(ToolError::new(ToolErrorKind::Cancelled, text))
            }
        }
    })
}
