//! Tracks whether a position in a text is quoted.
//!
//! Inline code, quotation marks, Markdown quotations, list items, rows of tables, indented blocks,
//! comments, a backslash and HTML tags directly before it quote a call. Tags that do so from
//! afar are the format `aside`, and fences have their rules in `fence.rs`.

use memchr::memrchr;

use super::marker_index::MarkerCandidate;

/// The columns by which an indented block is indented, and of a tab.
const BLOCK_COLUMNS: usize = 4;
/// The longest number of a list item.
const MAX_NUMBER_LEN: usize = 3;
/// The longest tag before a call, with the blanks after it, in bytes.
const MAX_TAG_LEN: usize = 120;
/// HTML elements whose content is shown to a reader as an item, a quotation or code.
const QUOTING_ELEMENTS: [&str; 18] = [
    "blockquote",
    "cite",
    "dd",
    "details",
    "dt",
    "figcaption",
    "kbd",
    "li",
    "q",
    "samp",
    "script",
    "summary",
    "td",
    "template",
    "textarea",
    "th",
    "tt",
    "xmp",
];
/// Beginnings of comments, and of sections of text in XML.
const COMMENTS: [&str; 5] = ["//", "/*", "{#", "{/*", "<![CDATA["];

/// How the position of a call is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotation {
    None,
    Certain,
    /// A quotation mark was opened: the call is quoted if this mark closes it on its last line.
    Until(char),
}

/// Follows the scanner through the text and examines each byte once.
#[derive(Clone, Debug, Default)]
pub(super) struct QuoteTracker {
    at: usize,
    line_start: usize,
    /// True if markup, which quotes nothing, precedes the position on its line.
    is_after_markup: bool,
    /// The end of the last markup.
    markup_end: usize,
    /// The number of backticks that opened inline code on the current line; 0 outside of code.
    open_backticks: usize,
    /// The mark that closes the quotation that was opened on the current line.
    closing_mark: Option<char>,
    /// The start of the last examined indented line, and whether it belongs to a block.
    indented_line: Option<(usize, bool)>,
}

impl QuoteTracker {
    /// Returns how a candidate is quoted. Positions must not decrease from call to call.
    pub(super) fn quotation(&mut self, text: &str, candidate: MarkerCandidate) -> Quotation {
        self.advance(text, candidate.at);
        let before = text.get(self.line_start..candidate.at).unwrap_or_default();
        if candidate.at_line_start {
            let is_quoted = is_indented(before) && self.is_in_block(text)
                || ends_with_quoting_tag(
                    text.get(self.markup_end..candidate.at).unwrap_or_default(),
                );
            return if is_quoted { Quotation::Certain } else { Quotation::None };
        }
        let is_quoting_line = !self.is_after_markup && quotes_its_line(before.trim_start());
        let is_marked = before.ends_with(is_opening_mark) || before.ends_with('\\');
        if self.open_backticks > 0
            || is_quoting_line
            || is_marked
            || ends_with_quoting_tag(text.get(self.markup_end..candidate.at).unwrap_or_default())
        {
            return Quotation::Certain;
        }
        self.closing_mark.map_or(Quotation::None, Quotation::Until)
    }

    /// Skips markup up to `at`. Markup opens no quotation.
    pub(super) fn skip(&mut self, at: usize) {
        *self =
            Self { at, line_start: at, is_after_markup: true, markup_end: at, ..Self::default() };
    }

    /// Skips a quoted call up to `at`, inside the quotation.
    pub(super) fn skip_quoted(&mut self, at: usize) {
        self.at = at;
    }

    fn advance(&mut self, text: &str, at: usize) {
        let mut skipped = text.get(self.at..at).unwrap_or_default();
        if let Some(end) = memrchr(b'\n', skipped.as_bytes()) {
            let Self { indented_line, markup_end, .. } = *self;
            let line_start = self.at + end + 1;
            *self = Self { line_start, indented_line, markup_end, ..Self::default() };
            skipped = skipped.get(end + 1..).unwrap_or_default();
        }
        self.at = at;
        let line_start = at - skipped.len() == self.line_start;
        let before = text.get(..at - skipped.len()).and_then(|before| before.chars().next_back());
        self.count_marks(skipped, before.filter(|_| !line_start));
    }

    /// Follows the backticks and quotation marks of `skipped`, which are of one line. Inline code
    /// ends with as many backticks as it began with.
    fn count_marks(&mut self, skipped: &str, before: Option<char>) {
        let (mut before, mut run) = (before, 0);
        for c in skipped.chars().chain([' ']) {
            if c == '`' {
                run += 1;
            } else if run > 0 {
                match self.open_backticks {
                    0 => self.open_backticks = run,
                    open if open == run => self.open_backticks = 0,
                    _ => {}
                }
                run = 0;
            }
            if self.open_backticks == 0 && run == 0 {
                self.follow_mark(c, before);
            }
            before = Some(c);
        }
    }

    fn follow_mark(&mut self, c: char, before: Option<char>) {
        match self.closing_mark {
            Some(closing_mark) if closing_mark == c => self.closing_mark = None,
            Some(_) => {}
            // A mark inside a word, or after one, opens nothing.
            None if before.is_some_and(char::is_alphanumeric) => {}
            None => self.closing_mark = closing_mark(c),
        }
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
            if !is_indented(line) {
                break false;
            }
        };
        self.indented_line = Some((self.line_start, is_in_block));
        is_in_block
    }
}

fn is_opening_mark(c: char) -> bool {
    closing_mark(c).is_some()
}

/// Returns the mark that closes a quotation.
fn closing_mark(opening_mark: char) -> Option<char> {
    Some(match opening_mark {
        '"' | '\'' => opening_mark,
        '“' => '”',
        '„' => '“',
        '‘' => '’',
        '«' => '»',
        '»' => '«',
        '「' => '」',
        '『' => '』',
        _ => return None,
    })
}

/// Returns true if `before` ends with the start tag of an element that quotes its content, such as
/// `<li>`, and blanks.
fn ends_with_quoting_tag(before: &str) -> bool {
    let window = before.len().saturating_sub(MAX_TAG_LEN);
    let window = before.as_bytes().get(window..).unwrap_or_default();
    let Some(tag) = window.trim_ascii_end().strip_suffix(b">") else { return false };
    let Some(start) = memrchr(b'<', tag) else { return false };
    let head = tag.get(start + 1..).unwrap_or_default();
    let name_len = head.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (name, attributes) = head.split_at(name_len);
    let is_tag = attributes.first().is_none_or(u8::is_ascii_whitespace);
    is_tag && QUOTING_ELEMENTS.iter().any(|element| name.eq_ignore_ascii_case(element.as_bytes()))
}

/// Returns true if a line that begins with `before` is a quotation, a list item, a row of a table
/// or a comment.
fn quotes_its_line(before: &str) -> bool {
    let number = before.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = (1..=MAX_NUMBER_LEN).contains(&(before.len() - number.len()));
    before.starts_with(['>', '|'])
        || COMMENTS.iter().any(|comment| before.starts_with(comment))
        || ["- ", "* ", "+ ", "• "].iter().any(|bullet| before.starts_with(bullet))
        || is_number && (number.starts_with(". ") || number.starts_with(") "))
}

fn is_indented(line: &str) -> bool {
    let blanks = line.bytes().take_while(|byte| b" \t".contains(byte));
    let columns: usize = blanks.map(|byte| if byte == b'\t' { BLOCK_COLUMNS } else { 1 }).sum();
    columns >= BLOCK_COLUMNS
}
