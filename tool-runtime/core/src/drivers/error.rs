//! The error of a reply that a driver can't parse.

use crate::models::ChatReply;

/// A reply in which a driver finds no call and no answer, or one that can't be carried out.
///
/// The agent loop sends the feedback to the model and requests another reply, up to
/// [`max_parse_attempts`](super::Driver::max_parse_attempts) replies in all. If the last of them
/// can't be parsed either, the loop continues with the fallback. Without a fallback the run ends
/// with [`StopReason::UnparsableReply`](crate::StopReason::UnparsableReply).
///
/// # Examples
///
/// ```
/// use tool_runtime::ChatReply;
/// use tool_runtime::drivers::ReplyParseError;
///
/// let error = ReplyParseError::unparsable(ChatReply::text("Hm."), "Reply with JSON.");
/// assert_eq!(error.feedback, "Reply with JSON.");
/// assert_eq!(error.to_string(), "model reply contains no tool call and no answer: \"Hm.\"");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {}", .kind.words(), self.details())]
#[non_exhaustive]
pub struct ReplyParseError {
    pub(crate) kind: ReplyParseErrorKind,
    /// The reply that could not be parsed.
    pub reply: Box<ChatReply>,
    /// The text for the model: what is wrong, and how to reply instead.
    pub feedback: String,
    /// The reply that is used if the model gets no further attempt. Default: `None`, which ends the
    /// run.
    pub fallback: Option<Box<ChatReply>>,
}

/// The kind of failure of a [`ReplyParseError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyParseErrorKind {
    /// The reply has no part in the requested form.
    Extraction,
    /// The reply has the requested form, but names an unknown tool or arguments that the tool
    /// doesn't take.
    Validation,
}

impl ReplyParseErrorKind {
    fn words(self) -> &'static str {
        match self {
            Self::Extraction => "model reply contains no tool call and no answer",
            Self::Validation => "model reply contains an invalid tool call or answer",
        }
    }
}

/// The largest part of a reply that an error message quotes, in characters.
const MAX_QUOTED: usize = 300;

impl ReplyParseError {
    /// Returns the details for operators: the feedback if it names the mistake, else the reply.
    fn details(&self) -> String {
        if self.is_invalid() {
            return self.feedback.clone();
        }
        let text = self.reply.to_text();
        let quoted: String = text.chars().take(MAX_QUOTED).collect();
        let ellipsis = if quoted.len() < text.len() { "…" } else { "" };
        format!("{quoted:?}{ellipsis}")
    }

    /// Creates an error for a reply that has no part in the requested form.
    pub fn unparsable(reply: ChatReply, feedback: impl Into<String>) -> Self {
        let (kind, reply) = (ReplyParseErrorKind::Extraction, Box::new(reply));
        Self { kind, reply, feedback: feedback.into(), fallback: None }
    }

    /// Creates an error for a reply that asks for something that can't be done.
    pub fn invalid(reply: ChatReply, feedback: impl Into<String>) -> Self {
        Self { kind: ReplyParseErrorKind::Validation, ..Self::unparsable(reply, feedback) }
    }

    /// Returns `true` if the reply has the requested form, but names an unknown tool or arguments
    /// that the tool doesn't take; `false` if it has no part in that form.
    ///
    /// ```
    /// use tool_runtime::ChatReply;
    /// use tool_runtime::drivers::ReplyParseError;
    ///
    /// let error = ReplyParseError::invalid(ChatReply::text("/fly"), "There is no /fly.");
    /// assert!(error.is_invalid());
    /// assert!(!ReplyParseError::unparsable(ChatReply::text("Hm."), "Call a tool.").is_invalid());
    /// ```
    pub fn is_invalid(&self) -> bool {
        self.kind == ReplyParseErrorKind::Validation
    }

    /// Sets the reply that is used if the model gets no further attempt.
    #[must_use]
    pub fn with_fallback(mut self, reply: ChatReply) -> Self {
        self.fallback = Some(Box::new(reply));
        self
    }
}
