use serde::{Deserialize, Serialize};

use crate::message::{ContentPart, EmbeddedResource, GeneratedFile, Media, ResourceLink};

/// A part of a message that is not text, described without its data.
///
/// The message in the transcript has the data.
///
/// ```
/// use tool_runtime::ContentPart;
/// use tool_runtime::event::Attachment;
/// use tool_runtime::message::FileData;
///
/// let report = FileData::new("application/pdf", "JVBERi0=").name("report.pdf");
/// let attachment = Attachment::of(&ContentPart::from(report)).unwrap();
/// assert_eq!(attachment.name.as_deref(), Some("report.pdf"));
/// assert_eq!(attachment.byte_len, Some(5));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attachment {
    /// The name of the file, or the URI of the resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size of the data in bytes, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte_len: Option<u64>,
}

impl Attachment {
    /// Describes a file that a model has created.
    pub fn of_file(file: &GeneratedFile) -> Self {
        let GeneratedFile { name, media_type, .. } = file;
        match file.media() {
            Some(media) => Self::of_media(&media),
            None => Self { name: name.clone(), media_type: media_type.clone(), byte_len: None },
        }
    }

    fn of_media(media: &Media<'_>) -> Self {
        Self {
            name: media.name.map(ToOwned::to_owned),
            media_type: Some(media.media_type.to_owned()),
            byte_len: u64::try_from(media.byte_len()).ok(),
        }
    }

    /// Describes a part of a message; returns `None` for a text.
    pub fn of(part: &ContentPart) -> Option<Self> {
        if let Some(media) = part.media() {
            return Some(Self::of_media(&media));
        }
        match part {
            ContentPart::Link(ResourceLink { uri, media_type, size, .. }) => Some(Self {
                name: Some(uri.clone()),
                media_type: media_type.clone(),
                byte_len: *size,
            }),
            ContentPart::Resource(EmbeddedResource { uri, media_type, .. }) => Some(Self {
                name: Some(uri.clone()),
                media_type: media_type.clone(),
                byte_len: u64::try_from(part.byte_len()).ok(),
            }),
            _ => None,
        }
    }
}
