use serde::Serialize;

use super::ToolError;
use super::ToolErrorKind;
use crate::event::EffectRecord;
use crate::message::Image;

mod format;
mod return_value;
mod text;

pub use format::{OutputFormat, Row};
pub use return_value::{NoSchema, NotResult, ReturnType, ReturnValue};

/// The output of a tool: text or JSON, with images and recorded effects.
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

#[derive(Clone, Debug, Default, PartialEq)]
struct Attachments {
    images: Vec<Image>,
    effects: Vec<EffectRecord>,
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

    /// Adds an image for the model.
    ///
    /// ```
    /// use tool_runtime::{Image, ToolOutput};
    ///
    /// let image = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
    /// let output = ToolOutput::text("The chart:").with_image(image.clone());
    /// assert_eq!(output.images(), [image]);
    /// ```
    #[must_use]
    pub fn with_image(mut self, image: Image) -> Self {
        self.attachments.get_or_insert_default().images.push(image);
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

    /// Returns the images for the model.
    pub fn images(&self) -> &[Image] {
        self.attachments.as_ref().map_or(&[], |attachments| &attachments.images)
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

    pub(crate) fn into_parts(self) -> (String, Vec<Image>, Vec<EffectRecord>) {
        let attachments = self.attachments.map(|attachments| *attachments).unwrap_or_default();
        (self.text, attachments.images, attachments.effects)
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
            ToolError::new(ToolErrorKind::Failed, "the tool's output can't be written as JSON")
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
