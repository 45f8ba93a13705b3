//! The members of an object, where they stand: also of one that is damaged.

use std::ops::Range;

use super::closed;

/// More than any call has.
const MOST: usize = 64;

#[derive(Debug)]
pub(in crate::drivers) struct Members<'t> {
    pub(in crate::drivers) text: &'t str,
    found: Vec<(&'t str, Range<usize>)>,
    /// Whether the object ends, and nothing in it was passed over.
    pub(in crate::drivers) is_whole: bool,
}

impl<'t> Members<'t> {
    /// Of the object that `text` begins with.
    pub(in crate::drivers) fn of(text: &'t str) -> Self {
        let mut members = Self { text, found: Vec::new(), is_whole: false };
        members.is_whole = members.read(MOST).unwrap_or(false);
        members
    }

    /// The first member alone.
    pub(super) fn first_of(text: &'t str) -> Self {
        let mut members = Self { text, found: Vec::new(), is_whole: false };
        members.read(1);
        members
    }

    pub(in crate::drivers) fn keys(&self) -> impl Iterator<Item = &'t str> {
        self.found.iter().map(|(key, _)| *key)
    }

    pub(super) fn first(&self) -> Option<(&'t str, &'t str)> {
        let (key, place) = self.found.first()?;
        Some((key, self.text.get(place.clone())?))
    }

    /// Where the value of the first member that is called so stands.
    pub(super) fn place(&self, names: &[&str]) -> Option<Range<usize>> {
        let is = |(key, _): &&(&str, Range<usize>)| names.contains(key);
        self.found.iter().find(is).map(|(_, place)| place.clone())
    }

    pub(in crate::drivers) fn get(&self, names: &[&str]) -> Option<&'t str> {
        self.text.get(self.place(names)?)
    }

    fn read(&mut self, most: usize) -> Option<bool> {
        let text = self.text;
        let next =
            |at: usize| -> Option<usize> { Some(text.len() - text.get(at..)?.trim_start().len()) };
        let mut at = 1;
        while self.found.len() < most {
            at = next(at)?;
            match text.as_bytes().get(at)? {
                b',' => {
                    at += 1;
                    continue;
                }
                b'}' => return Some(true),
                _ => {}
            }
            let (key, end) = key(text, at)?;
            at = next(end)?;
            if text.as_bytes().get(at) != Some(&b':') {
                return None;
            }
            at = next(at + 1)?;
            let end = match text.as_bytes().get(at)? {
                b'{' | b'[' | b'(' | b'"' | b'\'' => closed(text, at),
                _ => text.get(at..)?.find([',', '}', '\n']).map(|end| at + end),
            };
            self.found.push((key, at..end.unwrap_or(text.len())));
            at = end?;
        }
        None
    }
}

fn key(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = text.get(at..)?;
    if rest.starts_with(['"', '\'']) {
        let end = closed(text, at)?;
        return Some((text.get(at + 1..end - 1)?, end));
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|end| *end > 0)?;
    Some((rest.get(..end)?, at + end))
}
