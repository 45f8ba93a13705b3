//! Body of a `generateContent` reply.
//!
//! The shapes follow Google's API reference, "GenerateContentResponse", and its SDKs. Each message
//! of a stream is such a body too, so both are decoded alike.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::codec::DecodeError;
use crate::shared::Counts;
use tool_core::{FinishReason, Usage};

/// Provider name of the reasoning that this codec seals.
pub(super) const REASONING_OF: &str = "gemini";

/// Member of a part that carries the signature which Google needs back on the same part.
pub(super) const SIGNATURE: &str = "thoughtSignature";

/// Member of a request that continues a reply, and of the candidate that ended before its limit.
pub(super) const CONTINUATION_TOKEN: &str = "continuationToken";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerateContentResponse {
    pub(super) response_id: Option<Value>,
    pub(super) model_version: Option<Value>,
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
    pub(super) continuation_token: Option<String>,
    pub(super) grounding_metadata: Option<Value>,
    pub(super) citation_metadata: Option<Value>,
    pub(super) url_context_metadata: Option<Value>,
}

#[derive(Default, Deserialize)]
pub(super) struct Content {
    pub(super) parts: Option<Vec<Map<String, Value>>>,
}

/// Replaces the candidates if the prompt was blocked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback {
    pub(super) block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireCall {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    /// Arguments in pieces, which only Vertex sends and only on request.
    pub(super) partial_args: Option<Value>,
    pub(super) will_continue: Option<bool>,
}

/// Converts the counts. Prompt tokens include cached ones; candidate tokens exclude thoughts. Each
/// message of a stream reports running totals.
pub(super) fn counted(counts: &Counts) -> Usage {
    let get = |pointer| counts.get(pointer).unwrap_or(0);
    let thoughts = get("/thoughtsTokenCount");
    let mut usage = Usage::new(
        get("/promptTokenCount").saturating_add(get("/toolUsePromptTokenCount")),
        get("/candidatesTokenCount").saturating_add(thoughts),
    );
    usage.cache_read_tokens = get("/cachedContentTokenCount");
    usage.reasoning_tokens = thoughts;
    usage.audio_input_tokens = counts.of_modality("promptTokensDetails", "AUDIO");
    usage.audio_output_tokens = counts.of_modality("candidatesTokensDetails", "AUDIO");
    usage
}

/// Decodes a body, unless it reports an error.
pub(super) fn decode_body(body: &str) -> Result<GenerateContentResponse, DecodeError> {
    let decoded = serde_json::from_str::<GenerateContentResponse>(body);
    let mut decoded = decoded.map_err(|error| DecodeError::malformed(error.to_string()))?;
    decoded.error.take().map_or(Ok(decoded), |error| Err(DecodeError::Reported(error)))
}

/// Converts the finish reason. A blocked prompt has none.
///
/// # Errors
/// [`DecodeError::Malformed`] if the model made a call that the API could not parse: the rest of
/// the reply is not an answer then.
pub(super) fn finish(reason: Option<&str>, has_calls: bool) -> Result<FinishReason, DecodeError> {
    Ok(match reason {
        None | Some("STOP" | "CONTINUATION") if has_calls => FinishReason::ToolCalls,
        Some("CONTINUATION") => FinishReason::Paused,
        None | Some("STOP") => FinishReason::Stop,
        Some("MAX_TOKENS") => FinishReason::Length,
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
        ) => FinishReason::ContentFilter,
        Some(
            reason @ ("MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "MISSING_THOUGHT_SIGNATURE"
            | "MALFORMED_RESPONSE"),
        ) => return Err(DecodeError::malformed(format!("finish reason {reason}"))),
        Some(_) => FinishReason::Other,
    })
}
