use serde::Serialize;
use serde_json::Value;

use super::ToolError;
use super::ToolErrorKind;
use crate::event::EffectRecord;
use crate::message::{ContentPart, Image};

mod format;
mod return_value;
pub(crate) mod rows;
mod text;

pub use format::{OutputFormat, Row};
pub use return_value::{NoSchema, NotResult, ReturnType, ReturnValue};

/// The output of a tool: text or JSON, with further parts and recorded effects.
///
/// The parts follow the text in the order in which they were added. Text is a part, too:
///
/// ```
/// use tool_runtime::{Image, ToolOutput};
///
/// let image = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
/// let output = ToolOutput::text("In May:").with_image(image).with_part("Sales fell.");
/// assert_eq!(output.parts().len(), 2);
/// ```
///
/// ```
/// use tool_runtime::ToolOutput;
///
/// let report = ToolOutput::json(&serde_json::json!({ "celsius": 4 })).unwrap();
/// assert_eq!(report.as_text(), r#"{"celsius":4}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    text: String,
    is_json: bool,
    /// Boxed, because few outputs have any.
    attachments: Option<Box<Attachments>>,
}

/// The parts, the value and the effects of an output, which most outputs do not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attachments {
    pub(crate) parts: Vec<ContentPart>,
    pub(crate) structured: Option<Value>,
    pub(crate) effects: Vec<EffectRecord>,
}

impl ToolOutput {
    /// Creates an output of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_json: false, attachments: None }
    }

    /// Creates an output that is sent as JSON.
    ///
    /// # Errors
    /// The value can't be serialized as JSON, such as a map whose keys are not strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self { text: serde_json::to_string(value)?, is_json: true, attachments: None })
    }

    /// Creates an output of parts. If the first one is text, it is the text of the output.
    ///
    /// ```
    /// use tool_runtime::{ContentPart, ToolOutput};
    ///
    /// let output = ToolOutput::from_parts([ContentPart::text("One."), ContentPart::text("Two.")]);
    /// assert_eq!(output, ToolOutput::text("One.").with_part("Two."));
    /// ```
    pub fn from_parts(parts: impl IntoIterator<Item = ContentPart>) -> Self {
        let mut parts = parts.into_iter().peekable();
        let text = parts.next_if(|part| part.as_text().is_some());
        let output = match text {
            Some(ContentPart::Text { text }) => Self::text(text),
            _ => Self::default(),
        };
        parts.fold(output, Self::with_part)
    }

    /// Adds an image for the model.
    #[must_use]
    pub fn with_image(self, image: Image) -> Self {
        self.with_part(image)
    }

    /// Adds a part for the model, after the text and the parts so far.
    ///
    /// ```
    /// use tool_runtime::ToolOutput;
    /// use tool_runtime::message::{Audio, ResourceLink};
    ///
    /// let output = ToolOutput::text("The answer:")
    ///     .with_part(Audio::new("audio/wav", "UklGRg=="))
    ///     .with_part(ResourceLink::new("file:///answer.wav", "answer.wav"));
    /// assert_eq!(output.parts().len(), 2);
    /// ```
    #[must_use]
    pub fn with_part(mut self, part: impl Into<ContentPart>) -> Self {
        self.attachments.get_or_insert_default().parts.push(part.into());
        self
    }

    /// Adds the output as a value for programs. The model does not receive it. Add it only if it
    /// differs from the text.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::ToolOutput;
    ///
    /// let output = ToolOutput::text("4 degrees").with_structured(json!({ "celsius": 4 }));
    /// assert_eq!(output.structured(), Some(&json!({ "celsius": 4 })));
    /// ```
    #[must_use]
    pub fn with_structured(mut self, value: impl Into<Value>) -> Self {
        self.attachments.get_or_insert_default().structured = Some(value.into());
        self
    }

    /// Records an observed effect. It appears in the execution and in events; the model does not
    /// see it.
    #[must_use]
    pub fn with_effect(mut self, effect: impl Into<EffectRecord>) -> Self {
        self.attachments.get_or_insert_default().effects.push(effect.into());
        self
    }

    /// Returns the text for the model.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Returns `true` if the text is a JSON document.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Returns the parts for the model that follow the text.
    pub fn parts(&self) -> &[ContentPart] {
        self.attachments.as_ref().map_or(&[], |attachments| &attachments.parts)
    }

    /// Returns the value that [`with_structured`](Self::with_structured) added.
    pub fn structured(&self) -> Option<&Value> {
        self.attachments.as_ref()?.structured.as_ref()
    }

    /// Returns the recorded effects.
    pub fn effects(&self) -> &[EffectRecord] {
        self.attachments.as_ref().map_or(&[], |attachments| &attachments.effects)
    }

    /// Returns the text for the model by value.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Removes the recorded tokens, for an output that is reused from a cache.
    pub(crate) fn without_usage(mut self) -> Self {
        if let Some(attachments) = &mut self.attachments {
            attachments
                .effects
                .retain(|effect| !matches!(effect, EffectRecord::TokensSpent { .. }));
        }
        self
    }

    #[inline]
    pub(crate) fn split(self) -> (String, Option<Box<Attachments>>) {
        (self.text, self.attachments)
    }
}

/// A value that a tool can return.
///
/// It is implemented for [`ToolOutput`] and for every [`Serialize`] type: what serializes as a
/// string (text, a `char`, a unit variant) is sent as that text, `()` as `ok`, and everything else
/// as JSON. Implement it for a type of your own that is not `Serialize`:
///
/// ```
/// use tool_runtime::{IntoToolOutput, ToolError, ToolOutput, tool};
///
/// struct Celsius(f64);
///
/// impl IntoToolOutput for Celsius {
///     fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
///         Ok(ToolOutput::text(format!("{} °C", self.0)))
///     }
/// }
///
/// /// Measures the temperature.
/// #[tool(effect = "read")]
/// async fn temperature() -> Celsius {
///     Celsius(4.5)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the output of a tool",
    label = "derive `serde::Serialize` for it, or return text or a `ToolOutput`",
    note = "to choose what the model reads, implement `IntoToolOutput` for `{Self}`"
)]
pub trait IntoToolOutput {
    /// Converts the value into the output of the call.
    ///
    /// # Errors
    /// The value can't be serialized as JSON.
    fn into_tool_output(self) -> Result<ToolOutput, ToolError>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoToolOutput for T {
    #[inline]
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        text::encode(&self).map_err(|error| {
            ToolError::new(
                ToolErrorKind::ExecutionFailed,
                "the tool's output can't be written as JSON",
            )
            .with_source(error)
        })
    }
}

#[diagnostic::do_not_recommend]
impl IntoToolOutput for ToolOutput {
    fn into_tool_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}
