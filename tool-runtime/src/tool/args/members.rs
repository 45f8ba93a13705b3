//! The text of each argument in the text of an object.
//!
//! An argument is decoded from its own text, so that a type is compiled once, however many tools
//! take it. Here is only found where each value begins and ends; whether it is sound is for its
//! decoder to say.

use std::borrow::Cow;

use crate::json::value_end::{end_of_string, end_of_value};

/// The text of each parameter's value, by the parameter's index.
#[derive(Debug)]
pub struct Input<'t>(Texts<'t>);

#[derive(Debug)]
enum Texts<'t> {
    One(usize, &'t str),
    Few([Option<&'t str>; FEW]),
    Many(Vec<Option<&'t str>>),
}

/// The most that are kept without an allocation.
const FEW: usize = 4;

/// Why an object could not be taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Odd<'t> {
    /// It is no object, or no JSON.
    Unsound,
    /// It has a member of this name, which is no argument.
    Unknown(Cow<'t, str>),
    /// The argument of this index comes twice.
    Twice(usize),
}

impl<'t> Input<'t> {
    /// This text as the argument at `index`, and no other.
    #[inline]
    pub(super) fn one(text: &'t str, index: usize) -> Self {
        Self(Texts::One(index, text))
    }

    /// What came for the parameter at `index`.
    #[inline]
    pub(crate) fn text(&self, index: usize) -> Option<&'t str> {
        match &self.0 {
            Texts::One(at, text) => (*at == index).then_some(*text),
            Texts::Few(texts) => texts.get(index).copied().flatten(),
            Texts::Many(texts) => texts.get(index).copied().flatten(),
        }
    }

    /// Puts another text in the place of one that came.
    pub(super) fn replace(&mut self, index: usize, text: &'t str) {
        let slots = match &mut self.0 {
            Texts::One(_, one) => return *one = text,
            Texts::Few(texts) => texts.as_mut_slice(),
            Texts::Many(texts) => texts,
        };
        if let Some(slot) = slots.get_mut(index) {
            *slot = Some(text);
        }
    }

    /// The members of the object in `text`, by their place in `names`; an empty name is none.
    #[inline]
    pub(super) fn members(text: &'t str, names: &[&str]) -> Result<Self, Odd<'t>> {
        let mut few = [None; FEW];
        if names.len() <= FEW {
            fill(&mut few, text, names)?;
            return Ok(Self(Texts::Few(few)));
        }
        let mut many = vec![None; names.len()];
        fill(&mut many, text, names)?;
        Ok(Self(Texts::Many(many)))
    }
}

#[inline]
fn fill<'t>(slots: &mut [Option<&'t str>], text: &'t str, names: &[&str]) -> Result<(), Odd<'t>> {
    let mut rest = Rest { text, bytes: text.as_bytes(), at: 0 };
    // Where the next one is looked for first: models keep to the order of the schema.
    let mut next = 0;
    rest.sign(b'{')?;
    if !rest.is_at(b'}') {
        loop {
            let key = rest.string()?;
            rest.sign(b':')?;
            let value = rest.value()?;
            let index = index_of(key, names, next)?;
            match slots.get_mut(index) {
                Some(slot @ None) => *slot = Some(value),
                _ => return Err(Odd::Twice(index)),
            }
            if !rest.is_at(b',') {
                break;
            }
            rest.at += 1;
            next = index + 1;
        }
    }
    rest.sign(b'}')?;
    if rest.blank().is_some() { Err(Odd::Unsound) } else { Ok(()) }
}

/// The place of a key, which is given with its quotes.
#[inline]
fn index_of<'t>(key: &'t str, names: &[&str], next: usize) -> Result<usize, Odd<'t>> {
    let bare = key.get(1..key.len() - 1).unwrap_or_default();
    let is_escaped = || bare.as_bytes().contains(&b'\\');
    if names.get(next).is_some_and(|name| *name == bare) && !bare.is_empty() && !is_escaped() {
        return Ok(next);
    }
    index_out_of_order(key, bare, names)
}

#[inline(never)]
fn index_out_of_order<'t>(key: &'t str, bare: &'t str, names: &[&str]) -> Result<usize, Odd<'t>> {
    let name = match bare.contains('\\') {
        false => Cow::Borrowed(bare),
        true => Cow::Owned(serde_json::from_str(key).map_err(|_| Odd::Unsound)?),
    };
    match names.iter().position(|known| *known == name && !name.is_empty()) {
        Some(index) => Ok(index),
        None => Err(Odd::Unknown(name)),
    }
}

/// What is still to be read.
struct Rest<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
}

impl<'t> Rest<'t> {
    /// Past blanks; the first byte after them.
    #[inline]
    fn blank(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at).copied() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte,
            }
        }
    }

    #[inline]
    fn is_at(&mut self, sign: u8) -> bool {
        self.blank() == Some(sign)
    }

    #[inline]
    fn sign(&mut self, sign: u8) -> Result<(), Odd<'t>> {
        if !self.is_at(sign) {
            return Err(Odd::Unsound);
        }
        self.at += 1;
        Ok(())
    }

    /// The text up to the byte at `end`, which follows an ASCII character.
    #[inline]
    fn up_to(&mut self, end: Option<usize>) -> Result<&'t str, Odd<'t>> {
        let end = end.ok_or(Odd::Unsound)?;
        let text = self.text.get(self.at..end).ok_or(Odd::Unsound)?;
        self.at = end;
        Ok(text)
    }

    /// A string with its quotes.
    #[inline]
    fn string(&mut self) -> Result<&'t str, Odd<'t>> {
        if !self.is_at(b'"') {
            return Err(Odd::Unsound);
        }
        self.up_to(end_of_string(self.bytes, self.at))
    }

    #[inline]
    fn value(&mut self) -> Result<&'t str, Odd<'t>> {
        self.blank();
        self.up_to(end_of_value(self.bytes, self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::{Input, Odd};

    const NAMES: [&str; 3] = ["a", "", "é\""];

    fn members(text: &str) -> Result<Vec<Option<&str>>, Odd<'_>> {
        Input::members(text, &NAMES).map(|input| (0..3).map(|index| input.text(index)).collect())
    }

    #[test]
    fn each_member_is_found_by_its_name() {
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
            assert_eq!(members(text), Ok(vec![a, None, e]), "{text}");
        }
    }

    #[test]
    fn what_is_no_object_of_these_is_told() {
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
            assert_eq!(members(text), Err(Odd::Unsound), "{text}");
        }
        assert_eq!(members(r#"{"a":1,"b":2}"#), Err(Odd::Unknown("b".into())));
        assert_eq!(members(r#"{"":1}"#), Err(Odd::Unknown("".into())));
        assert_eq!(members(r#"{"a":1,"\u0061":2}"#), Err(Odd::Twice(0)));
    }
}
