//! Blocks that quote several lines: comments and strings of programming languages.

use memchr::memmem;

use crate::drivers::text::NoMatch;

/// Blocks: the opening, the end, and whether whitespace has to follow the opening.
const BLOCKS: [(&str, &str, bool); 13] = [
    ("<!--", "-->", false),
    ("\"\"\"", "\"\"\"", false),
    ("'''", "'''", false),
    ("<![CDATA[", "]]>", false),
    ("{{!--", "--}}", false),
    ("<%--", "--%>", false),
    ("--[[", "]]", false),
    ("/**", "*/", true),
    ("/*", "*/", true),
    ("{#", "#}", true),
    ("(*", "*)", true),
    ("{-", "-}", true),
    ("<#", "#>", true),
];

/// A block that is open.
#[derive(Clone, Debug)]
pub(crate) struct OpenBlock {
    pub(crate) close: &'static str,
    search: EndSearch,
}

impl OpenBlock {
    /// Returns the block that opens at `at`, and the end of what opens it.
    pub(crate) fn opened_at(text: &str, at: usize, before: Option<char>) -> Option<(Self, usize)> {
        let rest = text.get(at..)?;
        let (open, close, _) = BLOCKS.iter().find(|(open, _, needs_space)| {
            let after = rest.strip_prefix(open);
            after.is_some_and(|after| !needs_space || after.starts_with([' ', '\t', '\n', '\r']))
        })?;
        // Inside a word, as in `src/*`, nothing opens; and four quotes are something else.
        let is_inside = before.is_some_and(|c| c.is_alphanumeric() || open.starts_with(c));
        let is_longer = open.starts_with(['"', '\''])
            && rest.as_bytes().get(open.len()) == rest.as_bytes().first();
        let opened = (Self { close, search: EndSearch::default() }, at + open.len());
        (!is_inside && !is_longer).then_some(opened)
    }

    /// Returns true if the block is closed after `at`.
    pub(crate) fn is_closed_after(
        &mut self,
        text: &str,
        at: usize,
        is_complete: bool,
    ) -> Result<bool, NoMatch> {
        self.search.has_end(text, self.close.as_bytes(), at, is_complete)
    }
}

/// A search for an end, which reads each byte of a growing text once.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndSearch {
    found: Option<usize>,
    searched: usize,
    is_done: bool,
}

impl EndSearch {
    /// Returns true if `end` occurs after `at`. Positions must not decrease from call to call.
    pub(crate) fn has_end(
        &mut self,
        text: &str,
        end: &[u8],
        at: usize,
        is_complete: bool,
    ) -> Result<bool, NoMatch> {
        if self.found.is_some_and(|found| found >= at) {
            return Ok(true);
        }
        let from = self.searched.max(at);
        let rest = text.as_bytes().get(from..).filter(|_| !self.is_done);
        self.found = rest.and_then(|rest| memmem::find(rest, end)).map(|found| from + found);
        self.searched = match self.found {
            Some(found) => found + 1,
            None => text.len().saturating_sub(end.len()).max(from),
        };
        self.is_done |= is_complete && self.found.is_none();
        match self.found {
            Some(_) => Ok(true),
            None if is_complete || self.is_done => Ok(false),
            None => Err(NoMatch::Incomplete),
        }
    }

    /// Returns true if the whole text was searched and has no end.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }
}
