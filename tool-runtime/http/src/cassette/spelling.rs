//! Spellings of a secret in a body: as it is, escaped in JSON, percent-encoded, or in base64.
//!
//! A text is decoded once or several times ([`layers`]). Each decoded text knows where its bytes
//! come from, so a secret that is found in it is replaced in the original. Base64 is searched for
//! without decoding, because neither its start nor its end is known ([`base64_cores`]).

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// The highest number of times that JSON is escaped: JSON in a string, in a string of an event.
const MAX_ESCAPES: usize = 3;

/// A decoded text.
pub(super) struct Layer {
    pub(super) text: String,
    /// For each byte of the text and for its end, where what it comes from starts in the original;
    /// `None` if the text is the original.
    origins: Option<Vec<usize>>,
}

impl Layer {
    /// Returns the range of the original that a range of the text comes from.
    pub(super) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        self.origin_of(range.start)..self.origin_of(range.end)
    }

    fn origin_of(&self, at: usize) -> usize {
        self.origins.as_ref().map_or(at, |origins| origins.get(at).copied().unwrap_or_default())
    }

    /// Decodes the text once more. `decode` returns the character that an escape at the start of a
    /// text spells, and the length of the escape.
    fn decoded(&self, decode: fn(&str) -> Option<(char, usize)>) -> Self {
        let (mut text, mut origins) = (String::new(), Vec::new());
        let mut at = 0;
        while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
            let plain = rest.chars().next().map_or((' ', 1), |c| (c, c.len_utf8()));
            let (character, length) = decode(rest).unwrap_or(plain);
            text.push(character);
            origins.extend(std::iter::repeat_n(self.origin_of(at), character.len_utf8()));
            at += length;
        }
        origins.push(self.origin_of(at));
        Self { text, origins: Some(origins) }
    }
}

/// Returns a text, and what it spells in JSON strings and in URLs.
pub(super) fn layers(text: &str) -> Vec<Layer> {
    let mut layers = vec![Layer { text: text.to_owned(), origins: None }];
    if text.contains('%') {
        let decoded = layers.first().map(|text| text.decoded(percent_escape));
        layers.extend(decoded);
    }
    let mut escaped = 0;
    for _ in 0..MAX_ESCAPES {
        let Some(layer) = layers.get(escaped).filter(|layer| layer.text.contains('\\')) else {
            break;
        };
        let decoded = layer.decoded(json_escape);
        escaped = layers.len();
        layers.push(decoded);
    }
    layers
}

/// Decodes an escape of JSON. A pair of surrogates is one character.
fn json_escape(text: &str) -> Option<(char, usize)> {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    };
    if let Some(first) = unit(text) {
        let second = text.get(6..).and_then(unit);
        let mut pair = char::decode_utf16([first].into_iter().chain(second));
        let character = pair.next()?.ok()?;
        return Some((character, 6 * character.len_utf16()));
    }
    let character = match text.strip_prefix('\\')?.chars().next()? {
        c @ ('"' | '\\' | '/') => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        _ => return None,
    };
    Some((character, 2))
}

/// Decodes an ASCII character of a URL; keys have no others.
fn percent_escape(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix('%')?.get(..2)?;
    let byte = u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii)?;
    Some((char::from(byte), 3))
}

/// The shortest base64 that is searched for; a shorter one occurs by chance.
const MIN_CORE: usize = 4;

/// Returns the characters that every base64 of a text with the secret contains, for each position
/// of the secret within a group of three bytes, in both alphabets.
pub(super) fn base64_cores(secret: &str) -> Vec<String> {
    let mut cores = Vec::new();
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(secret.as_bytes());
        // The first and the last character may depend on bytes beside the secret.
        let (start, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        for engine in [STANDARD, URL_SAFE] {
            let encoded = engine.encode(&bytes);
            let core = encoded.get(start..end).filter(|core| core.len() >= MIN_CORE);
            cores.extend(core.map(ToOwned::to_owned));
        }
    }
    cores.dedup();
    cores
}

#[cfg(test)]
mod tests {
    use super::layers;

    #[test]
    fn layers_map_their_text_to_the_original() {
        let text = r#"a\u0073k\\u002d\ud83d\ude00% %2d"#;
        for (secret, origin) in [
            ("sk", r"\u0073k"),
            ("k-", r"k\\u002d"),
            ("\u{1f600}", r"\ud83d\ude00"),
            ("% -", "% %2d"),
        ] {
            let found = layers(text).iter().find_map(|layer| {
                let start = layer.text.find(secret)?;
                Some(layer.origin(&(start..start + secret.len())))
            });
            assert_eq!(found.and_then(|range| text.get(range)), Some(origin), "{secret}");
        }
    }

    #[test]
    fn malformed_escapes_are_text() {
        for text in [r"\u12", r"\ud83d", r"\x41", "%4", "%zz", "\\"] {
            assert!(layers(text).iter().all(|layer| layer.text == text), "{text}");
        }
    }
}
