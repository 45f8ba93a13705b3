//! Code of the program's own before and after the model is asked.

use std::ops::ControlFlow;

use async_trait::async_trait;

use crate::drivers::PreparedRequest;
use crate::models::ChatReply;

/// Sees what the model is asked and what it replies. Calls of tools are seen by an
/// [`Interceptor`](crate::dispatch::Interceptor).
///
/// Several are asked in their order, and told in the opposite one. `Break` ends the run, for the reason given,
/// as [`StopReason::Requested`](crate::StopReason::Requested); so does one that panics.
///
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use tool_runtime::agent::ModelHook;
/// use tool_runtime::drivers::PreparedRequest;
/// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools, async_trait};
///
/// /// Lets nobody ask for what is not ready yet.
/// struct Embargo;
///
/// #[async_trait]
/// impl ModelHook for Embargo {
///     async fn before(&self, asked: &mut PreparedRequest<'_>) -> ControlFlow<String> {
///         match asked.messages.iter().any(|message| message.text().contains("Project X")) {
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
/// assert_eq!(stopped.to_string(), "the run stopped: the program asked it to: Project X is secret");
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no hook of a model",
    label = "implement `ModelHook` for a type of your own, under `#[async_trait]`",
    note = "a closure is no hook: it has a part before the model is asked and one after it"
)]
#[async_trait]
pub trait ModelHook: Send + Sync {
    /// Before the model is asked, once a turn. What is changed here goes to the model, and isn't kept.
    async fn before(&self, asked: &mut PreparedRequest<'_>) -> ControlFlow<String> {
        let _ = asked;
        ControlFlow::Continue(())
    }

    /// After the model replied. What is changed here is what it said, for all that follows; what it took
    /// counts all the same.
    async fn after(&self, reply: &mut ChatReply) -> ControlFlow<String> {
        let _ = reply;
        ControlFlow::Continue(())
    }
}
