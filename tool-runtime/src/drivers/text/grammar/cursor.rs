//! Goes along a text that may not be all there yet.

use super::super::{Miss, Rest};

/// The longest name or head of a tag, in bytes.
const LONGEST_HEAD: usize = 512;

/// More tokens than a call has in a row; a text of nothing else must not be gone through from each of them.
const MOST_IN_A_ROW: usize = 8;

/// A place in the text from an opener on.
#[derive(Clone, Copy, Debug)]
pub(in crate::drivers::text) struct Cursor<'t> {
    pub(in crate::drivers::text) text: &'t str,
    pub(in crate::drivers::text) at: usize,
    pub(in crate::drivers::text) is_end: bool,
}

impl<'t> Cursor<'t> {
    pub(in crate::drivers::text) const fn new(rest: Rest<'t>) -> Self {
        Self { text: rest.text, at: 0, is_end: rest.is_end }
    }

    pub(in crate::drivers::text) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// From `start` to here.
    pub(in crate::drivers::text) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(in crate::drivers::text) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// To the end of the text.
    pub(in crate::drivers::text) fn skip_all(&mut self) {
        self.at = self.text.len();
    }

    /// Whether the text breaks off within one of these, which is next.
    pub(in crate::drivers::text) fn is_cut(&self, tokens: &[&str]) -> bool {
        let rest = self.rest();
        let is_begun = |token: &&str| token.len() > rest.len() && token.starts_with(rest);
        self.is_end && !rest.is_empty() && tokens.iter().any(is_begun)
    }

    pub(in crate::drivers::text) fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether there is nothing more, now and later.
    pub(in crate::drivers::text) fn is_done(&self) -> Result<bool, Miss> {
        match (self.rest().is_empty(), self.is_end) {
            (true, false) => Err(Miss::More),
            (is_empty, _) => Ok(is_empty),
        }
    }

    /// Takes one of these, if one is next: the longest.
    pub(in crate::drivers::text) fn take(&mut self, tokens: &[&str]) -> Result<bool, Miss> {
        let rest = self.rest();
        if !self.is_end
            && tokens.iter().any(|token| token.len() > rest.len() && token.starts_with(rest))
        {
            return Err(Miss::More);
        }
        let found = tokens.iter().filter(|token| rest.starts_with(**token));
        let longest = found.map(|token| token.len()).max();
        self.skip(longest.unwrap_or(0));
        Ok(longest.is_some())
    }

    /// Takes these as they follow, and the blanks around them.
    pub(in crate::drivers::text) fn take_all(&mut self, tokens: &[&str]) -> Result<bool, Miss> {
        let mut any = false;
        for _ in 0..MOST_IN_A_ROW {
            self.skip_blanks();
            if !self.take(tokens)? {
                break;
            }
            any = true;
        }
        Ok(any)
    }

    /// The same, and stays where it is where none follows.
    pub(in crate::drivers::text) fn take_behind(&mut self, tokens: &[&str]) -> Result<(), Miss> {
        let start = self.at;
        let any = self.take_all(tokens)?;
        let taken = if any { self.since(start).trim_end().len() } else { 0 };
        self.at = start + taken;
        Ok(())
    }

    /// Takes what stands before `end`, and that: a name, or the head of a tag.
    pub(in crate::drivers::text) fn head(&mut self, end: char) -> Result<&'t str, Miss> {
        let rest = self.rest();
        match near(rest).find(|(_, c)| *c == end || *c == '\n') {
            Some((at, c)) if c == end => {
                self.skip(at + end.len_utf8());
                Ok(rest.get(..at).unwrap_or_default())
            }
            // Also where no more will come: it was cut off.
            None if rest.len() < LONGEST_HEAD => Err(Miss::More),
            _ => Err(Miss::Text),
        }
    }

    /// Takes a name of letters, digits and `_ - . / :`.
    pub(in crate::drivers::text) fn name(&mut self) -> Result<&'t str, Miss> {
        let rest = self.rest();
        let is_of_name = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
        let end = near(rest).find(|(_, c)| !is_of_name(*c));
        match end {
            Some((0, _)) => Err(Miss::Text),
            Some((end, _)) => {
                self.skip(end);
                Ok(rest.get(..end).unwrap_or_default())
            }
            // Of a name with which the text ends nobody knows whether it is all of it.
            None if rest.len() < LONGEST_HEAD => Err(Miss::More),
            None => Err(Miss::Text),
        }
    }
}

/// What may be a head: as long a part of the text, however much more of it comes.
fn near(rest: &str) -> impl Iterator<Item = (usize, char)> {
    rest.char_indices().take_while(|(at, _)| *at < LONGEST_HEAD)
}
