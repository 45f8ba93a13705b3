use serde::{Deserialize, Serialize};

use super::Media;

/// A file that a model or a tool of its provider has created: an image, audio or a document.
///
/// A later request returns it to the provider that created it, where its API accepts that. Any
/// other provider receives a note in its place.
///
/// ```
/// use tool_runtime::message::GeneratedFile;
///
/// let file = GeneratedFile::base64("gemini", "image/png", "iVBORw0KGgo=");
/// assert_eq!(file.media().unwrap().byte_len(), 8);
/// assert_eq!(file.note(), "[left out: image/png, 8 bytes]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GeneratedFile {
    /// The API that returned the file, as in [`Reasoning::provider`](crate::Reasoning::provider).
    pub provider: String,
    /// The name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type, such as `image/png`, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The bytes of the file, or where the provider keeps them.
    #[serde(flatten)]
    pub content: FileContent,
}

/// The bytes of a file, or its id at the provider that keeps it.
///
/// ```
/// use tool_runtime::message::{FileContent, GeneratedFile};
///
/// let file = GeneratedFile::stored("anthropic", "file_1");
/// assert_eq!(file.content, FileContent::Id("file_1".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileContent {
    /// The bytes of the file, in base64.
    Base64(String),
    /// The id of a file at the provider, which a program requests from it.
    Id(String),
}

impl GeneratedFile {
    /// Creates a file from its media type and its bytes in base64.
    pub fn base64(
        provider: impl Into<String>,
        media_type: impl Into<String>,
        base64: impl Into<String>,
    ) -> Self {
        let media_type = Some(media_type.into());
        let content = FileContent::Base64(base64.into());
        Self { provider: provider.into(), name: None, media_type, content }
    }

    /// Creates a file that the provider keeps under this id.
    pub fn stored(provider: impl Into<String>, id: impl Into<String>) -> Self {
        let content = FileContent::Id(id.into());
        Self { provider: provider.into(), name: None, media_type: None, content }
    }

    /// Sets the name of the file. An empty one changes nothing.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into()).filter(|name| !name.is_empty()).or(self.name);
        self
    }

    /// Sets the media type of the file. An empty one changes nothing.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        let media_type = Some(media_type.into()).filter(|media_type| !media_type.is_empty());
        self.media_type = media_type.or(self.media_type);
        self
    }

    /// Returns the data of the file, unless the provider keeps it.
    pub fn media(&self) -> Option<Media<'_>> {
        let FileContent::Base64(base64) = &self.content else { return None };
        let media_type = self.media_type.as_deref().unwrap_or("application/octet-stream");
        Some(Media { name: self.name.as_deref(), media_type, base64 })
    }

    /// Returns the note that replaces the file for a model that does not accept it.
    pub fn note(&self) -> String {
        if let Some(media) = self.media() {
            return media.note();
        }
        let FileContent::Id(id) = &self.content else { return String::new() };
        let facts = [self.name.as_deref(), self.media_type.as_deref()];
        let facts: String = facts.into_iter().flatten().map(|fact| format!("{fact}, ")).collect();
        format!("[left out: {facts}file `{id}`]")
    }
}
