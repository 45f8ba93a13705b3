//! Runs calls that other processes have made and authorized.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Dispatcher;
use crate::event::{Observers, ToolExecution};
use crate::message::{ToolCall, ToolResult};
use crate::tool::{Batch, CallEnvelope, ToolErrorKind};

impl Dispatcher {
    /// Runs a call that another process has made and authorized, on the tools that the registry
    /// holds now.
    ///
    /// The policy of the caller decides whether the call may run, and limits what the model
    /// receives. Here, permissions, approvals and capabilities are not checked, and outputs are not
    /// truncated. Timeouts, retries, rate and concurrency limits, breakers, interceptors and
    /// attempt hooks of this dispatcher apply, and so does the policy to calls that the tool makes.
    /// The context of the tool shows the run, the metadata and the idempotency key of the caller.
    ///
    /// A call whose [fingerprint](CallEnvelope::fingerprint) is not that of the registered tool
    /// does not run: its execution has the error `TOOL_UNAVAILABLE`.
    ///
    /// A queue that delivers an envelope twice runs the call twice: before it calls this method, a
    /// worker must record that the call with this [key](CallEnvelope::key) has begun, and refuse a
    /// call that has begun before.
    ///
    /// ```
    /// use tool_runtime::event::Observers;
    /// use tool_runtime::{CancellationToken, Dispatcher, Registry, ToolContext, tool, tools};
    ///
    /// /// Adds two numbers.
    /// #[tool(effect = "none")]
    /// async fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let worker = Dispatcher::new(Registry::try_from(tools![add])?);
    /// let tools = worker.registry().snapshot();
    /// let definition = tools.definition("add").ok_or("no tool")?;
    /// // A caller sends it over a queue.
    /// let envelope = ToolContext::default().envelope(definition, &r#"{"a": 2, "b": 3}"#.into());
    /// let (observers, cancellation) = (Observers::default(), CancellationToken::new());
    /// assert_eq!(worker.serve(envelope, observers, cancellation).await.result.text, "5");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `observers` receive the events of the call after those of this dispatcher, for example to
    /// send progress to the caller.
    ///
    /// # Panics
    /// Panics outside a tokio runtime, as [`dispatch`](Self::dispatch) does.
    ///
    /// # Cancellation
    /// Dropping the future stops the call, and its tool gets the reason
    /// [`CallEnd::Dropped`](super::CallEnd::Dropped). Cancelling the token stops it with
    /// [`CallEnd::Cancelled`](super::CallEnd::Cancelled), and the execution has the error
    /// `TOOL_CANCELLED`.
    pub async fn serve(
        &self,
        envelope: CallEnvelope,
        observers: Observers,
        cancellation: CancellationToken,
    ) -> ToolExecution {
        let tools = self.registry.snapshot();
        let entry = tools.entry(&envelope.call.name).cloned();
        let CallEnvelope { call, key, origin, run_info, fingerprint, suspended } = envelope;
        let entry = match entry {
            Some(entry) if entry.definition().fingerprint() == fingerprint => entry,
            Some(entry) => {
                let found = entry.definition().fingerprint();
                let cause = format!("fingerprint mismatch: expected {fingerprint}, found {found}");
                return self.refused(call, "is another version on the worker of this call", cause);
            }
            None => {
                let cause = "no tool of this name is registered".to_owned();
                return self.refused(call, "is not on the worker of this call", cause);
            }
        };
        let mut batch = Batch::from(vec![call.clone()]);
        batch.origin = origin;
        batch.run_info = Some(Arc::new(run_info));
        batch.observers = observers;
        batch.cancellation = Some(cancellation);
        batch.served_key = Some(key);
        // The caller knows the tool by another full name.
        batch.suspended.extend(suspended.map(|mut suspended| {
            entry.full_name().clone_into(&mut suspended.tool);
            suspended.fingerprint = Some(fingerprint);
            suspended
        }));
        let execution = self.dispatch_on(&tools, batch).await.pop();
        execution.unwrap_or_else(|| {
            let text = "The result of this call was lost.";
            let code = ToolErrorKind::Indeterminate.code();
            self.skipped_execution(call.clone(), ToolResult::failure(&call, code, text))
        })
    }

    fn refused(&self, call: ToolCall, reason: &str, cause: String) -> ToolExecution {
        let text = format!("`{}` {reason}. Go on without it.", call.name);
        let result = ToolResult::failure(&call, ToolErrorKind::Unavailable.code(), text);
        ToolExecution { cause: Some(cause), ..self.skipped_execution(call, result) }
    }
}
