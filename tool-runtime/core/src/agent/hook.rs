//! Hooks before and after each model request.

use std::ops::ControlFlow;

use async_trait::async_trait;

use crate::drivers::PreparedRequest;
use crate::models::ChatReply;
use crate::tool::RunContext;

/// Hook that sees each model request and each reply, and may change them or stop the run.
///
/// Set it with [`Agent::model_hook`](crate::Agent::model_hook). To see tool calls, use an
/// [`Interceptor`](crate::dispatch::Interceptor).
///
/// Several hooks run in the order in which they were added before a request, and in reverse order
/// after the reply. If a hook returns `Break`, the run ends with
/// [`StopReason::StopRequested`](crate::StopReason::StopRequested) and the given reason. A hook
/// that panics ends the run in the same way. To report a problem without ending the run, call
/// [`RunContext::warn`].
///
/// Put `#[async_trait]`, which this crate re-exports, on the `impl` block.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use tool_runtime::agent::ModelHook;
/// use tool_runtime::drivers::PreparedRequest;
/// use tool_runtime::{Agent, ChatReply, RunContext, ScriptedModel, Tools, async_trait};
///
/// /// Stops runs that mention a secret project.
/// struct Embargo;
///
/// #[async_trait]
/// impl ModelHook for Embargo {
///     async fn before_request(
///         &self,
///         request: &mut PreparedRequest<'_>,
///         _: &RunContext<'_>,
///     ) -> ControlFlow<String> {
///         match request.messages.iter().any(|message| message.text().contains("Project X")) {
///             true => ControlFlow::Break("Project X is secret".into()),
///             false => ControlFlow::Continue(()),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let model = ScriptedModel::new([ChatReply::text("It is …")]);
/// let agent = Agent::new(model, Tools::new()).model_hook(Embargo);
/// let stopped = agent.run("What is Project X?").await.unwrap_err();
/// assert!(stopped.to_string().ends_with("Project X is secret"));
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `ModelHook`",
    label = "implement `ModelHook` for a type of your own, under `#[async_trait]`",
    note = "a closure can't be a model hook: a hook has one method before the request and one after the reply"
)]
#[async_trait]
pub trait ModelHook: Send + Sync {
    /// Called before the model request of each turn.
    ///
    /// Changes apply to this request only and are not kept in the transcript. `ctx` describes the
    /// run that sends the request.
    async fn before_request(
        &self,
        request: &mut PreparedRequest<'_>,
        ctx: &RunContext<'_>,
    ) -> ControlFlow<String> {
        let _ = (request, ctx);
        ControlFlow::Continue(())
    }

    /// Called after each reply of the model.
    ///
    /// Changes replace the reply in the transcript and for all further steps. The usage of the
    /// original reply still counts.
    async fn after_reply(
        &self,
        reply: &mut ChatReply,
        ctx: &RunContext<'_>,
    ) -> ControlFlow<String> {
        let _ = (reply, ctx);
        ControlFlow::Continue(())
    }
}
