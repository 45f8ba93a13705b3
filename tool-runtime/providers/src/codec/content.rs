//! Encodes the parts of messages and results.

use serde_json::Value;

use tool_core::message::Media;
use tool_core::{ContentPart, ToolResult};

/// Encodes parts in order, for an API that accepts text and some kinds of data.
///
/// `text` returns `None` for a text that the API refuses, such as an empty one. `media` returns
/// `None` for data that the API does not accept, and a note takes its place. Links and the text of
/// resources are encoded as text.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::Image;
/// use tool_runtime::message::Audio;
/// use tool_runtime::providers::codec::encode_parts;
///
/// let image = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
/// let audio = Audio::new("audio/wav", "UklGRg==");
/// let encoded = encode_parts(
///     &["What is it?".into(), image.into(), audio.into()],
///     |text| Some(json!({ "text": text })),
///     |media| media.media_type.starts_with("image/").then(|| json!({ "image": media.base64 })),
/// );
/// assert_eq!(
///     encoded,
///     [
///         json!({ "text": "What is it?" }),
///         json!({ "image": "iVBORw0KGgo=" }),
///         json!({ "text": "[left out: audio/wav, 4 bytes]" }),
///     ],
/// );
/// ```
pub fn encode_parts(
    parts: &[ContentPart],
    text: impl Fn(&str) -> Option<Value>,
    media: impl Fn(Media<'_>) -> Option<Value>,
) -> Vec<Value> {
    let encode = |part: &ContentPart| match part.media().and_then(&media) {
        Some(encoded) => Some(encoded),
        None => text(&part.plain_text()),
    };
    parts.iter().filter_map(encode).collect()
}

/// Encodes the content of a result, for an API that accepts its parts in order: a string if the
/// result is only a text, otherwise a list as from [`encode_parts`].
///
/// For an API whose results are text only, use [`ToolResult::text_without`].
///
/// ```
/// use serde_json::json;
/// use tool_runtime::providers::codec::encode_result;
/// use tool_runtime::{ToolCall, ToolResult};
///
/// let text = |text: &str| Some(json!({ "text": text }));
/// let mut result = ToolResult::success(&ToolCall::new("1", "now", "{}"), "noon");
/// assert_eq!(encode_result(&result, text, |_| None), "noon");
/// result.parts.push("sharp".into());
/// let encoded = encode_result(&result, text, |_| None);
/// assert_eq!(encoded, json!([{ "text": "noon" }, { "text": "sharp" }]));
/// ```
pub fn encode_result(
    result: &ToolResult,
    text: impl Fn(&str) -> Option<Value>,
    media: impl Fn(Media<'_>) -> Option<Value>,
) -> Value {
    if result.parts.is_empty() {
        return result.text.as_str().into();
    }
    let mut content: Vec<_> = text(&result.text).into_iter().collect();
    content.extend(encode_parts(&result.parts, text, media));
    if content.is_empty() { "".into() } else { content.into() }
}
