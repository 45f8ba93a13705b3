//! How large a definition may be. A tool of another machine may say anything of itself.

use serde_json::Value;

/// The longest description, in bytes: far more than any provider takes.
pub(super) const LONGEST_TEXT: usize = 64 << 10;

/// The deepest schema. Values any deeper are never read, and to print one takes stack.
pub(super) const DEEPEST: usize = 128;

/// The longest name of something that a tool needs, and how many such things there may be.
pub(super) const LONGEST_NAME: usize = 128;

/// How much a schema may hold: bytes of text and keys, and one for each value.
pub(super) const LARGEST: usize = 512 << 10;

/// Whether a text says to a model what it shows to people.
///
/// Control characters, but those of lines, speak to a terminal; those that turn the direction of
/// writing, and those that take no room, hide what is said or hold words that nobody sees. A joiner
/// has its place between letters of scripts that join them, and in pictures made of several: nowhere
/// beside a character of ASCII, and never beside another.
pub(super) fn is_plain(text: &str) -> bool {
    let is_joiner = |c: char| matches!(c, '\u{200c}' | '\u{200d}');
    let is_joined = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_joiner(c));
    let mut chars = text.chars().peekable();
    let mut last = None;
    while let Some(c) = chars.next() {
        let is_misplaced = is_joiner(c) && !(is_joined(last) && is_joined(chars.peek().copied()));
        if is_misplaced || is_hidden(c) {
            return false;
        }
        last = Some(c);
    }
    true
}

fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}' => true,
        // Spaces without width, marks and overrides of direction, breaks of lines, unseen operators.
        '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tags, and selectors of variants that no common text needs: both can spell whole sentences.
        '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// What is wrong with a document that a definition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It is too large or too deep.
    TooLarge,
    /// A key or a text in it is not plain.
    Hidden,
}

/// Whether documents are together of a size to work with, and plain in all their texts; found out
/// without recursion.
pub(super) fn fit<'d>(documents: impl Iterator<Item = &'d Value>) -> Result<(), Unfit> {
    let (mut waiting, mut left) = (documents.map(|it| (it, 1)).collect::<Vec<_>>(), LARGEST);
    let mut is_hidden = false;
    while let Some((value, depth)) = waiting.pop() {
        let size = match value {
            Value::String(text) => 1 + text.len(),
            Value::Object(members) => 1 + members.keys().map(String::len).sum::<usize>(),
            _ => 1,
        };
        match left.checked_sub(size) {
            Some(rest) if depth <= DEEPEST => left = rest,
            _ => return Err(Unfit::TooLarge),
        }
        match value {
            Value::String(text) => is_hidden |= !is_plain(text),
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                is_hidden |= !members.keys().all(|name| is_plain(name));
                waiting.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
    }
    if is_hidden { Err(Unfit::Hidden) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn writing_of_all_peoples_is_plain() {
        for text in [
            "a\tb\r\nc",
            "می‌خواهم",
            "क्‍ष",
            "👩‍💻 👨‍👩‍👧 ❤️ 🏳️‍🌈",
            "日本語、中文",
            "שלום عالم",
            "naïve – “so”",
        ] {
            assert!(is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn what_nobody_sees_is_not() {
        for text in [
            "\0",
            "\u{1b}[2J",
            "\u{85}",
            "pay\u{200b}pal",
            "\u{202e}gnp.exe",
            "\u{2066}a\u{2069}",
            "a\u{2028}- b(): c",
            "\u{feff}a",
            "so\u{ad}ft",
            "hi\u{e0068}\u{e0069}",
            "\u{e0101}\u{e0102}",
            "a\u{200d}b",
            "é\u{200d}",
            "\u{200c}é",
            "é\u{200c}\u{200d}\u{200c}é",
        ] {
            assert!(!is_plain(text), "{text:?}");
        }
    }
}
