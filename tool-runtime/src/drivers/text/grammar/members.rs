//! The members of an object, where they stand: also of one that is damaged.

use std::ops::Range;

use serde_json::Value;

use super::super::Rest;
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
        let mut walk = Walk::new(Rest::new(text, true));
        let found = (0..MOST).map_while(|_| walk.key().map(|key| (key, walk.value()))).collect();
        Self { text, found, is_whole: walk.is_whole }
    }

    pub(in crate::drivers) fn keys(&self) -> impl Iterator<Item = &'t str> {
        self.found.iter().map(|(key, _)| *key)
    }

    /// Whether the object ends, as its brackets tell.
    pub(in crate::drivers) fn has_end(&self) -> bool {
        closed(self.text, 0, true).is_some()
    }

    /// The text of an object of those members that are `wanted`.
    pub(in crate::drivers) fn object(&self, wanted: impl Fn(&str) -> bool) -> String {
        let wanted = self.found.iter().filter(|(key, _)| wanted(key));
        let members = wanted.map(|(key, place)| {
            format!("{}: {}", Value::from(*key), self.text.get(place.clone()).unwrap_or_default())
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
    }

    /// Where the value of the first member that is called so stands.
    pub(super) fn place(&self, names: &[&str]) -> Option<Range<usize>> {
        let is = |(key, _): &&(&str, Range<usize>)| names.contains(key);
        self.found.iter().find(is).map(|(_, place)| place.clone())
    }

    pub(in crate::drivers) fn get(&self, names: &[&str]) -> Option<&'t str> {
        self.text.get(self.place(names)?)
    }
}

/// Goes along an object, member by member: first a key, then its value.
#[derive(Debug)]
pub(super) struct Walk<'t> {
    text: &'t str,
    is_end: bool,
    /// None where nothing more can be made out.
    at: Option<usize>,
    /// Whether the object has ended.
    pub(super) is_whole: bool,
}

impl<'t> Walk<'t> {
    /// Along the object that `rest` begins with.
    pub(super) fn new(rest: Rest<'t>) -> Self {
        Self { text: rest.text, is_end: rest.is_end, at: Some(1), is_whole: false }
    }

    /// Behind blanks and comments.
    fn behind_blanks(&self, at: usize) -> Option<usize> {
        let mut rest = self.text.get(at..)?.trim_start();
        loop {
            let end = match rest.get(..2) {
                Some("//") => "\n",
                Some("/*") => "*/",
                _ => return Some(self.text.len() - rest.len()),
            };
            rest = rest.split_once(end).map_or("", |(_, behind)| behind.trim_start());
        }
    }

    pub(super) fn key(&mut self) -> Option<&'t str> {
        let from = self.at.take()?;
        let mut at = self.behind_blanks(from)?;
        while self.text.as_bytes().get(at) == Some(&b',') {
            at = self.behind_blanks(at + 1)?;
        }
        if self.text.as_bytes().get(at) == Some(&b'}') {
            self.is_whole = true;
            return None;
        }
        let (key, end) = key(self.text, at, self.is_end)?;
        let colon = self.behind_blanks(end)?;
        if self.text.as_bytes().get(colon) != Some(&b':') {
            return None;
        }
        self.at = self.behind_blanks(colon + 1).filter(|at| *at < self.text.len());
        self.at.map(|_| key)
    }

    /// Where the value of the last key stands: to the end of the text where it has none of its own.
    pub(super) fn value(&mut self) -> Range<usize> {
        let Some(at) = self.at.take() else { return self.text.len()..self.text.len() };
        self.at = match self.text.as_bytes().get(at) {
            Some(b'{' | b'[' | b'(' | b'"' | b'\'') => closed(self.text, at, self.is_end),
            _ => {
                let rest = self.text.get(at..).unwrap_or_default();
                rest.find([',', '}', '\n']).map(|end| at + end)
            }
        };
        at..self.at.unwrap_or(self.text.len())
    }
}

fn key(text: &str, at: usize, is_end: bool) -> Option<(&str, usize)> {
    let rest = text.get(at..)?;
    if rest.starts_with(['"', '\'']) {
        let end = closed(text, at, is_end)?;
        return Some((text.get(at + 1..end - 1)?, end));
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|end| *end > 0)?;
    Some((rest.get(..end)?, at + end))
}
