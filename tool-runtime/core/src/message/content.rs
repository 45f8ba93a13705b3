use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Audio, EmbeddedResource, FileData, Image, Media, ResourceData, ResourceLink};

/// A part of a user message or of the result of a call.
///
/// The parts are sent in their order. Not every model accepts every kind: links and the text of
/// resources are sent as text, and data that the API of the model does not accept is replaced by a
/// note with its type and size.
///
/// ```
/// use tool_runtime::{ContentPart, Image, Message};
///
/// let image = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
/// let message = Message::user_parts(vec!["What does this show?".into(), image.into()]);
/// assert_eq!(message.text(), "What does this show?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentPart {
    /// A part of plain text.
    Text {
        /// The text of the part.
        text: String,
    },
    /// A part with an image.
    Image(Image),
    /// A part with audio.
    Audio(Audio),
    /// A part with a file, such as a PDF document.
    File(FileData),
    /// A part that points to a resource, without its content.
    Link(ResourceLink),
    /// A part with a resource and its content.
    Resource(EmbeddedResource),
}

impl ContentPart {
    /// Creates a part of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text of a [`Text`](Self::Text) part; other parts have none.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }

    /// Returns the binary data of a part. Text, links and resources of text have none.
    ///
    /// ```
    /// use tool_runtime::ContentPart;
    /// use tool_runtime::message::FileData;
    ///
    /// let part = ContentPart::from(FileData::new("application/pdf", "JVBERi0=").name("a.pdf"));
    /// let media = part.media().unwrap();
    /// assert_eq!((media.media_type, media.name), ("application/pdf", Some("a.pdf")));
    /// ```
    pub fn media(&self) -> Option<Media<'_>> {
        let (name, media_type, base64) = match self {
            Self::Text { .. } | Self::Link(_) => return None,
            Self::Image(Image { media_type, base64 }) => (None, media_type.as_str(), base64),
            Self::Audio(Audio { media_type, base64 }) => (None, media_type.as_str(), base64),
            Self::File(FileData { name, media_type, base64 }) => {
                (name.as_deref(), media_type.as_str(), base64)
            }
            Self::Resource(EmbeddedResource { uri, media_type, data }) => match data {
                ResourceData::Text(_) => return None,
                ResourceData::Base64(base64) => {
                    let media_type = media_type.as_deref().unwrap_or("application/octet-stream");
                    (Some(uri.as_str()), media_type, base64)
                }
            },
        };
        // A common misspelling, which model APIs refuse.
        let media_type = if media_type == "image/jpg" { "image/jpeg" } else { media_type };
        Some(Media { name, media_type, base64 })
    }

    /// Returns the part as text. A note replaces binary data.
    ///
    /// ```
    /// use tool_runtime::{ContentPart, Image};
    /// use tool_runtime::message::{EmbeddedResource, ResourceLink};
    ///
    /// let image = Image { media_type: "image/png".into(), base64: "iVBORw0KGgo=".into() };
    /// let parts: [(ContentPart, &str); 4] = [
    ///     ("4 degrees".into(), "4 degrees"),
    ///     (image.into(), "[left out: image/png, 8 bytes]"),
    ///     (ResourceLink::new("file:///a.txt", "a").into(), "[link: a, file:///a.txt]"),
    ///     (EmbeddedResource::text("file:///a.txt", "Hi").into(), "[file:///a.txt]\nHi"),
    /// ];
    /// for (part, text) in parts {
    ///     assert_eq!(part.plain_text(), text);
    /// }
    /// ```
    pub fn plain_text(&self) -> Cow<'_, str> {
        if let Some(media) = self.media() {
            return media.note().into();
        }
        match self {
            Self::Text { text } => text.into(),
            Self::Link(link) => link.note().into(),
            Self::Resource(EmbeddedResource { uri, data: ResourceData::Text(text), .. }) => {
                format!("[{uri}]\n{text}").into()
            }
            Self::Image(_) | Self::Audio(_) | Self::File(_) | Self::Resource(_) => "".into(),
        }
    }

    /// Returns the texts that a model reads.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let texts = match self {
            Self::Text { text } => [Some(text), None, None],
            Self::File(FileData { name, .. }) => [name.as_mut(), None, None],
            Self::Link(ResourceLink { uri, name, description, .. }) => {
                [Some(uri), Some(name), description.as_mut()]
            }
            Self::Resource(EmbeddedResource { uri, data: ResourceData::Text(text), .. }) => {
                [Some(uri), Some(text), None]
            }
            Self::Resource(EmbeddedResource { uri, .. }) => [Some(uri), None, None],
            Self::Image(_) | Self::Audio(_) => [None, None, None],
        };
        texts.into_iter().flatten()
    }

    /// Returns the size of the part in memory, in bytes.
    pub(crate) fn byte_len(&self) -> usize {
        self.media().map_or_else(|| self.plain_text().len(), |media| media.base64.len())
    }
}

impl From<&str> for ContentPart {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentPart {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

macro_rules! from_data {
    ($($variant:ident($data:ty)),*) => {$(
        impl From<$data> for ContentPart {
            fn from(data: $data) -> Self {
                Self::$variant(data)
            }
        }
    )*};
}

from_data! {
    Image(Image),
    Audio(Audio),
    File(FileData),
    Link(ResourceLink),
    Resource(EmbeddedResource)
}
