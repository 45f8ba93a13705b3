//! Previews: texts that show a person what a call would do.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::dispatch::approval::approval_request::ApprovalRequest;
use crate::guard::{BoxFuture, CatchPanic, Panic};
use crate::message::first_bytes::first_bytes;
use crate::message::visible;

/// The most bytes of a preview, which is saved with a paused run.
const MAX_PREVIEW_BYTES: usize = 256 * 1024;

/// Describes what a call would do, such as the diff of an edit, to the person who decides on it.
///
/// The dispatcher asks the previewers of the policy before it asks the approver, which receives the
/// first text in [`ApprovalRequest::preview`]. A preview changes nothing. It shows the state at
/// that time: what it is computed from may change before the call runs. If there is no text because
/// a previewer panicked, the preview says so.
///
/// Secrets are redacted, and what follows the first 256 KiB is replaced by the number of its bytes.
/// If the decision is deferred, the text is saved with the run
/// ([`PendingCall::preview`](crate::agent::PendingCall::preview)).
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::dispatch::{Approval, ApprovalRequest, Approver, Previewer};
/// use tool_runtime::{
///     Dispatcher, Policy, Registry, RunContext, ToolCall, async_trait, tool, tools,
/// };
///
/// /// Shows how many bytes a deleted file has.
/// struct Sizes;
///
/// #[async_trait]
/// impl Previewer for Sizes {
///     async fn preview(&self, request: &ApprovalRequest) -> Option<String> {
///         let is_delete = request.tool.name == "delete";
///         let path = request.arguments["path"].as_str().filter(|_| is_delete)?;
///         Some(format!("{path} has {} bytes", std::fs::metadata(path).map_or(0, |it| it.len())))
///     }
/// }
///
/// struct Denies;
///
/// #[async_trait]
/// impl Approver for Denies {
///     async fn approve(&self, request: &ApprovalRequest, _: &RunContext<'_>) -> Approval {
///         Approval::Deny(request.preview.clone().unwrap_or_default())
///     }
/// }
///
/// /// Deletes a file.
/// #[tool(permission = "ask")]
/// async fn delete(path: String) -> Result<(), std::io::Error> {
///     std::fs::remove_file(path)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let policy = Policy::new().approver(Denies).previewer(Sizes);
/// let dispatcher = Dispatcher::new(Registry::try_from(tools![delete])?).policy(policy);
/// let call = ToolCall::new("1", "delete", r#"{"path": "no such file"}"#);
/// let executions = dispatcher.dispatch(vec![call]).await;
/// let text = "`delete` was not approved: no such file has 0 bytes";
/// assert_eq!(executions[0].result.text, text);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Previewer: Send + Sync {
    /// Describes the effect of a call; `None` if the call is not one of this previewer's tools.
    async fn preview(&self, request: &ApprovalRequest) -> Option<String>;
}

/// The previewers of a policy, in the order in which they were added.
#[derive(Clone, Default)]
pub(crate) struct Previewers(Vec<Arc<dyn Previewer>>);

impl Previewers {
    pub(crate) fn add(&mut self, previewer: Arc<dyn Previewer>) {
        self.0.push(previewer);
    }

    /// Returns the request with the first preview of it, without secrets. If there is none because
    /// a previewer panicked, the preview says so.
    pub(crate) async fn preview(&self, request: &ApprovalRequest) -> ApprovalRequest {
        let mut request = request.clone();
        let mut preview = None;
        for previewer in &self.0 {
            let create = || -> BoxFuture<'_, Result<Option<String>, Panic>> {
                let preview = previewer.preview(&request);
                Box::pin(async { Ok(preview.await) })
            };
            match CatchPanic::new(create, Err).await {
                Ok(None) => {}
                Ok(Some(text)) => {
                    preview = Some(text);
                    break;
                }
                Err(panic) => preview = Some(format!("There is no preview: a previewer {panic}")),
            }
        }
        if let (Some(text), Some(redactor)) = (&mut preview, &request.redactor) {
            redactor.redact(text);
        }
        // Half a secret is a secret too, so the text is cut after it is redacted.
        request.preview =
            preview.map(|text| first_bytes(visible(&text).into_owned(), MAX_PREVIEW_BYTES));
        request
    }
}

impl fmt::Debug for Previewers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.len().fmt(f)
    }
}
