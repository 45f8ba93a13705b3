//! HTML and XML elements that are open before a call.
//!
//! An element counts if its end tag follows the call. An element that is known to hold calls, such
//! as `<answer>`, never counts.

use std::ops::Range;

use memchr::memrchr;

use crate::drivers::text::NoMatch;
use crate::drivers::text::quotation::open_block::EndSearch;

/// The longest tag that is examined, in bytes.
pub(crate) const MAX_TAG_LEN: usize = 120;
/// The longest indentation of a tag that begins its line, in bytes.
const MAX_INDENT_LEN: usize = 256;
/// The largest number of open elements that are followed.
const MAX_DEPTH: usize = 16;
/// The number of elements without an end that are searched to the end of the text.
const MAX_ENDLESS: usize = 16;
/// Elements whose content is shown to a reader as an item, a quotation or code.
const QUOTING: [&str; 21] = [
    "blockquote",
    "cite",
    "code",
    "dd",
    "details",
    "dt",
    "example",
    "figcaption",
    "kbd",
    "li",
    "pre",
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
/// Elements without an end tag.
const VOID: [&str; 8] = ["br", "hr", "img", "input", "link", "meta", "col", "wbr"];
/// Parts of the names of tags around the output of tools, which need one of each kind:
/// `<function_output>`, `<tool_call_result>`.
const OUTPUT_TAGS: [[&str; 5]; 2] = [
    ["tool", "call", "function", "action", "api"],
    ["result", "output", "response", "observation", "return"],
];
/// Parts of the names of tags around calls that are meant, and of tags inside calls.
const CALL_TAGS: [&str; 17] = [
    "tool",
    "call",
    "function",
    "invo",
    "action",
    "answer",
    "response",
    "reply",
    "final",
    "assistant",
    "step",
    "turn",
    "plan",
    "solution",
    "root",
    "param",
    "arg",
];

/// How open elements quote a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Enclosure {
    None,
    /// An element that is not known to hold calls.
    Unknown,
    Quoting,
}

#[derive(Clone, Debug)]
struct Element {
    /// The position of the name.
    name: Range<usize>,
    enclosure: Enclosure,
    search: EndSearch,
}

/// The elements that are open at a position, the outermost first.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenElements {
    list: Vec<Element>,
    endless: usize,
}

impl OpenElements {
    /// Follows the tag at `at`, which ends before `to`.
    pub(crate) fn follow(&mut self, text: &str, at: usize, to: usize) {
        let Some(tag) = tag_at(text, at, to) else { return };
        let name = text.get(tag.name.clone()).unwrap_or_default();
        if tag.is_end {
            let is_same = |element: &Element| text.get(element.name.clone()) == Some(name);
            if let Some(open) = self.list.iter().rposition(is_same) {
                self.list.truncate(open);
            }
            return;
        }
        let is_quoting = is_quoting(name.as_bytes());
        let enclosure = if is_quoting {
            Enclosure::Quoting
        } else if is_at_edge_of_line(text, at, tag.end) && !may_hold_calls(name) {
            Enclosure::Unknown
        } else {
            return;
        };
        if !tag.is_closed && self.list.len() < MAX_DEPTH {
            self.list.push(Element { name: tag.name, enclosure, search: EndSearch::default() });
        }
    }

    /// Returns how the elements that end after `at` quote what is there.
    pub(crate) fn enclosure(
        &mut self,
        text: &str,
        at: usize,
        is_complete: bool,
    ) -> Result<Enclosure, NoMatch> {
        let mut enclosure = Enclosure::None;
        for element in &mut self.list {
            let was_done = element.search.is_done();
            if self.endless >= MAX_ENDLESS && !was_done {
                continue;
            }
            let name = text.get(element.name.clone()).unwrap_or_default();
            let end = format!("</{name}");
            if element.search.has_end(text, end.as_bytes(), at, is_complete)? {
                enclosure = enclosure.max(element.enclosure);
            } else {
                self.endless += usize::from(!was_done);
            }
        }
        Ok(enclosure)
    }
}

struct Tag {
    name: Range<usize>,
    is_end: bool,
    /// True for `<name/>`.
    is_closed: bool,
    end: usize,
}

/// Returns the tag at `at`, if it ends before `to`.
fn tag_at(text: &str, at: usize, to: usize) -> Option<Tag> {
    let window = text.as_bytes().get(at..to.min(at + MAX_TAG_LEN))?.strip_prefix(b"<")?;
    let is_end = window.first() == Some(&b'/');
    let name_at = usize::from(is_end);
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-:".contains(byte);
    let name_len = window.get(name_at..)?.iter().take_while(|byte| is_of_name(byte)).count();
    let rest = window.get(name_at + name_len..)?;
    let close = rest.iter().position(|byte| b"<>\n".contains(byte))?;
    let is_name = window.get(name_at).is_some_and(u8::is_ascii_alphabetic);
    let is_tag = is_name && rest.get(close) == Some(&b'>') && b"> /".contains(rest.first()?);
    let start = at + 1 + name_at;
    is_tag.then(|| Tag {
        name: start..start + name_len,
        is_end,
        is_closed: rest.get(..close).is_some_and(|head| head.ends_with(b"/")),
        end: start + name_len + close + 1,
    })
}

/// Returns true if a tag begins or ends its line. Others are words of a sentence.
fn is_at_edge_of_line(text: &str, start: usize, end: usize) -> bool {
    // A line may be as long as the text, and is examined for each tag in it.
    let window = start.saturating_sub(MAX_INDENT_LEN);
    let before = text.as_bytes().get(window..start).unwrap_or_default();
    let line = memrchr(b'\n', before).map(|at| at + 1).or_else(|| (window == 0).then_some(0));
    let indent = line.and_then(|line| before.get(line..));
    let is_first = indent.is_some_and(|indent| indent.trim_ascii().is_empty());
    is_first || text.get(end..).is_some_and(|after| after.starts_with(['\n', '\r']))
}

/// Returns true for an element that is known to hold calls, or has no end tag.
fn may_hold_calls(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    VOID.contains(&name.as_str()) || CALL_TAGS.iter().any(|part| name.contains(part))
}

/// Returns true if `before` ends with the start tag of an element that quotes its content, such as
/// `<li>`, and blanks.
pub(crate) fn ends_with_quoting_tag(before: &str) -> bool {
    let window = before.len().saturating_sub(MAX_TAG_LEN);
    let window = before.as_bytes().get(window..).unwrap_or_default();
    let Some(tag) = window.trim_ascii_end().strip_suffix(b">") else { return false };
    let Some(start) = memrchr(b'<', tag) else { return false };
    let head = tag.get(start + 1..).unwrap_or_default();
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-:".contains(byte);
    let name_len = head.iter().take_while(is_of_name).count();
    let (name, attributes) = head.split_at(name_len);
    let is_tag = attributes.first().is_none_or(u8::is_ascii_whitespace);
    is_tag && is_quoting(name)
}

/// Returns true for an element that quotes its content, or holds the output of a tool.
fn is_quoting(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    let has = |parts: &[&str; 5]| {
        parts.iter().any(|part| lower.windows(part.len()).any(|window| window == part.as_bytes()))
    };
    QUOTING.iter().any(|element| lower == element.as_bytes()) || OUTPUT_TAGS.iter().all(has)
}

/// Returns true if a line begins with, or ends with, the start tag of an element that is not closed
/// in it and is not known to hold calls: `<note>`, `<note>See: `.
pub(crate) fn is_in_element(line: &str) -> bool {
    let line = line.trim();
    let starts = line.strip_prefix('<');
    let ends = line.strip_suffix('>').and_then(|line| line.rsplit_once('<'));
    // A type such as `Vec<T>` is no tag.
    let ends = ends.filter(|(before, _)| !before.ends_with(char::is_alphanumeric));
    let ends = ends.map(|(_, tag)| tag);
    [starts, ends].into_iter().flatten().any(|tag| {
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':');
        let name = tag.split(|c| !is_of_name(c)).next().unwrap_or_default();
        let rest = tag.get(name.len()..).unwrap_or_default();
        let is_tag = rest.is_empty() || rest.starts_with(['>', ' ']) && !rest.starts_with("  ");
        let is_closed = rest.contains("/>") || line.contains(&format!("</{name}"));
        name.starts_with(char::is_alphabetic) && is_tag && !is_closed && !may_hold_calls(name)
    })
}
