//! Makes characters visible that could deceive a person who reads a text.
//!
//! `invisible.rs` lists the characters that can't be seen, `table.rs` those that look like ASCII. A
//! mark consists of ASCII characters, and marks do not affect which other characters are replaced.
//! So a text that contains only marks is not changed again.

pub(crate) mod invisible;
mod table;

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value};

pub(crate) use self::invisible::invisible_character;
use self::invisible::is_invisible;
pub(super) use self::invisible::is_unseen;
use self::invisible::{is_drawn_on_last, is_hidden, is_space, is_without_width, replace_hidden};
pub(super) use self::table::contains;
use self::table::{COMPATIBILITY_FORMS, LETTERS, PUNCTUATION};

/// The marks on one character that scripts need, such as the vowels and accents of Hebrew.
const MAX_COMBINING: usize = 4;

/// Replaces the characters of a text that could deceive the person who reads it.
///
/// These characters are replaced by a mark such as `<U+202E>`:
///
/// - control characters except line breaks and tabs, characters that change the direction of
///   writing, zero-width and tag characters, and spaces other than that of ASCII;
/// - letters that look like ASCII letters or digits, such as the Cyrillic `а` in `pаypal`, if they
///   are in a word with ASCII letters, or if the text has no other letter of their script; so
///   Russian or Greek prose stays readable. Mathematical letters and Roman numerals are always
///   replaced, fullwidth ones unless the text has Chinese, Japanese or Korean letters;
/// - characters that look like `/`, `.`, `:`, `-` or `\`, if they are beside an ASCII character as
///   in a path or an address;
/// - the marks on one character after the fourth, by their number, such as
///   `<+900 combining characters>`: a flood of them covers the lines above and below.
///
/// ASCII text, emoji and prose in other scripts stay as they are. Show text that a model wrote to a
/// person only in this form.
/// [`redacted_arguments_json`](crate::dispatch::ApprovalRequest::redacted_arguments_json) returns
/// it already.
///
/// ```
/// use tool_runtime::message::visible;
///
/// assert_eq!(visible("rm \u{202e}fdp.exe"), "rm <U+202E>fdp.exe");
/// assert_eq!(visible("p\u{430}ypal.com"), "p<U+0430>ypal.com");
/// assert_eq!(visible("Москва, Αθήνα 👩‍💻"), "Москва, Αθήνα 👩‍💻");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if is_plain_ascii(text) {
        return text.into();
    }
    let mut marked = String::with_capacity(text.len());
    push_visible(text.chars().map(|c| (c, c)).collect(), &mut marked);
    if marked == text { text.into() } else { marked.into() }
}

/// Removes the characters of a text that people can't see.
///
/// Removes control characters except line breaks and tabs, characters that change the direction of
/// writing, and zero-width, tag and filler characters. Joiners stay where scripts and emoji need
/// them. A [definition](crate::ToolDefinition::validate) is rejected if one of its texts contains
/// such a character, so strip a description that comes from outside. To show a person what was
/// hidden, use [`visible`].
///
/// ```
/// use tool_runtime::message::strip_invisible;
///
/// assert_eq!(strip_invisible("Adds\u{200b} two\u{202e} numbers\u{e0041}."), "Adds two numbers.");
/// assert_eq!(strip_invisible("Привет 👩‍💻\n"), "Привет 👩‍💻\n");
/// ```
pub fn strip_invisible(text: &str) -> Cow<'_, str> {
    if is_plain_ascii(text) {
        return text.into();
    }
    let stripped = replace_hidden(text, |_, _| {});
    if stripped.len() == text.len() { text.into() } else { stripped.into() }
}

/// Returns a text with marks such as `<U+202E>` for the characters that [`strip_invisible`]
/// removes; `None` if there are none.
pub(super) fn mark_invisible(text: &str) -> Option<String> {
    let marked = (!is_plain_ascii(text)).then(|| replace_hidden(text, push_mark));
    marked.filter(|marked| marked != text)
}

/// Returns JSON whose strings are [`visible`]. Only strings contain characters outside of ASCII.
pub(crate) fn visible_json(json: String) -> String {
    if is_plain_ascii(&json) {
        return json;
    }
    let mut marked = String::with_capacity(json.len());
    let mut string: Option<Vec<(char, char)>> = None;
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        match (c, &mut string) {
            ('"', None) => {
                marked.push('"');
                string = Some(Vec::new());
            }
            // Outside of strings, JSON is ASCII. This is none.
            (c, None) if !c.is_ascii() => push_mark(c, &mut marked),
            (c, None) => marked.push(c),
            ('"', Some(content)) => {
                push_visible(std::mem::take(content), &mut marked);
                marked.push('"');
                string = None;
            }
            // An escape is no part of a word, but may be one of a path.
            ('\\', Some(content)) => {
                let escaped = chars.next();
                let digits = if escaped == Some('u') { 4 } else { 0 };
                let rest = escaped.into_iter().chain(chars.by_ref().take(digits));
                let context = |c: char| if matches!(c, '\\' | '/') { c } else { ' ' };
                content.push((c, ' '));
                content.extend(rest.map(|c| (c, context(c))));
            }
            (c, Some(content)) => content.push((c, c)),
        }
    }
    push_visible(string.unwrap_or_default(), &mut marked);
    marked
}

/// Returns a value whose strings and member names are [`visible`].
#[doc(hidden)]
pub fn visible_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(visible_value).collect(),
        Value::Object(members) => {
            let mut marked = Map::with_capacity(members.len());
            for (name, value) in members {
                let visible_name = visible(&name).into_owned();
                // No member may hide another one.
                let name = if marked.contains_key(&visible_name) { name } else { visible_name };
                marked.insert(name, visible_value(value));
            }
            Value::Object(marked)
        }
        scalar => scalar,
    }
}

fn is_plain_ascii(text: &str) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    // Without an early end within a chunk, many bytes are compared at once: twelve times as fast
    // for a long text.
    text.as_bytes().chunks(64).all(|chunk| chunk.iter().fold(true, |all, it| all & is_plain(it)))
}

/// Appends a text in which deceptive characters are replaced by marks. Each character comes with
/// the one that it stands for as the neighbour of others.
fn push_visible(text: Vec<(char, char)>, marked: &mut String) {
    let (chars, contexts): (Vec<char>, Vec<char>) = text.into_iter().unzip();
    let look_alike_flags = look_alike_flags(&contexts);
    let is_look_alike = |at: usize| look_alike_flags.get(at).copied().unwrap_or_default();
    let mut combining = 0_usize;
    for (at, c) in chars.iter().copied().enumerate() {
        let is_hidden = match c {
            '\n' | '\t' => false,
            '\r' => chars.get(at.saturating_add(1)) != Some(&'\n'),
            c if is_space(c) => !is_wide_space_in_prose(&contexts, at, is_look_alike),
            _ => is_hidden(&contexts, at, is_look_alike),
        };
        let is_replaced = is_hidden || is_look_alike(at);
        if is_drawn_on_last(c) {
            combining += 1;
            // A joiner before a mark that is left out would join nothing.
            while combining > MAX_COMBINING && marked.ends_with(is_without_width) {
                marked.pop();
            }
        } else if is_replaced || !is_without_width(c) {
            push_count(std::mem::take(&mut combining), marked);
        }
        match c {
            c if is_replaced => push_mark(c, marked),
            // Characters without width belong to what they join.
            _ if combining > MAX_COMBINING => {}
            c => marked.push(c),
        }
    }
    push_count(combining, marked);
}

/// Appends the number of marks on one character that were left out.
fn push_count(combining: usize, marked: &mut String) {
    if let Some(more) = combining.checked_sub(MAX_COMBINING).filter(|more| *more > 0) {
        // Writing to a string can't fail.
        let _ = write!(marked, "<+{more} combining characters>");
    }
}

fn push_mark(c: char, marked: &mut String) {
    // Writing to a string can't fail.
    let _ = write!(marked, "<U+{:04X}>", u32::from(c));
}

/// Whether a space is the one of Chinese and Japanese prose.
fn is_wide_space_in_prose(
    chars: &[char],
    at: usize,
    is_look_alike: impl Fn(usize) -> bool,
) -> bool {
    let is_prose = |at: Option<usize>| {
        at.and_then(|at| Some((at, *chars.get(at)?))).is_some_and(|(at, c)| {
            c != '\u{3000}' && script(c) == Script::EastAsian && !is_look_alike(at)
        })
    };
    chars.get(at) == Some(&'\u{3000}') && is_prose(at.checked_sub(1)) && is_prose(at.checked_add(1))
}

/// Returns which characters look like ASCII where that may deceive.
fn look_alike_flags(chars: &[char]) -> Vec<bool> {
    let mut found: Vec<_> =
        (0..chars.len()).map(|at| is_deceptive_punctuation(chars, at)).collect();
    let is_letter = |c: char| contains(LETTERS, c) || contains(COMPATIBILITY_FORMS, c);
    // The scripts that the text certainly uses.
    let mut scripts: Vec<Script> =
        chars.iter().filter(|c| c.is_alphabetic() && !is_letter(**c)).map(|c| script(*c)).collect();
    scripts.sort_unstable();
    scripts.dedup();
    // Characters without width do not separate words for the eye.
    let is_in_word = |c: char| c.is_alphanumeric() || is_invisible(c);
    let mut start = 0;
    for word in chars.chunk_by(|a, b| is_in_word(*a) == is_in_word(*b)) {
        let has_ascii = word.iter().any(char::is_ascii_alphabetic);
        for (c, found) in word.iter().zip(found.iter_mut().skip(start)) {
            let script = script(*c);
            let is_foreign = script == Script::Latin || scripts.binary_search(&script).is_err();
            // The sign of information is an emoji.
            *found |= is_letter(*c) && (has_ascii || is_foreign) && *c != '\u{2139}';
        }
        start += word.len();
    }
    found
}

/// Whether a character looks like punctuation of paths and addresses, and stands in one.
fn is_deceptive_punctuation(chars: &[char], at: usize) -> bool {
    let Some(c) = chars.get(at).copied().filter(|c| contains(PUNCTUATION, *c)) else {
        return false;
    };
    let neighbour = |at: Option<usize>| at.and_then(|at| chars.get(at)).copied();
    let neighbours = [neighbour(at.checked_sub(1)), neighbour(at.checked_add(1))];
    let count = |fits: fn(char) -> bool| neighbours.iter().flatten().filter(|c| fits(**c)).count();
    let in_address = |c: char| c.is_ascii_alphanumeric() || "/.:-\\_~".contains(c);
    match c {
        // Dashes stand between numbers in prose.
        '\u{2012}' | '\u{2013}' | '\u{2212}' => count(|c| c.is_ascii_alphabetic()) > 0,
        // Letters of another script stand beside ASCII in prose.
        c if c.is_alphabetic() => count(in_address) == 2,
        _ => count(in_address) > 0,
    }
}

/// Whether a character looks like a letter or digit of ASCII, with or without a diacritic.
pub(super) fn is_look_alike_letter(c: char) -> bool {
    contains(LETTERS, c)
        || contains(COMPATIBILITY_FORMS, c)
        || (!c.is_ascii() && c.is_alphabetic() && script(c) == Script::Latin)
}

/// A group of letters that occur together in prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Script {
    /// Letters of which every text in ASCII has others, so that these are always suspicious.
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Hebrew,
    Arabic,
    Cherokee,
    EastAsian,
    /// A block of 128 characters of any other script.
    Block(u32),
}

fn script(c: char) -> Script {
    match u32::from(c) {
        0..=0x2af | 0x1d00..=0x1dbf | 0x1e00..=0x1eff | 0x2c60..=0x2c7f => Script::Latin,
        0xa720..=0xa7ff | 0xab30..=0xab6f | 0xfb00..=0xfb06 => Script::Latin,
        // Letter-like symbols, Roman numerals, outlined and mathematical letters.
        0x2100..=0x2188 | 0x1ccd6..=0x1ccf9 | 0x1d400..=0x1d7ff | 0x1df00..=0x1dfff => {
            Script::Latin
        }
        0x1fbf0..=0x1fbf9 | 0x1ee00..=0x1eeff => Script::Latin,
        0x370..=0x3ff | 0x1f00..=0x1fff => Script::Greek,
        0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => Script::Cyrillic,
        0x530..=0x58f => Script::Armenian,
        0x590..=0x5ff => Script::Hebrew,
        0x600..=0x6ff | 0x750..=0x77f | 0x8a0..=0x8ff | 0xfb50..=0xfdff => Script::Arabic,
        0xfe70..=0xfefc => Script::Arabic,
        0x13a0..=0x13ff | 0xab70..=0xabbf => Script::Cherokee,
        0x1100..=0x11ff | 0x2e80..=0x9fff | 0xac00..=0xd7ff | 0xff00..=0xffef => Script::EastAsian,
        0x20000..=0x3ffff => Script::EastAsian,
        block => Script::Block(block >> 7),
    }
}

#[cfg(test)]
mod tests;
