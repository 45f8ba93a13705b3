//! Calls that a worker runs: the envelope that the caller sends, and the conversion of the
//! execution that comes back.

use serde::{Deserialize, Serialize};

use super::{
    Fingerprint, RunInfo, SuspendedCall, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput,
};
use crate::event::{Origin, ToolExecution};
use crate::message::{Arguments, ToolCall};

/// Call as plain data, for the worker that runs it.
///
/// A tool whose code runs elsewhere, such as on a worker, creates it by
/// [`ToolContext::envelope`] and sends it over a queue of the program. The worker passes it to
/// [`Dispatcher::serve`](crate::Dispatcher::serve), and the tool converts the execution that comes
/// back by [`ToolContext::outcome_of`]. Policy is applied on the side of the caller: a worker runs
/// what it receives, so only a caller may be able to write to the queue.
///
/// The arguments and the metadata may contain secrets, and are not redacted.
///
/// ```
/// use std::sync::Arc;
/// use tool_runtime::dispatch::CallEnvelope;
/// use tool_runtime::event::Observers;
/// use tool_runtime::{
///     Arguments, CancellationToken, Dispatcher, Registry, Tool, ToolContext, ToolDefinition,
///     ToolError, ToolExecution, ToolOutput, Tools, async_trait, tool, tools,
/// };
///
/// /// Adds two numbers.
/// #[tool(effect = "none")]
/// async fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// A tool of another process.
/// struct OnWorker {
///     definition: ToolDefinition,
///     worker: Dispatcher,
/// }
///
/// #[async_trait]
/// impl Tool for OnWorker {
///     fn definition(&self) -> &ToolDefinition {
///         &self.definition
///     }
///
///     async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError> {
///         let sent = serde_json::to_string(&ctx.envelope(&self.definition, &args))?;
///
///         // In the other process:
///         let received: CallEnvelope = serde_json::from_str(&sent)?;
///         let (observers, cancellation) = (Observers::default(), CancellationToken::new());
///         let execution = self.worker.serve(received, observers, cancellation).await;
///         let sent_back = serde_json::to_string(&execution)?;
///
///         ctx.outcome_of(serde_json::from_str::<ToolExecution>(&sent_back)?)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let worker = Dispatcher::new(Registry::try_from(tools![add])?);
/// let definition = worker.registry().snapshot().definition("add").ok_or("no tool")?.clone();
/// let caller = Dispatcher::new(Registry::new());
/// caller.registry().register(Arc::new(OnWorker { definition, worker }))?;
/// let execution = caller.call("add", serde_json::json!({ "a": 2, "b": 3 })).await;
/// assert_eq!(execution.result.text, "5");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallEnvelope {
    /// The call, with the arguments that were validated and approved, under the tool's own name.
    pub call: ToolCall,
    /// The [idempotency key](ToolContext::idempotency_key) of the call, by which a queue recognizes
    /// a call that it has already.
    pub key: String,
    /// The run, the turn, the depth and the parent of the call.
    pub origin: Origin,
    /// The agent, the session and the metadata of the run.
    pub run_info: RunInfo,
    /// The fingerprint of the definition that the caller knows. A worker whose tool has another one
    /// does not run the call.
    pub fingerprint: Fingerprint,
    /// The saved state and the answer, if the call was suspended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended: Option<SuspendedCall>,
}

impl ToolContext {
    /// Returns this call as plain data, for the worker that runs it.
    ///
    /// `definition` is that of the tool in the other process. `args` are the arguments that
    /// [`Tool::call`](super::Tool::call) received.
    ///
    /// The timeout and the retries of a definition apply where the tool is registered. A caller
    /// that registers the definition with its timeout also counts the time in the queue; register
    /// a copy without them, and pass the original here.
    pub fn envelope(&self, definition: &ToolDefinition, args: &Arguments) -> CallEnvelope {
        let run = self.run_context();
        let name = definition.name.clone();
        CallEnvelope {
            call: ToolCall::new(self.call_id().clone(), name, args.clone()),
            key: self.idempotency_key(),
            origin: run.origin().clone(),
            run_info: RunInfo {
                agent: run.agent().map(ToOwned::to_owned),
                session: run.session().map(ToOwned::to_owned),
                metadata: run.metadata().clone(),
            },
            fingerprint: definition.fingerprint(),
            suspended: self.resumed().cloned(),
        }
    }

    /// Records the effects of an execution of this call on a worker, and returns its outcome.
    ///
    /// # Errors
    /// Returns the error of the execution if the call failed. If the tool was suspended on the
    /// worker, the error has its question and state, so that this call is suspended as well.
    pub fn outcome_of(&self, execution: ToolExecution) -> Result<ToolOutput, ToolError> {
        for effect in &execution.effects {
            self.record(effect.clone());
        }
        outcome(execution)
    }
}

/// Returns what the tool of an execution returned.
fn outcome(execution: ToolExecution) -> Result<ToolOutput, ToolError> {
    let (state, schema) =
        (execution.suspended_state().cloned(), execution.answer_schema().cloned());
    let awaits_answer = execution.question().is_some();
    let ToolExecution { result, full_text, cause, protocol_error, .. } = execution;
    let text = full_text.unwrap_or(result.text);
    let Some(code) = result.error else {
        let output = result.parts.into_iter().fold(ToolOutput::text(text), ToolOutput::with_part);
        return Ok(match result.structured {
            Some(value) => output.with_structured(value),
            None => output,
        });
    };
    let error = match state {
        Some(state) => {
            let mut error = ToolError::waiting(text, state, awaits_answer);
            error.set_answer_schema(schema);
            error
        }
        None => {
            // The code of a newer version is a failure all the same.
            let kind = ToolErrorKind::from_code(&code).unwrap_or(ToolErrorKind::ExecutionFailed);
            // The worker knows whether its tool ran.
            ToolError::new(kind, text).with_stated_certainty()
        }
    };
    let error = result.parts.into_iter().fold(error, ToolError::with_part);
    let error = match protocol_error {
        Some(protocol_error) => error.with_protocol_error(*protocol_error),
        None => error,
    };
    Err(match cause {
        Some(cause) => error.with_source(cause),
        None => error,
    })
}
