//! The sentence or heading before a call, which may announce an example, and the start tag of an
//! element around the call.

use super::grammar::truncated_call;
use crate::message::ToolCall;

/// The longest part of a sentence that is examined, in bytes.
const MAX_LEN: usize = 240;

/// Words that announce an example in any sentence, in several languages.
const EXAMPLE: [&str; 15] = [
    "for example",
    "for instance",
    "e.g.",
    "an example",
    "example call",
    "like this",
    "like so",
    "zum beispiel",
    "par exemple",
    "por ejemplo",
    "per esempio",
    "por exemplo",
    "например",
    "例えば",
    "例如",
];
/// Words of sentences that end with a colon and announce an example, a form, or a call that others
/// might make.
const HYPOTHETICAL: [&str; 23] = [
    "example",
    "beispiel",
    "sample",
    "syntax",
    "template",
    "looks like",
    "look like",
    "looks so",
    "look so",
    "hypothetical",
    "you can",
    "you could",
    "you would",
    "you'd",
    "you might",
    "you may",
    "you should",
    "you need",
    "you have to",
    "could be",
    "would be",
    "can be called",
    "would write",
];
/// Words of sentences that end with a colon and quote another text.
const QUOTED: [&str; 9] = [
    " wrote",
    " writes",
    " said",
    " says",
    " contains",
    " contained",
    " reads",
    " quotes",
    " suggested",
];
/// Beginnings of sentences that forbid a call.
const FORBIDDEN: [&str; 7] =
    ["never ", "do not ", "don't ", "don’t ", "avoid ", "you must not ", "you should never "];
/// Words of sentences in which the model announces what it does.
const ANNOUNCEMENT: [&str; 7] =
    ["i'll ", "i’ll ", "i will ", "let me ", "i am ", "i'm ", "i need "];
/// Beginnings of sentences that announce a call or describe one.
const DESCRIPTION: [&str; 8] =
    ["to ", "here is ", "here's ", "here’s ", "this is ", "the call", "the format", "the tool"];

/// Words of headings over examples and descriptions.
const HEADING: [&str; 10] = [
    "usage",
    "how to",
    "reference",
    "documentation",
    "format",
    "exemple",
    "ejemplo",
    "esempio",
    "exemplo",
    "例",
];
/// Words of headings over calls that are meant.
const CALL_HEADING: [&str; 8] =
    ["call", "action", "tool", "function", "step", "execut", "invo", "next"];
/// Parts of the names of tags around calls that are meant.
const CALL_TAGS: [&str; 15] = [
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
];

/// The meaning of what stands before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeadIn {
    /// No sentence precedes the call, or it announces a call.
    Call,
    /// The sentence announces a call or describes one.
    Doubtful,
    /// The call stands in parentheses, or in an element that is not known to hold calls.
    Enclosed,
    /// The sentence announces an example or a quoted call, or forbids the call.
    Example,
}

impl LeadIn {
    /// Returns the lead-in of a call that follows `text`: its last sentence.
    pub(super) fn of(text: &str) -> Self {
        // The cut comes first: every call of a reply examines the text before it.
        let text = text.trim_end();
        let mut start = text.len().saturating_sub(MAX_LEN);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        let end = text.get(start..).unwrap_or_default();
        let line = end.rsplit('\n').next().unwrap_or_default().to_lowercase();
        let ends = [". ", "! ", "? ", "。"]
            .iter()
            .filter_map(|end| line.rfind(end).map(|at| at + end.len()));
        // "e.g. " ends no sentence.
        let ends = ends.filter(|end| !line.get(..*end).is_some_and(|line| line.ends_with("e.g. ")));
        let sentence = line.get(ends.max().unwrap_or(0)..).unwrap_or_default().trim_start();
        let contains = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
        let is_announced = contains(&ANNOUNCEMENT);
        let is_heading = is_heading(&line);
        let has_colon = is_heading || sentence.ends_with([':', '：']);
        let is_forbidden = FORBIDDEN.iter().any(|start| sentence.starts_with(start));
        let is_hypothetical = has_colon && (contains(&HYPOTHETICAL) || contains(&QUOTED));
        let is_example = contains(&EXAMPLE) || is_heading && contains(&HEADING);
        if is_example || !is_announced && (is_hypothetical || is_forbidden) {
            return Self::Example;
        }
        if sentence.ends_with(['(', '（']) || is_in_element(&line) {
            return Self::Enclosed;
        }
        if is_heading && !is_announced && !contains(&CALL_HEADING) {
            return Self::Doubtful;
        }
        let is_description = DESCRIPTION.iter().any(|start| sentence.starts_with(start));
        if has_colon && is_description && !is_announced { Self::Doubtful } else { Self::Call }
    }

    /// Returns the calls that a marker announces. If they may be an example, their arguments count
    /// as truncated, so that no tool runs that changes something.
    pub(super) fn marked(self, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        match self {
            Self::Example | Self::Enclosed => calls.into_iter().map(truncated_call).collect(),
            Self::Call | Self::Doubtful => calls,
        }
    }

    /// Returns the calls that no marker announces; `None` if they are an example.
    pub(super) fn unmarked(self, calls: Vec<ToolCall>) -> Option<Vec<ToolCall>> {
        match self {
            Self::Call => Some(calls),
            Self::Doubtful | Self::Enclosed => {
                Some(calls.into_iter().map(truncated_call).collect())
            }
            Self::Example => None,
        }
    }
}

/// Whether a line is a heading of Markdown: `# Example`, or `**Example**` alone.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    let rest = line.trim_start_matches('#');
    let is_bold = line.len() > 4 && line.starts_with("**") && line.ends_with("**");
    rest.len() < line.len() && rest.starts_with(' ') || is_bold
}

/// Whether a line begins with, or ends with, the start tag of an element that is not closed in it
/// and is not known to hold calls: `<note>`, `<note>See: `.
fn is_in_element(line: &str) -> bool {
    let line = line.trim();
    let starts = line.strip_prefix('<');
    let ends = line.strip_suffix('>').and_then(|line| line.rsplit_once('<')).map(|(_, tag)| tag);
    [starts, ends].into_iter().flatten().any(|tag| {
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':');
        let name = tag.split(|c| !is_of_name(c)).next().unwrap_or_default();
        let rest = tag.get(name.len()..).unwrap_or_default();
        let is_tag = rest.is_empty() || rest.starts_with(['>', ' ']) && !rest.starts_with("  ");
        let is_closed = rest.contains("/>") || line.contains(&format!("</{name}"));
        name.starts_with(char::is_alphabetic)
            && is_tag
            && !is_closed
            && !matches!(name, "br" | "hr")
            && !CALL_TAGS.iter().any(|part| name.contains(part))
    })
}
