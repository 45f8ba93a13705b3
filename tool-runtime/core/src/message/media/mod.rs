//! Binary data in messages: images, audio and files.

mod generated_file;
pub(crate) mod image_type;

use serde::{Deserialize, Serialize};

pub use generated_file::{FileContent, GeneratedFile};

/// An image for a model that accepts images.
///
/// ```
/// use tool_runtime::{Image, ToolOutput};
///
/// let image = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
/// let output = ToolOutput::text("The chart:").with_image(image.clone());
/// assert_eq!(output.parts(), [image.into()]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The bytes of the image, in base64.
    pub base64: String,
}

/// Audio data for a model that accepts audio.
///
/// ```
/// use tool_runtime::ToolOutput;
/// use tool_runtime::message::Audio;
///
/// let output = ToolOutput::text("The answer:").with_part(Audio::new("audio/wav", "UklGRg=="));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Audio {
    /// The media type, such as `audio/wav`.
    pub media_type: String,
    /// The bytes of the audio, in base64.
    pub base64: String,
}

/// A file with its content, such as a PDF document.
///
/// To send text, use [`EmbeddedResource::text`](super::EmbeddedResource::text), which every model
/// can read.
///
/// ```
/// use tool_runtime::ToolOutput;
/// use tool_runtime::message::FileData;
///
/// let file = FileData::new("application/pdf", "JVBERi0=").name("report.pdf");
/// let output = ToolOutput::text("The report:").with_part(file);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileData {
    /// The name of the file, such as `report.pdf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type, such as `application/pdf`.
    pub media_type: String,
    /// The bytes of the file, in base64.
    pub base64: String,
}

/// The binary data of a part of any kind, which a client of a model API encodes.
///
/// [`ContentPart::media`](super::ContentPart::media) returns it.
///
/// ```
/// use tool_runtime::ContentPart;
/// use tool_runtime::message::Audio;
///
/// let part = ContentPart::from(Audio::new("audio/wav", "UklGRg=="));
/// let media = part.media().unwrap();
/// assert_eq!(media.note(), "[left out: audio/wav, 4 bytes]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Media<'a> {
    /// The name of the file or the URI of the resource.
    pub name: Option<&'a str>,
    /// The media type, such as `image/png`.
    pub media_type: &'a str,
    /// The bytes, in base64.
    pub base64: &'a str,
}

impl Audio {
    /// Creates audio from its media type and its bytes in base64.
    pub fn new(media_type: impl Into<String>, base64: impl Into<String>) -> Self {
        Self { media_type: media_type.into(), base64: base64.into() }
    }
}

impl FileData {
    /// Creates a file from its media type and its bytes in base64.
    pub fn new(media_type: impl Into<String>, base64: impl Into<String>) -> Self {
        Self { name: None, media_type: media_type.into(), base64: base64.into() }
    }

    /// Sets the name of the file.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

impl Media<'_> {
    /// Returns the note that replaces the data for a model that does not accept it.
    pub fn note(&self) -> String {
        let Self { name, media_type, .. } = self;
        let name = name.map(|name| format!("{name}, ")).unwrap_or_default();
        format!("[left out: {name}{media_type}, {} bytes]", self.byte_len())
    }

    /// Returns the size of the data in bytes.
    pub fn byte_len(&self) -> usize {
        let digits = self.base64.trim_end_matches('=').len();
        digits / 4 * 3 + (digits % 4) * 3 / 4
    }

    /// Returns the data as a URL of the scheme `data`.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }
}
