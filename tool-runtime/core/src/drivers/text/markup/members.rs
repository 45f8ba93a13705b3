//! The members of an object and their positions, even if the object is damaged.

use std::ops::Range;

use serde_json::Value;

use super::super::Input;
use super::value_end;
use crate::json::__private::is_one_of;

/// The largest number of members, more than any call has.
const MAX_MEMBERS: usize = 64;

#[derive(Debug)]
pub(crate) struct Members<'t> {
    pub(crate) text: &'t str,
    found: Vec<(&'t str, Range<usize>)>,
    /// The end of the last member.
    end: usize,
    /// True if the object has an end and no part of it was skipped.
    pub(crate) is_complete: bool,
}

impl<'t> Members<'t> {
    /// Finds the members of the object at the beginning of `text`.
    pub(crate) fn of(text: &'t str) -> Self {
        let mut walk = MemberWalker::new(Input::new(text, true));
        let found: Vec<_> =
            (0..MAX_MEMBERS).map_while(|_| walk.key().map(|key| (key, walk.value()))).collect();
        let end = found.last().map_or(1, |(_, range): &(_, Range<usize>)| range.end);
        Self { text, found, end, is_complete: walk.has_ended }
    }

    /// Returns the key and the position of the value of each member.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (&'t str, Range<usize>)> {
        self.found.iter().map(|(key, range)| (*key, range.clone()))
    }

    /// Returns the position of the text after the last member, if the object does not end there.
    pub(crate) fn unread(&self) -> Option<Range<usize>> {
        let end = value_end(self.text, 0, true).unwrap_or(self.text.len());
        (!self.is_complete && self.end < end).then_some(self.end..end)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'t str> {
        self.found.iter().map(|(key, _)| *key)
    }

    /// Returns the text after the end of the object, judged by its brackets.
    pub(crate) fn text_after(&self) -> Option<&'t str> {
        self.text.get(value_end(self.text, 0, true)?..)
    }

    /// Returns true if the object has an end, judged by its brackets.
    pub(crate) fn has_end(&self) -> bool {
        value_end(self.text, 0, true).is_some()
    }

    /// Writes an object of the members whose key `is_included` accepts.
    pub(crate) fn object(&self, is_included: impl Fn(&str) -> bool) -> String {
        let included = self.found.iter().filter(|(key, _)| is_included(key));
        let members = included.map(|(key, range)| {
            format!("{}: {}", Value::from(*key), self.text.get(range.clone()).unwrap_or_default())
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
    }

    /// Returns the position of the value of the first member with one of these names, or else of
    /// the first one whose name differs from them in case and separators alone.
    pub(crate) fn range_of(&self, names: &[&str]) -> Option<Range<usize>> {
        let mut found = self.found.iter();
        let exact = found.find(|(key, _)| names.contains(key));
        let similar = || self.found.iter().find(|(key, _)| is_one_of(key, names));
        exact.or_else(similar).map(|(_, range)| range.clone())
    }

    /// Returns the position of the value of the first member with one of these names whose value
    /// `is_accepted` accepts.
    pub(crate) fn range_where(
        &self,
        names: &[&str],
        is_accepted: impl Fn(&str) -> bool,
    ) -> Option<Range<usize>> {
        let mut found = self.found.iter().filter(|(key, _)| is_one_of(key, names));
        let is_accepted =
            |range: &Range<usize>| self.text.get(range.clone()).is_some_and(&is_accepted);
        found.find(|(_, range)| is_accepted(range)).map(|(_, range)| range.clone())
    }

    /// Returns the key and the value of each member with one of these names, up to case and
    /// separators.
    pub(crate) fn all(&self, names: &[&str]) -> impl Iterator<Item = (&'t str, &'t str)> {
        let found = self.found.iter().filter(move |(key, _)| is_one_of(key, names));
        found.map(|(key, range)| (*key, self.text.get(range.clone()).unwrap_or_default()))
    }

    pub(crate) fn get(&self, names: &[&str]) -> Option<&'t str> {
        self.text.get(self.range_of(names)?)
    }
}

/// Walks an object member by member: first a key, then its value.
#[derive(Debug)]
pub(crate) struct MemberWalker<'t> {
    text: &'t str,
    is_complete: bool,
    /// The position; `None` if no further member is found.
    at: Option<usize>,
    /// True if the object has ended.
    pub(crate) has_ended: bool,
}

impl<'t> MemberWalker<'t> {
    /// Starts at the object at the beginning of `input`.
    pub(crate) fn new(input: Input<'t>) -> Self {
        Self { text: input.text, is_complete: input.is_complete, at: Some(1), has_ended: false }
    }

    /// Skips whitespace and comments.
    fn skip_blanks(&self, at: usize) -> Option<usize> {
        let mut rest = self.text.get(at..)?.trim_start();
        loop {
            let end = match rest.get(..2) {
                Some("//") => "\n",
                Some("/*") => "*/",
                _ => return Some(self.text.len() - rest.len()),
            };
            rest = rest.split_once(end).map_or("", |(_, after)| after.trim_start());
        }
    }

    pub(crate) fn key(&mut self) -> Option<&'t str> {
        let from = self.at.take()?;
        let mut at = self.skip_blanks(from)?;
        while self.text.as_bytes().get(at) == Some(&b',') {
            at = self.skip_blanks(at + 1)?;
        }
        if self.text.as_bytes().get(at) == Some(&b'}') {
            self.has_ended = true;
            return None;
        }
        let (key, end) = key(self.text, at, self.is_complete)?;
        let colon = self.skip_blanks(end)?;
        if self.text.as_bytes().get(colon) != Some(&b':') {
            return None;
        }
        self.at = self.skip_blanks(colon + 1).filter(|at| *at < self.text.len());
        self.at.map(|_| key)
    }

    /// Returns the position of the value of the last key; it ends with the text if it has no end of
    /// its own.
    pub(crate) fn value(&mut self) -> Range<usize> {
        let Some(at) = self.at.take() else { return self.text.len()..self.text.len() };
        self.at = match self.text.as_bytes().get(at) {
            Some(b'{' | b'[' | b'(' | b'"' | b'\'') => value_end(self.text, at, self.is_complete),
            _ => {
                let rest = self.text.get(at..).unwrap_or_default();
                rest.find([',', '}', '\n']).map(|end| at + end)
            }
        };
        at..self.at.unwrap_or(self.text.len())
    }
}

fn key(text: &str, at: usize, is_complete: bool) -> Option<(&str, usize)> {
    let rest = text.get(at..)?;
    if rest.starts_with(['"', '\'']) {
        let end = value_end(text, at, is_complete)?;
        return Some((text.get(at + 1..end - 1)?, end));
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|end| *end > 0)?;
    Some((rest.get(..end)?, at + end))
}
