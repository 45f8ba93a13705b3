//! Detects the content of a file by its first bytes: an image, other binary data, or encoded text.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use tool_core::__workspace::image_type;

/// The number of bytes that decide what a large file contains.
pub(crate) const HEAD_LEN: usize = 64 * 1024;

/// The kind of content of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Content {
    /// An image of this media type, which models accept.
    Image(&'static str),
    /// Data that is not text.
    Binary,
    /// Text in an encoding.
    Text(&'static Encoding),
}

impl Content {
    /// Detects the kind of content by the first bytes of a file, or all of them.
    pub(crate) fn detect(head: &[u8], is_complete: bool) -> Self {
        if let Some(media_type) = image_type(head) {
            return Self::Image(media_type);
        }
        if let Some((encoding, _)) = Encoding::for_bom(head) {
            return Self::Text(encoding);
        }
        if memchr::memchr(0, head).is_some() {
            return Self::Binary;
        }
        let is_utf8 = match std::str::from_utf8(head) {
            Ok(_) => true,
            // The head may end within a character.
            Err(error) => !is_complete && error.error_len().is_none(),
        };
        if is_utf8 {
            return Self::Text(UTF_8);
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(head, is_complete);
        Self::Text(detector.guess(None, Utf8Detection::Allow))
    }
}

/// Returns the text of a file if it is UTF-8 without NUL bytes, as git treats it.
pub(crate) fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|_| memchr::memchr(0, bytes).is_none())
}

/// Whether an encoding has units of two bytes.
pub(crate) fn is_utf16(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

#[cfg(test)]
mod tests {
    use encoding_rs::{SHIFT_JIS, UTF_8, UTF_16LE, WINDOWS_1252};

    use super::Content;

    #[test]
    fn content_is_detected_by_its_first_bytes() {
        let japanese = SHIFT_JIS.encode("これは日本語の文章です。よろしくお願いします。").0;
        for (bytes, is_complete, expected) in [
            (&b""[..], true, Content::Text(UTF_8)),
            ("Tromsø".as_bytes(), true, Content::Text(UTF_8)),
            (&b"Troms\xC3"[..], false, Content::Text(UTF_8)),
            (
                b"D\xE9j\xE0 vu \xE0 l'\xE9t\xE9, tr\xE8s fran\xE7ais",
                true,
                Content::Text(WINDOWS_1252),
            ),
            (&japanese, true, Content::Text(SHIFT_JIS)),
            (b"\xFF\xFEa\0", true, Content::Text(UTF_16LE)),
            (b"\xEF\xBB\xBFa", true, Content::Text(UTF_8)),
            (b"\x7FELF\x02\x01\x01\0", true, Content::Binary),
            (b"\x89PNG\r\n\x1A\n\0\0", true, Content::Image("image/png")),
            (b"\xFF\xD8\xFF\xE0", true, Content::Image("image/jpeg")),
            (b"RIFF\0\0\0\0WEBPVP8", true, Content::Image("image/webp")),
            (b"GIF89a", true, Content::Image("image/gif")),
        ] {
            assert_eq!(Content::detect(bytes, is_complete), expected, "{bytes:?}");
        }
    }
}
