use serde::Serialize;

use super::ToolError;
use super::ToolErrorKind;
use crate::event::EffectRecord;
use crate::message::Image;

mod returned;
mod text;

pub use returned::{Bare, Failure, NoSchema, Output, Returned, Returns};

/// What a tool gives back to the model.
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
    /// Boxed, for few outputs have any.
    more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct More {
    images: Vec<Image>,
    effects: Vec<EffectRecord>,
}

impl ToolOutput {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_json: false, more: None }
    }

    /// A value, sent as JSON.
    ///
    /// # Errors
    /// The value can't be written as JSON, such as a map with keys that aren't text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self { text: serde_json::to_string(value)?, is_json: true, more: None })
    }

    /// Shows the model a picture as well.
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
        self.more.get_or_insert_default().images.push(image);
        self
    }

    /// Records what the tool did to the world, for whoever watches; the model doesn't see it.
    #[must_use]
    pub fn with_effect(mut self, effect: EffectRecord) -> Self {
        self.more.get_or_insert_default().effects.push(effect);
        self
    }

    /// What the model reads.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Whether the text is a JSON document.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// The pictures that the model is shown.
    pub fn images(&self) -> &[Image] {
        self.more.as_ref().map_or(&[], |more| &more.images)
    }

    /// What the tool did to the world.
    pub fn effects(&self) -> &[EffectRecord] {
        self.more.as_ref().map_or(&[], |more| &more.effects)
    }

    /// What the model reads, by value.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The same once more: nothing was taken for that.
    pub(crate) fn for_nothing(mut self) -> Self {
        if let Some(more) = &mut self.more {
            more.effects.retain(|effect| !matches!(effect, EffectRecord::TokensSpent { .. }));
        }
        self
    }

    pub(crate) fn into_parts(self) -> (String, Vec<Image>, Vec<EffectRecord>) {
        let more = self.more.map(|more| *more).unwrap_or_default();
        (self.text, more.images, more.effects)
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
