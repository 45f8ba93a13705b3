//! Leftovers of a call: text that is read as a part of it, but is neither markup nor a value.
//!
//! A parameter that stands outside of the arguments would be lost without a trace, and the tool
//! would run without it. So a call keeps its [leftover](ToolCall::leftover), and the dispatcher
//! refuses it.
//!
//! | file | where the leftover is |
//! |---|---|
//! | `members.rs` | in the object of the call, beside its arguments |
//! | `attributes.rs` | in the head of a tag |
//! | `surroundings.rs` | before the call, after it, or before its end marker |
//!
//! Tags that are left over after a call are found by the grammar of tags.

mod attributes;
mod members;
mod surroundings;

pub(crate) use self::attributes::other_attributes;
pub(crate) use self::members::is_empty;
pub(crate) use self::surroundings::is_argument;
pub(crate) use self::{members::leftover_members, surroundings::CallMarkup};
use super::ToolLookup;
use super::truncation::truncate;
use crate::message::ToolCall;

/// Tokens between values that carry no information: separators, fences, and closing brackets of
/// values that are complete.
const SEPARATORS: [char; 5] = [',', ';', '}', ']', ')'];
const FENCES: [&str; 2] = ["```json", "```"];

/// Returns a text without the separators at its start.
fn without_first_separators(text: &str) -> &str {
    let is_separator = |c: char| c.is_whitespace() || SEPARATORS.contains(&c);
    let mut rest = text.trim_start_matches(is_separator);
    while let Some(inner) = FENCES.iter().find_map(|fence| rest.strip_prefix(fence)) {
        rest = inner.trim_start_matches(is_separator);
    }
    rest
}

/// Returns a text without the separators around it. If nothing remains, it is no leftover.
pub(crate) fn without_separators(text: &str) -> &str {
    let is_separator = |c: char| c.is_whitespace() || SEPARATORS.contains(&c);
    let mut rest = without_first_separators(text).trim_end_matches(is_separator);
    while let Some(inner) = FENCES.iter().find_map(|fence| rest.strip_suffix(fence)) {
        rest = inner.trim_end_matches(is_separator);
    }
    rest
}

/// Adds a leftover to a call, unless nothing is left of it without the separators around it.
pub(crate) fn add_leftover(call: &mut ToolCall, leftover: &str) {
    if without_separators(leftover).is_empty() {
        return;
    }
    if !call.leftover.is_empty() {
        call.leftover.push('\n');
    }
    call.leftover.push_str(leftover.trim());
}

/// Removes the end of the arguments of calls with a leftover: more of them may be in it.
pub(crate) fn truncate_with_leftover(calls: &mut [ToolCall], tools: &ToolLookup<'_>) {
    for call in calls.iter_mut().filter(|call| !call.leftover.is_empty()) {
        if let Some(tool) = tools.find(&call.name) {
            call.arguments = truncate(call.arguments.to_text().into_owned(), tool).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_separators;

    #[test]
    fn separators_are_no_leftover() {
        for text in ["", " \n", "}}", ", ", "}]\n```\n", "```json\n", ")};"] {
            assert_eq!(without_separators(text), "", "{text}");
        }
        for (text, rest) in [
            (", \"cwd\": \"/tmp\"}", "\"cwd\": \"/tmp\""),
            ("}\n```\ncwd", "cwd"),
            ("[1]", "[1"),
            ("<b>", "<b>"),
        ] {
            assert_eq!(without_separators(text), rest, "{text}");
        }
    }
}
