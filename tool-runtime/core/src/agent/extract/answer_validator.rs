//! Validators of answers, which can reject an answer and request another one.

use async_trait::async_trait;

use crate::tool::RunContext;

/// Accepts or rejects the answer of a run; a rejection asks the model for another answer.
///
/// Add it with [`Agent::answer_validator`](crate::Agent::answer_validator). Several validators run
/// in the order in which they were added; the first that rejects the answer decides. The value of
/// [`Agent::extract`](crate::Agent::extract) is validated by its type instead.
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::agent::AnswerValidator;
/// use tool_runtime::{Agent, ChatReply, RunContext, ScriptedModel, Tools, async_trait};
///
/// struct NamesSource;
///
/// #[async_trait]
/// impl AnswerValidator for NamesSource {
///     async fn validate(&self, answer: &str, _: &RunContext<'_>) -> Result<(), String> {
///         match answer.contains("Source:") {
///             true => Ok(()),
///             false => Err("Name your source, as `Source: …`.".into()),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// let model = ScriptedModel::new([
///     ChatReply::text("Oslo has 700,000 people."),
///     ChatReply::text("Oslo has 700,000 people. Source: the census."),
/// ]);
/// let agent = Agent::new(model, Tools::new()).answer_validator(NamesSource);
/// let answer = agent.run("How many people live in Oslo?").await?;
/// assert!(answer.text.ends_with("Source: the census."));
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't validate answers",
    label = "implement `AnswerValidator` for a type of your own, under `#[async_trait]`"
)]
#[async_trait]
pub trait AnswerValidator: Send + Sync {
    /// Accepts the answer, or rejects it with a message to the model.
    ///
    /// If the validator panics, the run stops with
    /// [`AnswerRejected`](crate::StopReason::AnswerRejected).
    ///
    /// # Errors
    /// If the answer is rejected, returns the message for the model, for instance what to change.
    ///
    /// # Cancellation
    /// The future is dropped if the run is cancelled or reaches its time limit.
    async fn validate(&self, answer: &str, ctx: &RunContext<'_>) -> Result<(), String>;

    /// Returns true if a reply without calls is not streamed before it is accepted. Default: true.
    ///
    /// If no validator and no [`ModelHook`](crate::agent::ModelHook) holds replies back, they are
    /// streamed as they arrive, and
    /// [`ModelEvent::ValidationFailed`](crate::event::ModelEvent::ValidationFailed) names a text
    /// that was streamed and then rejected.
    fn holds_back_answers(&self) -> bool {
        true
    }
}
