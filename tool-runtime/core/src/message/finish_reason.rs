use serde::{Deserialize, Serialize};

/// The reason why a model stopped generating its reply.
///
/// ```
/// use tool_runtime::{ChatReply, FinishReason};
///
/// let reply = ChatReply::text("It is 4 deg").finish_reason(FinishReason::Length);
/// assert_eq!(reply.finish_reason, FinishReason::Length);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The reply is complete. Also the value if the provider reports no reason.
    #[default]
    Stop,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The token limit was reached, so the reply is truncated.
    Length,
    /// The content filter of the provider removed the reply or the rest of it.
    ContentFilter,
    /// The provider paused the reply again after the highest number of continuations.
    Paused,
    /// The provider reports another reason.
    Other,
}

impl FinishReason {
    pub(crate) fn is_stop(&self) -> bool {
        *self == Self::Stop
    }
}
