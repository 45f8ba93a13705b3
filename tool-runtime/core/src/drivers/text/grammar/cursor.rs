//! A cursor in a text that may not be complete yet.

use super::super::markup::{beginning, find_first};
use super::super::{Input, NoMatch};

/// The longest name or tag head, in bytes.
const MAX_HEAD_LEN: usize = 512;

/// The longest distance to the next marker of a group of calls, in bytes.
const MAX_DISTANCE: usize = 1024;

/// The largest number of tokens in a row. It bounds the time for a text that consists of such
/// tokens.
const MAX_TOKENS: usize = 8;

/// A position in the text after a start marker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    pub(crate) is_complete: bool,
}

impl<'t> Cursor<'t> {
    pub(crate) const fn new(input: Input<'t>) -> Self {
        Self { text: input.text, at: 0, is_complete: input.is_complete }
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the text from `start` to the cursor.
    pub(crate) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Moves to the end of the text.
    pub(crate) fn skip_all(&mut self) {
        self.at = self.text.len();
    }

    /// Returns true if the text ends inside one of `tokens`, which comes next.
    pub(crate) fn is_truncated_token(&self, tokens: &[&str]) -> bool {
        let rest = self.rest();
        let is_partial = |token: &&str| token.len() > rest.len() && token.starts_with(rest);
        self.is_complete && !rest.is_empty() && tokens.iter().any(is_partial)
    }

    pub(crate) fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Returns true at the end of a complete text. Fails if more text may arrive.
    pub(crate) fn is_done(&self) -> Result<bool, NoMatch> {
        match (self.rest().is_empty(), self.is_complete) {
            (true, false) => Err(NoMatch::Incomplete),
            (is_empty, _) => Ok(is_empty),
        }
    }

    /// Consumes the longest of `tokens` that comes next. Returns false if there is none.
    pub(crate) fn take(&mut self, tokens: &[&str]) -> Result<bool, NoMatch> {
        let rest = self.rest();
        if !self.is_complete
            && tokens.iter().any(|token| token.len() > rest.len() && token.starts_with(rest))
        {
            return Err(NoMatch::Incomplete);
        }
        let found = tokens.iter().filter(|token| rest.starts_with(**token));
        let longest = found.map(|token| token.len()).max();
        self.skip(longest.unwrap_or(0));
        Ok(longest.is_some())
    }

    /// Consumes any number of `tokens` and the whitespace around them.
    pub(crate) fn take_all(&mut self, tokens: &[&str]) -> Result<bool, NoMatch> {
        let mut has_tokens = false;
        for _ in 0..MAX_TOKENS {
            self.skip_blanks();
            if !self.take(tokens)? {
                break;
            }
            has_tokens = true;
        }
        Ok(has_tokens)
    }

    /// Consumes any number of `tokens`. If there are none, the cursor does not move.
    pub(crate) fn take_all_or_stay(&mut self, tokens: &[&str]) -> Result<(), NoMatch> {
        let start = self.at;
        let has_tokens = self.take_all(tokens)?;
        let consumed = if has_tokens { self.since(start).trim_end().len() } else { 0 };
        self.at = start + consumed;
        Ok(())
    }

    /// Consumes the text before the first of `markers`. Returns `None` if none is near.
    pub(crate) fn skip_to(&mut self, markers: &[&str]) -> Result<Option<&'t str>, NoMatch> {
        let rest = self.rest();
        let window = beginning(rest, MAX_DISTANCE);
        match find_first(window, markers.iter().copied()) {
            Some(marker) => {
                self.skip(marker.start);
                Ok(rest.get(..marker.start))
            }
            None if window.len() == rest.len() && !self.is_complete => Err(NoMatch::Incomplete),
            None => Ok(None),
        }
    }

    /// Consumes the text up to and including `end`, on one line: a name, or the head of a tag.
    pub(crate) fn head(&mut self, end: &str) -> Result<&'t str, NoMatch> {
        let rest = self.rest();
        let is_end = |at: usize| rest.get(at..).is_some_and(|rest| rest.starts_with(end));
        match head_chars(rest).find(|(at, c)| *c == '\n' || is_end(*at)) {
            Some((at, _)) if is_end(at) => {
                self.skip(at + end.len());
                Ok(rest.get(..at).unwrap_or_default())
            }
            // Also if the text is complete: the head is truncated.
            None if rest.len() < MAX_HEAD_LEN => Err(NoMatch::Incomplete),
            _ => Err(NoMatch::Text),
        }
    }

    /// Consumes a name of letters, digits and `_ - . / :`.
    pub(crate) fn name(&mut self) -> Result<&'t str, NoMatch> {
        let rest = self.rest();
        let is_name_char = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
        let end = head_chars(rest).find(|(_, c)| !is_name_char(*c));
        match end {
            Some((0, _)) => Err(NoMatch::Text),
            Some((end, _)) => {
                self.skip(end);
                Ok(rest.get(..end).unwrap_or_default())
            }
            // A name at the end of the text may be incomplete.
            None if rest.len() < MAX_HEAD_LEN => Err(NoMatch::Incomplete),
            None => Err(NoMatch::Text),
        }
    }
}

/// Returns the characters that may belong to a head, however long the text is.
fn head_chars(rest: &str) -> impl Iterator<Item = (usize, char)> {
    rest.char_indices().take_while(|(at, _)| *at < MAX_HEAD_LEN)
}
