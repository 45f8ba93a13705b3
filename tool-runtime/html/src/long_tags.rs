//! Shortens tags with very many attributes, whose names the tokenizer compares with each other.

use std::borrow::Cow;

/// The maximum number of attributes of a tag. The time of the tokenizer is quadratic in it.
const MAX_ATTRIBUTES: usize = 64;

/// Replaces the attributes of each tag after the first 64 by `hidden`: one of them could hide the
/// element.
pub(crate) fn shorten_tags(html: &str) -> Cow<'_, str> {
    let (mut shortened, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(found) = html.get(at..).and_then(|rest| rest.find('<')) {
        at += found + 1;
        let name_len = html.get(at..).map_or(0, |rest| rest.bytes().take_while(is_of_name).count());
        if name_len == 0 {
            continue;
        }
        let mut tag = TagReader { bytes: html.as_bytes(), at: at + name_len };
        let mut cut = None;
        for number in 0_usize.. {
            let Some(start) = tag.read_attribute() else { break };
            if number == MAX_ATTRIBUTES {
                cut = Some(start);
            }
        }
        if let Some(cut) = cut {
            shortened.push_str(html.get(copied..cut).unwrap_or_default());
            shortened.push_str("hidden");
            copied = tag.at;
        }
        at = tag.at;
    }
    if copied == 0 {
        return html.into();
    }
    shortened.push_str(html.get(copied..).unwrap_or_default());
    shortened.into()
}

fn is_of_name(byte: &u8) -> bool {
    byte.is_ascii_alphabetic()
}

/// Reads the attributes of a start tag as the tokenizer of HTML does.
struct TagReader<'h> {
    bytes: &'h [u8],
    at: usize,
}

impl TagReader<'_> {
    /// Reads an attribute and returns where it starts; `None` at the end of the tag.
    fn read_attribute(&mut self) -> Option<usize> {
        self.skip_while(|byte| byte.is_ascii_whitespace() || byte == b'/');
        let start = self.at;
        if matches!(self.byte(), None | Some(b'>')) {
            return None;
        }
        // The first sign belongs to the name, even an equals sign.
        self.at += 1;
        self.skip_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'='));
        self.skip_while(|byte| byte.is_ascii_whitespace());
        if self.byte() == Some(b'=') {
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_whitespace());
            match self.byte() {
                Some(quote @ (b'"' | b'\'')) => {
                    self.at += 1;
                    self.skip_while(|byte| byte != quote);
                    self.at = self.bytes.len().min(self.at + 1);
                }
                _ => self.skip_while(|byte| !byte.is_ascii_whitespace() && byte != b'>'),
            }
        }
        Some(start)
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_while(&mut self, skips: impl Fn(u8) -> bool) {
        while self.byte().is_some_and(&skips) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain_text;

    fn attributes(range: std::ops::Range<usize>) -> String {
        range.map(|number| format!(" a{number}=\"x > y\"")).collect()
    }

    #[test]
    fn short_tags_stay_as_they_are() {
        for html in ["", "a < b", "<p>", "<p a=1 b='>' c>text</p>", "<", "<p a=\"", "<é a>"] {
            assert!(matches!(shorten_tags(html), Cow::Borrowed(text) if text == html), "{html}");
        }
        let longest = format!("<p{}>text", attributes(0..64));
        assert_eq!(shorten_tags(&longest), longest);
    }

    #[test]
    fn element_with_too_many_attributes_is_hidden() {
        for last in ["", " style=\"display:none\"", " b=c/", " b = 'é'"] {
            let first = attributes(0..64);
            let html = format!("before <p{first} c=d{last}>text</p> after");
            assert_eq!(shorten_tags(&html), format!("before <p{first} hidden>text</p> after"));
            assert_eq!(plain_text(&html), ("before \nafter".to_owned(), true), "{last}");
        }
    }

    #[test]
    fn many_attributes_take_linear_time() {
        let html = format!("<p{}>text</p> after", attributes(0..200_000));
        assert_eq!(plain_text(&html).0, "after");
    }
}
