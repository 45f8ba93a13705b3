use serde::Serialize;

use super::ToolError;
use super::ToolErrorKind;

mod returned;
mod text;

pub use returned::{Bare, Failure, Output, Returned, finish};

/// What a tool gives back to the model.
///
/// ```
/// use tool_runtime::ToolOutput;
///
/// let report = ToolOutput::json(&serde_json::json!({ "celsius": 4 })).unwrap();
/// assert_eq!(report.as_text(), r#"{"celsius":4}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    text: String,
    is_json: bool,
}

impl ToolOutput {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_json: false }
    }

    /// A value, sent as JSON.
    ///
    /// # Errors
    /// The value can't be written as JSON, such as a map with keys that aren't text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self { text: serde_json::to_string(value)?, is_json: true })
    }

    /// What the model reads.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Whether the text is a JSON document.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// What the model reads, by value.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// A value that a tool may return.
///
/// Whatever serialises to a string (text, a `char`, a unit variant) is sent as that text, `()` as
/// `ok`, and every other [`Serialize`] as JSON. [`ToolOutput`] is sent as it is.
pub trait IntoToolOutput {
    /// The output to send.
    ///
    /// # Errors
    /// The value can't be written as JSON.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

impl<T: Serialize> IntoToolOutput for T {
    #[inline]
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        text::encode(&self).map_err(|error| {
            ToolError::new(ToolErrorKind::Failed, "the tool's output can't be written as JSON")
                .with_source(error)
        })
    }
}

impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}
