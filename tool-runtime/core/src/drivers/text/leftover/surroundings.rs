//! Leftovers around a call: an argument before it or after it, and text before its end marker.

use super::super::markup::{
    END_TOKENS, WRAPPERS, beginning, ending, find_first, is_markup_word, markup_words,
};
use super::super::{Formats, NoMatch, ToolLookup};
use super::{SEPARATORS, add_leftover, without_first_separators, without_separators};
use crate::drivers::text::quotation::call_line;
use crate::drivers::text::search::marker_index::MarkerCandidate;
use crate::json::__private::is_one_of;
use crate::message::ToolCall;
use crate::tool::ToolDefinition;
use std::ops::Range;

/// The longest distance from a call to its end marker, in bytes.
const MAX_DISTANCE: usize = 1024;
/// The longest beginning of a text in which the name of an argument is searched, in bytes.
const MAX_LINE_LEN: usize = 256;

/// Describes the markup of calls that were found in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallMarkup<'t> {
    pub(crate) formats: &'t Formats,
    pub(crate) tools: &'t ToolLookup<'t>,
    /// The markers that end a call.
    pub(crate) ends: &'t [&'t str],
}

impl CallMarkup<'_> {
    /// Adds the leftover in the text `after` the calls to the last of them. `matched` is the text
    /// of the calls.
    pub(crate) fn add_leftover_after(
        &self,
        matched: &str,
        after: &str,
        is_complete: bool,
        calls: &mut [ToolCall],
    ) -> Result<(), NoMatch> {
        let Some(call) = calls.last_mut() else { return Ok(()) };
        let Some(tool) = self.tools.find(&call.name) else { return Ok(()) };
        // Tokens that end a message may follow any text.
        let is_end = |end: &&str| !END_TOKENS.contains(end);
        let ends: Vec<_> = self.ends.iter().copied().filter(is_end).collect();
        let matched = matched.trim_end();
        let is_closed = ends.iter().any(|end| matched.ends_with(end))
            || WRAPPERS.iter().any(|(_, end)| matched.ends_with(end));
        let ends = if is_closed { &[] } else { ends.as_slice() };
        let text = TextAfter { formats: self.formats, tool, text: after, ends, is_complete };
        if let Some(leftover) = text.leftover()? {
            add_leftover(call, leftover);
        }
        Ok(())
    }

    /// Adds the end of the text before the calls to the leftover of the first of them: the text
    /// inside of their markup, or the last line, if it is an argument.
    pub(crate) fn add_leftover_before(&self, before: &str, calls: &mut [ToolCall]) {
        let before = before.trim_end();
        let Some(call) = calls.first_mut() else { return };
        let Some(tool) = self.tools.find(&call.name) else { return };
        if let Some(inside) = self.inside_of_markup(before, tool) {
            return add_leftover(call, inside);
        }
        let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
        if line.len() > MAX_LINE_LEN {
            return;
        }
        let inside = self.formats.last_marker(line).and_then(|it| line.get(it.end..));
        if is_argument_line(line, above, tool)
            || inside.is_some_and(|inside| is_whole_argument(inside, tool))
        {
            add_leftover(call, line);
        }
    }
}

impl CallMarkup<'_> {
    /// Returns the text behind the last marker before a call, unless the marker is quoted or the
    /// markup is closed. A sentence or a paragraph that only mentions the marker may precede the
    /// call, too, so there the text has to name a parameter.
    fn inside_of_markup<'t>(&self, before: &'t str, tool: &ToolDefinition) -> Option<&'t str> {
        let window = ending(before, MAX_DISTANCE);
        let marker = self.formats.last_marker(window)?;
        let (lead_in, inside) = (window.get(..marker.start)?, window.get(marker.end..)?);
        let ends = self.formats.calls().iter().flat_map(|format| format.end_markers()).copied();
        let mut ends = WRAPPERS.iter().map(|(_, end)| *end).chain(ends);
        let is_closed = ends.any(|end| end.len() > 1 && inside.contains(end));
        let line = lead_in.rsplit('\n').next().unwrap_or_default();
        let may_be_mention = call_line::is_open(line) || inside.contains("\n\n");
        let is_inside = !is_closed && !inside.starts_with(['`', '"', '\'']);
        (is_inside && (!may_be_mention || tool.parameter_in(inside).is_some())).then_some(inside)
    }
}

/// The text after a call.
#[derive(Clone, Copy, Debug)]
struct TextAfter<'t> {
    formats: &'t Formats,
    tool: &'t ToolDefinition,
    text: &'t str,
    /// The markers that may end the call; none if its end is certain.
    ends: &'t [&'t str],
    is_complete: bool,
}

impl<'t> TextAfter<'t> {
    /// Returns the leftover of the call: all text before the end marker, or a line that begins with
    /// an argument of the tool.
    fn leftover(&self) -> Result<Option<&'t str>, NoMatch> {
        let window = beginning(self.text, MAX_DISTANCE);
        // A bracket may also be a part of the text in a later line.
        let is_end = |end: &Range<usize>| {
            let between = window.get(..end.start).unwrap_or_default();
            end.len() > 1 || !between.trim().contains('\n')
        };
        match find_first(window, self.ends.iter().copied()).filter(is_end) {
            Some(end) => {
                let between = window.get(..end.start).unwrap_or_default();
                let is_leftover = !without_separators(between).is_empty();
                if is_leftover && !self.formats.has_marker_in(between) {
                    return Ok(Some(between.trim()));
                }
            }
            None if self.ends.is_empty() || self.is_complete => {}
            None if window.len() == self.text.len() => return Err(NoMatch::Incomplete),
            None => {}
        }
        self.argument()
    }

    fn argument(&self) -> Result<Option<&'t str>, NoMatch> {
        let rest = without_first_separators(self.text);
        let at = self.text.len() - rest.len();
        // Another call may begin here.
        let before = self.text.get(..at).unwrap_or_default();
        let at_line_start = before.contains('\n');
        let candidate = MarkerCandidate { at, at_line_start };
        if self.formats.begins_call(self.text, candidate) {
            return Ok(None);
        }
        if !self.is_complete && self.formats.markers.is_partial_marker(rest, true) {
            return Err(NoMatch::Incomplete);
        }
        let window = beginning(rest, MAX_LINE_LEN);
        let line = window.split('\n').next().unwrap_or_default();
        let is_whole = self.is_complete || line.len() < rest.len();
        let is_argument = begins_argument(line, self.tool, is_whole)?;
        Ok(is_argument.then(|| line.trim()))
    }
}

/// Returns true if a line before a call is an argument of the tool: in a tag, in quotes or braces,
/// or below a line that ends with a tag.
fn is_argument_line(line: &str, above: &str, tool: &ToolDefinition) -> bool {
    let line = line.trim();
    let begins_markup = line.starts_with(['<', '[', '{', '"']) || line.starts_with(SEPARATORS);
    (begins_markup || above.trim_end().ends_with('>')) && is_whole_argument(line, tool)
}

/// Returns true if a text that is complete begins with an argument of the tool.
pub(crate) fn is_argument(text: &str, tool: &ToolDefinition) -> bool {
    let window = beginning(without_first_separators(text), MAX_LINE_LEN);
    is_whole_argument(window.split('\n').next().unwrap_or_default(), tool)
}

fn is_whole_argument(line: &str, tool: &ToolDefinition) -> bool {
    begins_argument(line, tool, true) == Ok(true)
}

/// Returns true if the first word of `line`, other than names of tags and attributes, is the name
/// of a parameter, and its value follows.
fn begins_argument(line: &str, tool: &ToolDefinition, is_whole: bool) -> Result<bool, NoMatch> {
    let properties = tool.parameters.as_value().get("properties").and_then(|it| it.as_object());
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@');
    let mut at = 0;
    while let Some(rest) = line.get(at..) {
        let Some(start) = rest.find(is_of_word) else { break };
        let word = rest.get(start..).unwrap_or_default();
        let length = word.find(|c| !is_of_word(c)).unwrap_or(word.len());
        let after = word.get(length..).unwrap_or_default();
        let word = word.get(..length).unwrap_or_default();
        if after.is_empty() && !is_whole {
            // A word of prose is known before it ends.
            let mut names = properties.into_iter().flatten();
            let may_go_on = names.any(|(name, _)| begins_word(name, word))
                || markup_words().any(|known| begins_word(known, word));
            return if may_go_on { Err(NoMatch::Incomplete) } else { Ok(false) };
        }
        // Outside of quotes and tags, a word with other letter case is a word of prose.
        let is_delimited = start > 0;
        let mut names = properties.into_iter().flatten().map(|(name, _)| name.as_str());
        let is_name = names.any(|name| name == word || is_delimited && is_one_of(word, &[name]));
        if is_name {
            let value = after.trim_start_matches(['"', '\'', '`', ' ', '\\']);
            if value.is_empty() && !is_whole {
                return Err(NoMatch::Incomplete);
            }
            // Another attribute may follow, as in `name="cwd" string="true"`.
            let before = line.get(..at + start).unwrap_or_default();
            let is_attribute = ["=\"", "='"].iter().any(|start| before.ends_with(start));
            if is_attribute || value.starts_with([':', '=', '>', '<', '：']) {
                return Ok(true);
            }
        }
        if !is_markup_word(word) {
            return Ok(false);
        }
        at += start + length;
    }
    if is_whole { Ok(false) } else { Err(NoMatch::Incomplete) }
}

/// Returns true if `word` may be the beginning of `known`, up to case and separators.
fn begins_word(known: &str, word: &str) -> bool {
    let letters = |text: &str| {
        let letters = text.chars().filter(|c| !matches!(c, '_' | '-'));
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    letters(known).starts_with(&letters(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool() -> ToolDefinition {
        let schema = json!({"type": "object", "properties": {"command": {}, "cwd": {}}});
        ToolDefinition::new("run", "Runs.", schema)
    }

    fn leftover(after: &str, ends: &[&str], is_complete: bool) -> Result<Option<String>, NoMatch> {
        let (tool, formats) = (tool(), Formats::all());
        let text = TextAfter { formats, tool: &tool, text: after, ends, is_complete };
        text.leftover().map(|leftover| leftover.map(str::to_owned))
    }

    #[test]
    fn argument_after_call_is_leftover() {
        for after in [
            ", \"cwd\": \"/tmp\"}",
            "}, \"cwd\": \"/tmp\"}}",
            "\n\"cwd\": \"/tmp\"",
            "{\"cwd\": \"/tmp\"}",
            "\n{\"arguments\": {\"cwd\": \"/tmp\"}}",
            "cwd=/tmp",
            " cwd: /tmp",
            "\ncwd: /tmp\nDone.",
            "<parameter=cwd>",
            "<parameter name=\"cwd\">/tmp</parameter>",
            "<cwd>/tmp</cwd>",
            "<arg_key>cwd</arg_key>",
            "<｜DSML｜parameter name=\"cwd\" string=\"true\">",
            "<|open|>argument key=\"cwd\" type=\"string\"<|sep|>",
            "]<]minimax[>[<cwd>/tmp",
            "\"CWD\": 1",
        ] {
            let found = leftover(after, &[], true).unwrap();
            assert!(found.is_some_and(|found| !found.is_empty()), "{after}");
        }
        for after in [
            "",
            "\nDone.",
            " I set the cwd: /tmp",
            "\nCwd: it is /tmp",
            "cwd",
            "cwd is fine",
            "<b>cwd</b>",
            "\n<tool_call>{\"cwd\": 1}",
            "{\"a\": 1}",
            "}}",
            "\n\ncommand line tools",
        ] {
            assert_eq!(leftover(after, &[], true), Ok(None), "{after}");
        }
    }

    #[test]
    fn word_of_prose_after_call_is_known_before_it_ends() {
        for (after, expected) in [
            ("\nThe", Ok(None)),
            ("\nC", Err(NoMatch::Incomplete)),
            ("\ncwd", Err(NoMatch::Incomplete)),
            ("\ncwd\"", Err(NoMatch::Incomplete)),
            ("\ncwds", Ok(None)),
            ("", Err(NoMatch::Incomplete)),
        ] {
            assert_eq!(leftover(after, &[], false), expected, "{after}");
        }
    }

    #[test]
    fn text_before_end_marker_is_leftover() {
        let ends = ["</tool_call>"];
        for (after, expected) in [
            (" so be it</tool_call>", Some("so be it")),
            ("}, \"x\": 1}</tool_call>", Some("}, \"x\": 1}")),
            ("}}\n</tool_call>", None),
            ("<tool_call>{}</tool_call>", None),
            (" so be it", None),
        ] {
            let expected = Ok(expected.map(str::to_owned));
            assert_eq!(leftover(after, &ends, true), expected, "{after}");
        }
        assert_eq!(leftover(" so be it", &ends, false), Err(NoMatch::Incomplete));
        assert_eq!(leftover(&"so ".repeat(400), &ends, false), Ok(None));
    }

    #[test]
    fn argument_before_call_is_leftover() {
        for (above, line, expected) in [
            ("", "<parameter=cwd>/tmp</parameter>", true),
            ("", "\"cwd\": \"/tmp\",", true),
            ("", "}, \"cwd\": \"/tmp\"}", true),
            ("", "<function_calls><parameter name=\"cwd\">/tmp</parameter>", true),
            ("<function_calls>", "cwd: /tmp", true),
            ("So:", "cwd: /tmp", false),
            ("", "<b>cwd</b>", false),
            ("", "I use the cwd:", false),
        ] {
            assert_eq!(is_argument_line(line, above, &tool()), expected, "{line}");
        }
    }
}
