use std::fmt;

use super::Prompt;
use super::turn::OutOfTurn;
use crate::message::Message;
use crate::models::ModelError;
use crate::registry::RegistryError;

/// The end of a run in which the model answered. Prints as its text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// What the model said in the end.
    pub text: String,
    /// The whole conversation, that answer included: what a next run goes on from.
    pub transcript: Vec<Message>,
}

impl Answer {
    /// The conversation, and what is said next.
    ///
    /// ```
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tool_runtime::Stopped> {
    /// # let model = ScriptedModel::new([ChatReply::text("Hi!"), ChatReply::text("Fine.")]);
    /// let agent = Agent::new(model, Tools::new());
    /// let answer = agent.run("Hello").await?;
    /// let answer = agent.run(answer.then("How are you?")).await?;
    /// assert_eq!(answer.transcript.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn then(self, text: impl Into<String>) -> Prompt {
        let mut transcript = self.transcript;
        transcript.push(Message::user(text));
        Prompt::from(transcript)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The end of a run without an answer.
#[non_exhaustive]
pub struct Stopped {
    /// What stopped it.
    pub why: StopReason,
    /// The conversation up to there. Every call in it has its result, so that it can be gone on
    /// from.
    pub transcript: Vec<Message>,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run stopped: {}", self.why)
    }
}

/// The reason is printed already; its source is what lies behind it.
impl std::error::Error for Stopped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.why.source()
    }
}

/// What a `main` that returns it, or an `unwrap`, prints: the reason, not the whole conversation.
impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What stopped a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopReason {
    /// The model was asked as often as it may be, and wanted more calls; those were not run.
    #[error("the model was asked as often as it may be ({0} times) and has not answered")]
    MaxIterations(u32),
    /// The model said nothing and called nothing.
    #[error("the model replied with neither text nor calls")]
    Silent,
    /// The model gave no reply.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The tools could not be registered; the model was never asked.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A fault of the loop itself.
    #[error(transparent)]
    OutOfTurn(#[from] OutOfTurn),
}
