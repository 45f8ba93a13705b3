//! What the body of a `generateContent` reply holds.
//!
//! The shapes are those of Google's API reference, "GenerateContentResponse", and of its SDKs. Each
//! message of a stream is such a body too, so there is one way to read both.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::message::Usage;
use crate::models::Finish;
use crate::providers::codec::{Counts, Unreadable};

/// Whose reasoning it is.
pub(super) const REASONING_OF: &str = "gemini";

/// The member of a part that carries what the model's maker wants back on that very part.
pub(super) const SIGNATURE: &str = "thoughtSignature";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body {
    pub(super) candidates: Option<Vec<Candidate>>,
    pub(super) prompt_feedback: Option<Feedback>,
    #[serde(default)]
    pub(super) usage_metadata: Counts,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate {
    pub(super) index: Option<u64>,
    pub(super) content: Option<Content>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
pub(super) struct Content {
    pub(super) parts: Option<Vec<Map<String, Value>>>,
}

/// Comes instead of a candidate where the prompt was blocked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback {
    pub(super) block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Called {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    /// Arguments in pieces, on Vertex alone and only for those who ask.
    pub(super) partial_args: Option<Value>,
    pub(super) will_continue: Option<bool>,
}

/// What the prompt took includes what was cached; what the model said does not include its thoughts. Each
/// message of a stream tells the whole so far.
pub(super) fn counted(told: &Counts) -> Usage {
    let at = |pointer| told.at(pointer).unwrap_or(0);
    let thoughts = at("/thoughtsTokenCount");
    let mut usage = Usage::new(
        at("/promptTokenCount").saturating_add(at("/toolUsePromptTokenCount")),
        at("/candidatesTokenCount").saturating_add(thoughts),
    );
    usage.cached = at("/cachedContentTokenCount");
    usage.reasoning = thoughts;
    usage
}

/// A body, unless it reports an error.
pub(super) fn read(body: &str) -> Result<Body, Unreadable> {
    let read = serde_json::from_str::<Body>(body);
    let mut read = read.map_err(|error| Unreadable::malformed(error.to_string()))?;
    read.error.take().map_or(Ok(read), |error| Err(Unreadable::Failed(error)))
}

/// Why the model said no more. A prompt that was blocked has no such reason.
///
/// # Errors
/// It called a tool in a way that can't be read: what else it said is no answer.
pub(super) fn finish(reason: Option<&str>, has_calls: bool) -> Result<Finish, Unreadable> {
    Ok(match reason {
        None | Some("STOP") if has_calls => Finish::Calls,
        None | Some("STOP") => Finish::Stop,
        Some("MAX_TOKENS") => Finish::Length,
        Some(
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => Finish::Filtered,
        Some(
            reason @ ("MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "MISSING_THOUGHT_SIGNATURE"
            | "MALFORMED_RESPONSE"),
        ) => return Err(Unreadable::malformed(format!("it ended by {reason}"))),
        Some(_) => Finish::Other,
    })
}
