use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::visible::mark_invisible;
use super::{CallId, ContentPart, ToolCall};

/// The result that the model receives for a call. Every call has exactly one.
///
/// Most results consist of a text alone. Images, further texts and other [parts](ContentPart) may
/// follow it, in order.
///
/// ```
/// use tool_runtime::{ToolCall, ToolResult};
///
/// let call = ToolCall::new("call_1", "forecast", "{}");
/// let result = ToolResult::failure(&call, "TOOL_TIMEOUT", "The tool was stopped.");
/// assert_eq!(result.call, call.id);
/// assert!(!result.is_success());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub call: CallId,
    /// The name of the tool, as the model spelled it.
    pub tool: String,
    /// The text for the model, before all parts.
    pub text: String,
    /// The parts for the model that follow the text, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ContentPart>,
    /// The result as a value, for programs; set if it differs from the text. The model does not
    /// receive it. [`structured_value`](Self::structured_value) also reads a text that is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The stable code of the failure, such as `TOOL_TIMEOUT`; `None` if the tool succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ToolResult {
    /// Creates the result of a call that succeeded.
    pub fn success(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            call: call.id.clone(),
            tool: call.name.clone(),
            text: text.into(),
            parts: Vec::new(),
            structured: None,
            error: None,
        }
    }

    /// Creates the result of a call that failed or did not run, with a stable code and a text for
    /// the model.
    pub fn failure(call: &ToolCall, code: impl Into<String>, text: impl Into<String>) -> Self {
        Self { error: Some(code.into()), ..Self::success(call, text) }
    }

    /// Returns `true` if the call succeeded.
    pub fn is_success(&self) -> bool {
        self.error.is_none()
    }

    /// Returns the text and all parts as one text. A note replaces images and other binary data.
    ///
    /// ```
    /// use tool_runtime::{Image, ToolCall, ToolResult};
    ///
    /// let mut result = ToolResult::success(&ToolCall::new("1", "chart", "{}"), "The chart:");
    /// let image = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
    /// result.parts = vec![image.into(), "Done.".into()];
    /// assert_eq!(result.plain_text(), "The chart:\n[left out: image/png, 8 bytes]\nDone.");
    /// ```
    pub fn plain_text(&self) -> Cow<'_, str> {
        self.text_without(|_| false)
    }

    /// Returns the text and all parts as one text, without the parts that are sent separately.
    ///
    /// `is_separate` selects the parts to leave out. If text follows such a part, the placeholder
    /// `[attachment 1]`, with the number of the part, replaces it, so that the model knows the
    /// order.
    ///
    /// ```
    /// use tool_runtime::{Image, ToolCall, ToolResult};
    ///
    /// let mut result = ToolResult::success(&ToolCall::new("1", "chart", "{}"), "The chart:");
    /// let base64 = "iVBORw0KGgo=".into();
    /// result.parts.push(Image { media_type: "image/png".into(), base64 }.into());
    /// assert_eq!(result.text_without(|part| part.media().is_some()), "The chart:");
    /// result.parts.push("Done.".into());
    /// let text = result.text_without(|part| part.media().is_some());
    /// assert_eq!(text, "The chart:\n[attachment 1]\nDone.");
    /// ```
    pub fn text_without(&self, is_separate: impl Fn(&ContentPart) -> bool) -> Cow<'_, str> {
        if self.parts.is_empty() {
            return self.text.as_str().into();
        }
        let last_text = self.parts.iter().rposition(|part| !is_separate(part));
        let mut pieces = vec![Cow::from(&self.text)];
        let mut count = 0;
        for part in self.parts.iter().take(last_text.map_or(0, |last| last + 1)) {
            if is_separate(part) {
                count += 1;
                pieces.push(format!("[attachment {count}]").into());
            } else {
                pieces.push(part.plain_text());
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces.join("\n").into()
    }

    /// Marks the characters that people can't see in all texts for the model, whatever the tool:
    /// they could hide instructions from people. The value for programs stays as it is.
    pub(crate) fn mark_invisible(&mut self) {
        if let Some(marked) = mark_invisible(&self.text) {
            let text = std::mem::replace(&mut self.text, marked);
            self.structured = self.structured.take().or_else(|| serde_json::from_str(&text).ok());
        }
        for text in self.parts.iter_mut().flat_map(ContentPart::texts_mut) {
            if let Some(marked) = mark_invisible(text) {
                *text = marked;
            }
        }
    }

    /// Returns the result as a value: [`structured`](Self::structured), or the text if it is JSON.
    ///
    /// The text of a tool whose definition has an output schema is JSON, unless it was truncated.
    /// [`ToolExecution::structured_value`](crate::ToolExecution::structured_value) also reads the
    /// complete text.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{ToolCall, ToolResult};
    ///
    /// let call = ToolCall::new("1", "forecast", "{}");
    /// let mut result = ToolResult::success(&call, r#"{"celsius": 4}"#);
    /// assert_eq!(result.structured_value(), Some(json!({ "celsius": 4 })));
    /// result.structured = Some(json!(4));
    /// assert_eq!(result.structured_value(), Some(json!(4)));
    /// ```
    pub fn structured_value(&self) -> Option<Value> {
        self.structured.clone().or_else(|| serde_json::from_str(&self.text).ok())
    }
}
