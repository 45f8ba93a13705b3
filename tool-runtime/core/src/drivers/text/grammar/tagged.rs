//! The grammar of formats with tags around each call and each argument, and plain text inside them.

use super::super::leftover::other_attributes;
use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use super::stray_tag::{ends_with_stray_tag, may_hold_tag};
use super::tags::{ArgumentStart, TaggedCall, without_last_line_break, without_other_end_tag};
use super::{
    ArgumentBuilder, Cursor, TagSet, TagState, beginning, text_before_any, value_end,
    without_partial_marker,
};
use crate::tool::ToolDefinition;

/// The largest number of arguments, more than any tool has.
const MAX_ARGUMENTS: usize = 64;

/// Tags around a JSON object with all arguments.
const OBJECT_TAGS: [(&str, &str); 2] =
    [("<arguments>", "</arguments>"), ("<parameters>", "</parameters>")];

/// The longest beginning of a value after a damaged tag that is quoted, in bytes.
const MAX_QUOTED_LEN: usize = 128;
/// Attributes that models write beside the name of a tool, and beside that of an argument.
const CALL_ATTRIBUTES: [&str; 3] = ["id", "index", "type"];
const ARGUMENT_ATTRIBUTES: [&str; 2] = ["string", "type"];

/// How a tag contains a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `<function=NAME>`; a line break next to a tag is markup.
    Equals,
    /// `<invoke name="NAME">`.
    Attribute,
}

/// A format whose calls are tags.
#[derive(Debug)]
pub(crate) struct TaggedFormat {
    pub(crate) name: &'static str,
    pub(crate) start_markers: &'static [StartMarker],
    pub(crate) style: Style,
    /// The tags of calls and arguments.
    pub(crate) tags: TagSet,
}

impl Format for TaggedFormat {
    fn name(&self) -> &str {
        self.name
    }

    fn start_markers(&self) -> &[StartMarker] {
        self.start_markers
    }

    fn parse(&self, input: Input<'_>, tools: &ToolLookup<'_>) -> Result<Match, NoMatch> {
        let mut cursor = Cursor::new(input);
        cursor.take_all(self.tags.wrappers)?;
        let mut calls = Vec::new();
        let mut state = TagState::default();
        // The end of the last call.
        let mut end = 0;
        loop {
            if cursor.is_done()? || !cursor.take(self.tags.call)? {
                break;
            }
            match self.call(&mut cursor, &mut state, tools) {
                Ok(call) => calls.push(call),
                // The calls before it are kept.
                Err(NoMatch::Text | NoMatch::Malformed) if !calls.is_empty() => {
                    cursor.at = end;
                    break;
                }
                Err(NoMatch::Incomplete) if cursor.is_complete && !calls.is_empty() => {
                    cursor.skip_all();
                    break;
                }
                Err(no_match) => return Err(no_match),
            }
            end = cursor.at;
            // The scanner parses the next call, because it limits how often a text is read to its
            // end.
            if state.has_unclosed_object {
                break;
            }
            cursor.skip_blanks();
            if cursor.is_done()?
                || !cursor.take_all(self.tags.wrapper_ends)? && !self.has_next_call(&cursor)?
            {
                cursor.at = end;
                break;
            }
            if cursor.since(end).trim().is_empty() {
                continue;
            }
            cursor.at = end + cursor.since(end).trim_end().len();
            break;
        }
        self.tags.finish(cursor, calls, &state)
    }
}

impl TaggedFormat {
    /// Returns the tags that may come next inside a call.
    fn next(&self) -> Vec<&'static str> {
        [self.tags.call_ends, self.tags.argument, self.tags.wrapper_ends].concat()
    }

    fn has_next_call(&self, cursor: &Cursor<'_>) -> Result<bool, NoMatch> {
        Cursor { ..*cursor }.take(self.tags.call)
    }

    /// Returns the name in the head of a tag, and the attributes after it.
    fn split_name<'t>(&self, head: &'t str) -> Option<(&'t str, &'t str)> {
        let (name, more) = match self.style {
            Style::Equals => (head, ""),
            Style::Attribute => {
                let (_, value) = head.split_once("name=")?;
                let quote = value.chars().next().filter(|c| "\"'".contains(*c))?;
                value.strip_prefix(quote)?.split_once(quote)?
            }
        };
        Some((name.trim().trim_matches(['"', '\'']), more))
    }

    fn call<'d>(
        &self,
        cursor: &mut Cursor<'_>,
        state: &mut TagState,
        tools: &ToolLookup<'d>,
    ) -> Result<TaggedCall<'d>, NoMatch> {
        let head = cursor.head('>')?;
        let (name, _) = self.split_name(head).ok_or(NoMatch::Text)?;
        let callee = tools.callee(name).ok_or(NoMatch::Text)?;
        state.add_leftover(&self.other_attributes(head, &CALL_ATTRIBUTES, callee.tool));
        let arguments = self.arguments(cursor, state, callee.tool)?;
        Ok(state.call(callee, arguments))
    }

    /// Returns the attributes in the head of a tag that are no part of the format. Those of `known`
    /// are, unless they have the name of a parameter.
    fn other_attributes(&self, head: &str, known: &[&str], tool: &ToolDefinition) -> String {
        let takes = tool.parameters.as_value().get("properties");
        let takes = |key: &str| takes.is_some_and(|properties| properties.get(key).is_some());
        let is_known = |key: &str| key == "name" || known.contains(&key) && !takes(key);
        match self.style {
            Style::Equals => String::new(),
            Style::Attribute => other_attributes(head, is_known),
        }
    }

    fn arguments(
        &self,
        cursor: &mut Cursor<'_>,
        state: &mut TagState,
        tool: &ToolDefinition,
    ) -> Result<String, NoMatch> {
        if let Some(object) = self.object(cursor, state)? {
            return Ok(object);
        }
        let mut builder = ArgumentBuilder::new(tool);
        for _ in 0..MAX_ARGUMENTS {
            cursor.skip_blanks();
            // More arguments may have followed.
            if cursor.is_done()? {
                return Ok(builder.finish(false));
            }
            if cursor.take(self.tags.call_ends)? {
                return Ok(builder.finish(true));
            }
            if self.tags.wrapper_ends.iter().any(|end| cursor.rest().starts_with(end)) {
                return Ok(builder.finish(true));
            }
            if cursor.is_truncated_token(&self.next()) {
                cursor.skip_all();
                return Ok(builder.finish(false));
            }
            if !cursor.take(self.tags.argument)? {
                let may_end = |end: &&str| !cursor.is_complete && end.starts_with(cursor.rest());
                let is_partial = self.tags.wrapper_ends.iter().any(may_end);
                return Err(if is_partial { NoMatch::Incomplete } else { NoMatch::Malformed });
            }
            let head = match cursor.head('>') {
                Err(NoMatch::Incomplete) if cursor.is_complete => {
                    cursor.skip_all();
                    return Ok(builder.finish(false));
                }
                head => head?,
            };
            let (key, more) = self.split_name(head).ok_or(NoMatch::Malformed)?;
            // A damaged tag ends at the bracket of another one.
            let is_damaged = !more.trim().is_empty() && !more.trim_end().ends_with(['"', '\'']);
            state.is_ambiguous |= is_damaged || head.contains('<') || more.contains('｜');
            state.add_leftover(&self.other_attributes(head, &ARGUMENT_ATTRIBUTES, tool));
            let Some(value) = self.value(cursor, state, tool)? else {
                let value = without_partial_marker(cursor.rest(), self.tags.argument_ends);
                builder.truncated(key, self.without_line_breaks(value));
                cursor.skip_all();
                return Ok(builder.finish(false));
            };
            if head.contains('<') {
                state.add_leftover(beginning(value, MAX_QUOTED_LEN));
            }
            let value = self.without_line_breaks(value);
            // The tag may be the end of the argument under its own name, or a part of it.
            state.is_ambiguous |= ends_with_stray_tag(value, key, tool);
            // DeepSeek marks whether a value is text or JSON.
            let is_json = more.contains("string=\"false\"");
            if more.contains("string=\"true\"") {
                builder.text(key, value);
            } else if is_json && serde_json::from_str::<String>(value).is_ok() {
                builder.json(key, value);
            } else {
                builder.raw(key, value);
            }
        }
        Err(NoMatch::Malformed)
    }

    /// Parses arguments that the model wrote as a JSON object instead of one tag for each.
    fn object(
        &self,
        cursor: &mut Cursor<'_>,
        state: &mut TagState,
    ) -> Result<Option<String>, NoMatch> {
        let start = cursor.at;
        cursor.skip_blanks();
        let (mut inner, mut end) = (*cursor, None);
        for (tag, end_tag) in OBJECT_TAGS {
            if end.is_none() && inner.take(&[tag])? {
                end = Some(end_tag);
                inner.skip_blanks();
            }
        }
        // The object may not have arrived yet.
        if end.is_some() {
            inner.is_done()?;
        }
        if !inner.rest().starts_with('{') {
            cursor.at = start;
            return Ok(None);
        }
        *cursor = inner;
        let ends = [self.tags.call_ends, self.tags.wrapper_ends].concat();
        let object = match value_end(cursor.rest(), 0, cursor.is_complete) {
            Some(end) => cursor.rest().get(..end).unwrap_or_default(),
            None if !cursor.is_complete => return Err(NoMatch::Incomplete),
            None => {
                state.has_unclosed_object = true;
                text_before_any(cursor.rest(), &ends).trim_end()
            }
        };
        cursor.skip(object.len());
        let end_tags = [self.tags.call_ends, end.as_slice()].concat();
        cursor.take_all_or_stay(&end_tags)?;
        Ok(Some(object.to_owned()))
    }

    /// Parses the text up to and including its end tag. Returns `None` if the text ends before.
    fn value<'t>(
        &self,
        cursor: &mut Cursor<'t>,
        state: &mut TagState,
        tool: &ToolDefinition,
    ) -> Result<Option<&'t str>, NoMatch> {
        let start = cursor.at;
        let ends = |after| self.is_value_end(after);
        let begins = |after| self.argument_start(after, tool);
        let Some(end) = self.tags.argument_end(cursor, state, ends, begins)? else {
            return Ok(None);
        };
        cursor.at = end.end;
        let value = cursor.text.get(start..end.start);
        let value = value.map(|value| {
            if end.is_empty() { without_other_end_tag(self.before_tag(value)) } else { value }
        });
        if let Some(value) = value.filter(|_| end.is_empty()) {
            state.is_ambiguous |= may_hold_tag(value);
        }
        state.add_argument_in(value.unwrap_or_default(), &self.tags, tool);
        Ok(value)
    }

    /// Returns true if more markup follows the end tag of an argument.
    fn is_value_end(&self, mut after: Cursor<'_>) -> Result<bool, NoMatch> {
        after.skip_blanks();
        Ok(after.is_done()?
            || after.is_truncated_token(&self.next())
            || after.take(self.tags.call_ends)?
            || after.take(self.tags.argument)?
            || after.take(self.tags.wrapper_ends)?)
    }

    /// Returns what a tag of an argument begins, judged by the name in it.
    fn argument_start(
        &self,
        mut after: Cursor<'_>,
        tool: &ToolDefinition,
    ) -> Result<ArgumentStart, NoMatch> {
        let head = match after.head('>') {
            Err(NoMatch::Incomplete) if after.is_complete => return Ok(ArgumentStart::Known),
            Err(NoMatch::Text) => return Ok(ArgumentStart::None),
            head => head?,
        };
        let start = self.split_name(head).map(|(key, _)| ArgumentStart::of(tool, key));
        Ok(start.unwrap_or(ArgumentStart::None))
    }

    /// Returns a value whose end tag is missing without the line break and the blanks before the
    /// next tag.
    fn before_tag<'t>(&self, value: &'t str) -> &'t str {
        let lines = value.trim_end_matches([' ', '\t']);
        match self.style {
            Style::Attribute if !value.starts_with(['\r', '\n']) => without_last_line_break(value),
            // The line break is markup of every value.
            _ if lines.ends_with('\n') => lines,
            _ => value,
        }
    }

    /// Returns the text without the line breaks that are markup.
    fn without_line_breaks<'t>(&self, value: &'t str) -> &'t str {
        let line = |value: &'t str| value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n'));
        let begins = line(value);
        let inner = begins.unwrap_or(value);
        let ends = inner.strip_suffix('\n').map(|inner| inner.strip_suffix('\r').unwrap_or(inner));
        match self.style {
            Style::Equals => ends.unwrap_or(inner),
            Style::Attribute if begins.is_some() => ends.unwrap_or(value),
            Style::Attribute => value,
        }
    }
}
