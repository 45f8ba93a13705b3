//! Splits the text of an object into the texts of the arguments.
//!
//! Each argument is decoded from its own text, so that a type is compiled once, however many tools
//! use it. This module only finds where each value starts and ends. Its decoder checks whether the
//! value is valid.

use std::borrow::Cow;

use super::value_end::{end_of_string, end_of_value};

/// The texts of the arguments, by the indices of their parameters.
#[derive(Debug)]
pub struct RawArguments<'t>(Texts<'t>);

#[derive(Debug)]
enum Texts<'t> {
    Single(usize, &'t str),
    Inline([Option<&'t str>; INLINE]),
    Heap(Vec<Option<&'t str>>),
}

/// The maximum number of texts that are stored without an allocation.
const INLINE: usize = 4;

/// Why a text could not be split.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SplitError<'t> {
    /// The text is not a JSON object.
    NotAnObject,
    /// The object has a member that is not an argument.
    Unknown(Cow<'t, str>),
    /// The object has the argument of this index twice.
    Duplicate(usize),
}

impl<'t> RawArguments<'t> {
    /// Uses the whole text as the argument at `index`.
    #[inline]
    pub(super) fn single(text: &'t str, index: usize) -> Self {
        Self(Texts::Single(index, text))
    }

    /// Uses the text as the argument at index 0.
    pub(crate) fn first(text: Option<&'t str>) -> Self {
        Self(Texts::Inline([text, None, None, None]))
    }

    /// Returns the text of the argument at `index`, unless it is missing.
    #[inline]
    pub(crate) fn text(&self, index: usize) -> Option<&'t str> {
        match &self.0 {
            Texts::Single(at, text) => (*at == index).then_some(*text),
            Texts::Inline(texts) => texts.get(index).copied().flatten(),
            Texts::Heap(texts) => texts.get(index).copied().flatten(),
        }
    }

    /// Splits the object in `text` by the names of the parameters. An empty name matches no member.
    #[inline]
    pub(super) fn split(text: &'t str, names: &[&str]) -> Result<Self, SplitError<'t>> {
        let mut inline = [None; INLINE];
        if names.len() <= INLINE {
            fill(&mut inline, text, names)?;
            return Ok(Self(Texts::Inline(inline)));
        }
        let mut heap = vec![None; names.len()];
        fill(&mut heap, text, names)?;
        Ok(Self(Texts::Heap(heap)))
    }
}

/// Returns whether the object in `text` is empty or has a member of one of these names. The values
/// are not checked.
pub(super) fn is_empty_or_has(text: &str, names: &[String]) -> bool {
    let mut cursor = ObjectCursor { text, bytes: text.as_bytes(), at: 0 };
    cursor.find_member(names).unwrap_or(false)
}

#[inline]
fn fill<'t>(
    slots: &mut [Option<&'t str>],
    text: &'t str,
    names: &[&str],
) -> Result<(), SplitError<'t>> {
    let mut cursor = ObjectCursor { text, bytes: text.as_bytes(), at: 0 };
    // Models usually keep the order of the schema, so the next name is tried first.
    let mut next = 0;
    cursor.expect(b'{')?;
    if !cursor.is_at(b'}') {
        loop {
            let key = cursor.string()?;
            cursor.expect(b':')?;
            let value = cursor.value()?;
            let index = index_of(key, names, next)?;
            match slots.get_mut(index) {
                Some(slot @ None) => *slot = Some(value),
                _ => return Err(SplitError::Duplicate(index)),
            }
            if !cursor.is_at(b',') {
                break;
            }
            cursor.at += 1;
            next = index + 1;
        }
    }
    cursor.expect(b'}')?;
    if cursor.skip_whitespace().is_some() { Err(SplitError::NotAnObject) } else { Ok(()) }
}

/// Returns the index of a key, which includes its quotes.
#[inline]
fn index_of<'t>(key: &'t str, names: &[&str], next: usize) -> Result<usize, SplitError<'t>> {
    let unquoted = key.get(1..key.len() - 1).unwrap_or_default();
    let is_escaped = || unquoted.as_bytes().contains(&b'\\');
    let is_next = names.get(next).is_some_and(|name| *name == unquoted);
    if is_next && !unquoted.is_empty() && !is_escaped() {
        return Ok(next);
    }
    index_out_of_order(key, unquoted, names)
}

#[inline(never)]
fn index_out_of_order<'t>(
    key: &'t str,
    unquoted: &'t str,
    names: &[&str],
) -> Result<usize, SplitError<'t>> {
    let name = if unquoted.contains('\\') {
        Cow::Owned(serde_json::from_str(key).map_err(|_| SplitError::NotAnObject)?)
    } else {
        Cow::Borrowed(unquoted)
    };
    match names.iter().position(|known| *known == name && !name.is_empty()) {
        Some(index) => Ok(index),
        None => Err(SplitError::Unknown(name)),
    }
}

/// A position in the text of an object.
struct ObjectCursor<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
}

impl<'t> ObjectCursor<'t> {
    /// Skips whitespace and returns the next byte, without skipping it.
    #[inline]
    fn skip_whitespace(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at).copied() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte,
            }
        }
    }

    #[inline]
    fn is_at(&mut self, byte: u8) -> bool {
        self.skip_whitespace() == Some(byte)
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), SplitError<'t>> {
        if !self.is_at(byte) {
            return Err(SplitError::NotAnObject);
        }
        self.at += 1;
        Ok(())
    }

    /// Skips to the byte at `end`, which follows an ASCII character, and returns the skipped text.
    #[inline]
    fn up_to(&mut self, end: Option<usize>) -> Result<&'t str, SplitError<'t>> {
        let end = end.ok_or(SplitError::NotAnObject)?;
        let text = self.text.get(self.at..end).ok_or(SplitError::NotAnObject)?;
        self.at = end;
        Ok(text)
    }

    /// Skips a string and returns it with its quotes.
    // Always, since most calls go through `fill`, and `find_member` calls this as well: without it,
    // a call takes a tenth longer.
    #[inline(always)]
    fn string(&mut self) -> Result<&'t str, SplitError<'t>> {
        if !self.is_at(b'"') {
            return Err(SplitError::NotAnObject);
        }
        self.up_to(end_of_string(self.bytes, self.at))
    }

    /// Returns whether the object is empty or has a member of one of these names.
    fn find_member(&mut self, names: &[String]) -> Result<bool, SplitError<'t>> {
        self.expect(b'{')?;
        if self.is_at(b'}') {
            return Ok(true);
        }
        loop {
            let key = self.string()?;
            let unquoted = key.get(1..key.len() - 1).unwrap_or_default();
            if names.iter().any(|name| name == unquoted) {
                return Ok(true);
            }
            self.expect(b':')?;
            self.value()?;
            if !self.is_at(b',') {
                return Ok(false);
            }
            self.at += 1;
        }
    }

    #[inline(always)]
    fn value(&mut self) -> Result<&'t str, SplitError<'t>> {
        self.skip_whitespace();
        self.up_to(end_of_value(self.bytes, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::{RawArguments, SplitError};

    const NAMES: [&str; 3] = ["a", "", "é\""];

    fn split(text: &str) -> Result<Vec<Option<&str>>, SplitError<'_>> {
        let arguments = RawArguments::split(text, &NAMES)?;
        Ok((0..3).map(|index| arguments.text(index)).collect())
    }

    #[test]
    fn object_is_split_by_the_names_of_its_members() {
        for (text, a, e) in [
            ("{}", None, None),
            (" { } \n", None, None),
            (r#"{"a":1}"#, Some("1"), None),
            (r#"{ "a" : -1.5e3 , "é\"" : null }"#, Some("-1.5e3"), Some("null")),
            (
                r#"{"\u0061": "}\\\"]", "\u00e9\"":[{"a":"]"},[]]}"#,
                Some(r#""}\\\"]""#),
                Some(r#"[{"a":"]"},[]]"#),
            ),
        ] {
            assert_eq!(split(text), Ok(vec![a, None, e]), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_an_object_of_these_names_is_rejected() {
        for text in [
            "",
            "{",
            "[]",
            "1",
            "{}x",
            "{} {}",
            r#"{"a"}"#,
            r#"{"a":1"#,
            r#"{"a":1,}"#,
            r#"{"a":"#,
            r#"{"a":"\"#,
            r#"{"a":[}"#,
            r#"{"a":["#,
            r#"{"a":1 2}"#,
            r#"{a:1}"#,
            r#"{"\x":1}"#,
            "{\"",
        ] {
            assert_eq!(split(text), Err(SplitError::NotAnObject), "{text}");
        }
        assert_eq!(split(r#"{"a":1,"b":2}"#), Err(SplitError::Unknown("b".into())));
        assert_eq!(split(r#"{"":1}"#), Err(SplitError::Unknown("".into())));
        assert_eq!(split(r#"{"a":1,"\u0061":2}"#), Err(SplitError::Duplicate(0)));
    }
}
