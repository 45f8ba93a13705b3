use std::fmt;

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

/// A `main` that returns an error prints it like this: the reason, not the whole conversation.
impl fmt::Debug for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transcript = format_args!("{} messages", self.transcript.len());
        f.debug_struct("Stopped").field("why", &self.why).field("transcript", &transcript).finish()
    }
}

/// What stopped a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StopReason {
    /// The model was asked as often as it may be, and wanted more calls; those were not run.
    #[error("the model was asked {0} times and still wants to call tools")]
    MaxIterations(u32),
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
