//! Tracks whether a position in a text is quoted.
//!
//! Inline code, quotation marks, Markdown quotations, list items, rows of tables, indented blocks,
//! comments, strings of several lines, a backslash and HTML elements quote a call. List items,
//! marks, blocks and elements that are open at the end of a line continue on the next one.
//! Tags of examples and tool output are the format `aside`, and fences have their rules in
//! `fence.rs`.

use memchr::{memchr, memrchr};

use crate::drivers::text::NoMatch;
use crate::drivers::text::quotation::line_prefix::{
    BLOCK_COLUMNS, indentation, list_marker, quotes_its_line,
};
use crate::drivers::text::quotation::open_block::OpenBlock;
use crate::drivers::text::quotation::open_elements::{
    Enclosure, OpenElements, ends_with_quoting_tag,
};
use crate::drivers::text::quotation::quotation_marks::{
    closing_marks, is_ambiguous, is_opening_mark, may_be_apostrophe,
};
use crate::drivers::text::search::marker_index::MarkerCandidate;

/// The smallest indentation of a line that continues a list item, in columns.
const MIN_ITEM_INDENT: usize = 2;

/// How the position of a call is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quotation {
    None,
    Certain,
    /// A quotation mark was opened on the same line: the call is quoted if one of these marks
    /// closes it on its last line.
    Until(&'static str),
    /// The call may be quoted, because a quotation mark was opened on a line before or an element
    /// is open. It certainly is if one of these marks closes it on its last line.
    Continued(&'static str),
    /// The call may be quoted.
    Doubtful,
}

/// The marks that are open at a position.
#[derive(Clone, Copy, Debug, Default)]
struct OpenMarks {
    /// The number of backticks that opened inline code on the current line; 0 outside of code.
    backticks: usize,
    /// The marks that close the quotation that was opened on the current line.
    closing: Option<&'static str>,
    /// The marks that close a quotation that was opened on a line before.
    continued: Option<&'static str>,
    /// True if inline code was opened on a line before.
    in_continued_code: bool,
}

/// Follows the scanner through the text and examines each byte once.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuoteTracker {
    at: usize,
    line_start: usize,
    /// True if markup, which quotes nothing, precedes the position on its line.
    is_after_markup: bool,
    /// The end of the last markup.
    markup_end: usize,
    marks: OpenMarks,
    /// The start of the last examined indented line, and whether it belongs to a block.
    indented_line: Option<(usize, bool)>,
    /// The indentation of lines that continue the list item of the line before.
    item: Option<usize>,
    block: Option<OpenBlock>,
    elements: OpenElements,
}

impl QuoteTracker {
    /// Returns how a candidate is quoted. Positions must not decrease from call to call.
    pub(crate) fn quotation(
        &mut self,
        text: &str,
        candidate: MarkerCandidate,
        is_complete: bool,
    ) -> Result<Quotation, NoMatch> {
        self.advance(text, candidate.at);
        if self.is_quoted_in_line(text, candidate) {
            return Ok(Quotation::Certain);
        }
        if let Some(block) = &mut self.block {
            let is_closed = block.is_closed_after(text, candidate.at, is_complete)?;
            return Ok(if is_closed { Quotation::Certain } else { Quotation::Doubtful });
        }
        let enclosure = self.elements.enclosure(text, candidate.at, is_complete)?;
        if enclosure == Enclosure::Quoting {
            return Ok(Quotation::Certain);
        }
        let backticks = (self.marks.in_continued_code && self.marks.backticks == 0).then_some("`");
        let continued = backticks.or(self.marks.continued);
        let is_doubtful = enclosure == Enclosure::Unknown || continued.is_some();
        Ok(match self.marks.closing.or(continued) {
            Some(marks) if is_doubtful => Quotation::Continued(marks),
            Some(marks) => Quotation::Until(marks),
            None if is_doubtful => Quotation::Doubtful,
            None => Quotation::None,
        })
    }

    /// Returns true if the line of a candidate quotes it.
    fn is_quoted_in_line(&mut self, text: &str, candidate: MarkerCandidate) -> bool {
        let before = text.get(self.line_start..candidate.at).unwrap_or_default();
        let after_markup = text.get(self.markup_end..candidate.at).unwrap_or_default();
        if ends_with_quoting_tag(after_markup) || !self.is_after_markup && self.is_in_item(before) {
            return true;
        }
        let may_be_block = candidate.at_line_start || !self.is_after_markup;
        if may_be_block && indentation(before) >= BLOCK_COLUMNS && self.is_in_block(text) {
            return true;
        }
        if candidate.at_line_start {
            return false;
        }
        let is_marked = before.ends_with(is_opening_mark)
            || before.ends_with(is_ambiguous) && self.marks.closing.is_some()
            || before.ends_with('\\');
        let is_code = self.marks.backticks > 0 && !self.marks.in_continued_code;
        is_code || is_marked || !self.is_after_markup && quotes_its_line(before)
    }

    /// Returns true if a line that begins with `before` continues a list item.
    fn is_in_item(&self, before: &str) -> bool {
        self.item.is_some_and(|column| indentation(before) >= column)
    }

    /// Returns true if only blanks precede `at` on its line, or after the last markup.
    pub(crate) fn is_line_start(&self, text: &str, at: usize) -> bool {
        let before = text.as_bytes().get(self.markup_end..at).unwrap_or_default();
        before.iter().rev().find(|byte| !b" \t".contains(byte)).is_none_or(|byte| *byte == b'\n')
    }

    /// Skips a call up to `at`. Markup opens no quotation, and ends a list item.
    pub(crate) fn skip(&mut self, at: usize) {
        let Self { block, elements, .. } = std::mem::take(self);
        *self = Self {
            at,
            line_start: at,
            is_after_markup: true,
            markup_end: at,
            block,
            elements,
            ..Self::default()
        };
    }

    /// Skips the beginning or the end of a part of the reply. What follows begins a line.
    pub(crate) fn restart(&mut self, at: usize) {
        *self = Self { at, line_start: at, markup_end: at, ..Self::default() };
    }

    /// Skips a quoted call up to `at`, inside the quotation.
    pub(crate) fn skip_quoted(&mut self, at: usize) {
        self.at = at;
    }

    /// Skips a fence or another quoted part up to `at`, which opens no quotation.
    pub(crate) fn skip_part(&mut self, at: usize) {
        if at > self.at {
            self.at = at;
            self.marks = OpenMarks::default();
        }
    }

    fn advance(&mut self, text: &str, at: usize) {
        let bytes = text.as_bytes();
        while let Some(end) = bytes.get(self.at..at).and_then(|line| memchr(b'\n', line)) {
            let line_end = self.at + end;
            self.follow(text, line_end);
            self.end_line(text, line_end);
        }
        self.follow(text, at);
    }

    /// Ends the current line at `end`.
    fn end_line(&mut self, text: &str, end: usize) {
        let line = text.get(self.line_start..end).unwrap_or_default();
        if line.trim().is_empty() {
            self.marks = OpenMarks::default();
        } else if !self.is_after_markup {
            // What follows an item within another one may belong to the outer one.
            if !self.is_in_item(line) {
                self.item = item_indent(line);
            }
        }
        let OpenMarks { backticks, closing, continued, in_continued_code } = self.marks;
        // An apostrophe that opens nothing is not at the end of its line.
        let ends_line =
            |marks: &str| line.trim_end().ends_with(|c| closing_marks(c) == Some(marks));
        let closing = closing.filter(|marks| !may_be_apostrophe(marks) || ends_line(marks));
        self.marks = OpenMarks {
            continued: continued.or(closing),
            in_continued_code: in_continued_code != (backticks > 0),
            ..OpenMarks::default()
        };
        (self.at, self.line_start, self.is_after_markup) = (end + 1, end + 1, false);
    }

    /// Follows the marks, blocks and tags up to `to`, on one line. Inline code ends with as many
    /// backticks as it began with.
    fn follow(&mut self, text: &str, to: usize) {
        let mut before = text.get(..self.at).and_then(|before| before.chars().next_back());
        before = before.filter(|_| self.at != self.line_start);
        let mut run = 0;
        while let Some(c) = text.get(self.at..to).and_then(|rest| rest.chars().next()) {
            if let Some(block) = &self.block {
                let rest = text.get(self.at..).unwrap_or_default();
                let is_closed = rest.starts_with(block.close);
                self.at += if is_closed { block.close.len() } else { c.len_utf8() };
                self.block = self.block.take().filter(|_| !is_closed);
                before = Some(c);
                continue;
            }
            if c == '`' {
                run += 1;
            } else {
                self.end_backticks(run);
                run = 0;
                if self.marks.backticks == 0 && self.follow_char(text, c, before, to) {
                    before = Some(c);
                    continue;
                }
            }
            before = Some(c);
            self.at += c.len_utf8();
        }
        self.end_backticks(run);
        self.at = self.at.max(to);
    }

    /// Follows a run of backticks.
    fn end_backticks(&mut self, run: usize) {
        let marks = &mut self.marks;
        match marks.backticks {
            _ if run == 0 => {}
            0 => marks.backticks = run,
            open if open == run => marks.backticks = 0,
            _ => {}
        }
    }

    /// Follows a character outside of code. Returns true if it opens a block, whose opening is
    /// skipped.
    fn follow_char(&mut self, text: &str, c: char, before: Option<char>, to: usize) -> bool {
        if matches!(c, '"' | '\'' | '<' | '/' | '{' | '(' | '-')
            && let Some((block, end)) = OpenBlock::opened_at(text, self.at, before)
        {
            self.block = Some(block);
            self.at = end;
            return true;
        }
        if c == '<' && !before.is_some_and(char::is_alphanumeric) {
            self.elements.follow(text, self.at, to);
        }
        match (self.marks.closing, self.marks.continued) {
            (Some(closing), _) if closing.contains(c) => self.marks.closing = None,
            (Some(_), _) => {}
            (None, Some(closing)) if closing.contains(c) => self.marks.continued = None,
            // A mark inside a word, or after one, opens nothing.
            _ if before.is_some_and(is_of_word) => {}
            _ => self.marks.closing = closing_marks(c),
        }
        false
    }

    /// Returns true if the current line, which is indented, belongs to a block: an empty line
    /// precedes it, and text before that.
    fn is_in_block(&mut self, text: &str) -> bool {
        let mut line_start = self.line_start;
        let is_in_block = loop {
            let Some((before, _)) =
                line_start.checked_sub(1).and_then(|end| text.split_at_checked(end))
            else {
                break false;
            };
            line_start = memrchr(b'\n', before.as_bytes()).map_or(0, |at| at + 1);
            if let Some((line, is_in_block)) = self.indented_line
                && line == line_start
            {
                break is_in_block;
            }
            let line = before.get(line_start..).unwrap_or_default();
            if line.trim().is_empty() {
                break !before.trim_start().is_empty();
            }
            if indentation(line) < BLOCK_COLUMNS {
                break false;
            }
        };
        self.indented_line = Some((self.line_start, is_in_block));
        is_in_block
    }
}

/// Returns true for a letter of a script that separates words by blanks.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{2e80}'
}

/// Returns the indentation of lines that continue the list item in `line`. Models often indent
/// them by less than the width of the marker.
fn item_indent(line: &str) -> Option<usize> {
    let content = line.trim_start();
    // A marker may be alone on its line.
    let with_blank = (content.len() <= 8).then(|| format!("{} ", content.trim_end()));
    let width = list_marker(with_blank.as_deref().unwrap_or(content))?;
    Some(indentation(line) + width.min(MIN_ITEM_INDENT))
}
