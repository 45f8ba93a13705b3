//! Decodes text: by what the bytes are, then by what the server and the page declare.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

/// The bytes in which a page declares its encoding.
const META_LEN: usize = 1024;

/// Decodes text. `declared` is the parameter `charset` of the header `content-type`.
pub(crate) fn decode(bytes: &[u8], declared: Option<&str>, is_truncated: bool) -> String {
    let encoding = detect(bytes, declared, is_truncated);
    // A byte order mark decides, and is removed.
    let (text, _, _) = encoding.decode(bytes);
    text.into_owned()
}

fn detect(bytes: &[u8], declared: Option<&str>, is_truncated: bool) -> &'static Encoding {
    let declared = declared.and_then(|label| Encoding::for_label(label.as_bytes()));
    // Their texts can be valid UTF-8 as well.
    if let Some(encoding) = declared
        && [UTF_16LE, UTF_16BE, ISO_2022_JP].contains(&encoding)
    {
        return encoding;
    }
    let within_meta = || declared.is_none().then(|| declared_by_page(bytes)).flatten();
    if is_utf8(bytes) {
        return within_meta().filter(|encoding| *encoding == ISO_2022_JP).unwrap_or(UTF_8);
    }
    match declared.or_else(within_meta) {
        Some(encoding) if encoding != UTF_8 => encoding,
        // UTF-8 that is not valid was declared by mistake.
        _ => {
            let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
            detector.feed(bytes, !is_truncated);
            detector.guess(None, Utf8Detection::Allow)
        }
    }
}

/// Whether bytes are UTF-8, apart from a few that are damaged or the start of a cut character.
fn is_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    invalid == 0 || invalid * 10 < valid
}

/// Returns the encoding in a `meta` tag of HTML or the declaration of XML.
fn declared_by_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..META_LEN).unwrap_or(bytes).to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let marker = ["charset", "encoding"].into_iter().find_map(|name| {
        let rest = head.get(head.find(name)? + name.len()..)?;
        rest.trim_start().strip_prefix('=')
    })?;
    let label = marker.trim_start().trim_start_matches(['"', '\'']);
    let end = label.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c));
    let encoding = Encoding::for_label(label.get(..end.unwrap_or(label.len()))?.as_bytes())?;
    // The declaration itself was read as ASCII.
    let is_utf16 = [UTF_16LE, UTF_16BE].contains(&encoding);
    Some(if is_utf16 { UTF_8 } else { encoding })
}
