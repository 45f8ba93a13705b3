//! Files that a model has created.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tool_core::__workspace::{MediaKind, image_type, media_refusal};
use tool_core::AssistantPart;
use tool_core::message::GeneratedFile;

/// The number of digits of base64 that contain the first bytes of a file.
const HEAD_DIGITS: usize = 32;

/// Returns the part for a file. A visible note takes the place of data that can't be decoded.
pub(crate) fn file_part(provider: &str, media_type: &str, base64: String) -> AssistantPart {
    match media_refusal(MediaKind::Other, media_type, &base64) {
        None => AssistantPart::File(GeneratedFile::base64(provider, media_type, base64)),
        Some(reason) => refused_part(media_type, reason),
    }
}

/// Returns the note for a file that was left out.
pub(crate) fn refused_part(media_type: &str, reason: &str) -> AssistantPart {
    let media_type: String =
        media_type.chars().filter(|c| c.is_ascii_graphic() && *c != '`').take(100).collect();
    let text = format!("[file of the type `{media_type}` was left out: {reason}]");
    AssistantPart::Text { text }
}

/// Returns the part for the data URL of a file; `None` for another URL.
pub(crate) fn data_url_part(provider: &str, url: &str) -> Option<AssistantPart> {
    let (media_type, base64) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(file_part(provider, media_type, base64.to_owned()))
}

/// Returns the media type of an image by its first bytes, if it is known.
pub(crate) fn image_type_of(base64: &str) -> Option<&'static str> {
    let head = base64.get(..base64.len().min(HEAD_DIGITS) / 4 * 4)?;
    image_type(&STANDARD.decode(head).ok()?)
}

/// Returns the text of a reply as a model reads it, with notes in place of files.
pub(crate) fn text_with_notes(parts: &[AssistantPart]) -> String {
    let mut all = String::new();
    for part in parts {
        match part {
            AssistantPart::Text { text } => all.push_str(text),
            AssistantPart::File(file) => {
                if !all.is_empty() && !all.ends_with('\n') {
                    all.push('\n');
                }
                all.push_str(&file.note());
            }
            _ => {}
        }
    }
    all
}
