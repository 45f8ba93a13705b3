//! The grammar of formats with tags around each call and each argument, and plain text inside them.

use std::ops::Range;

use super::super::{Format, Input, Match, NoMatch, StartMarker, ToolLookup};
use super::stray_tag::{ends_with_stray_tag, may_hold_tag, without_other_end_tag};
use super::style::{Head, Style};
use super::tags::{ArgumentStart, TaggedCall};
use super::{
    ArgumentBuilder, Cursor, TagSet, TagState, beginning, find_first, text_before_any, value_end,
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
        let is_wrapped = cursor.take_all(self.tags.wrappers)?;
        cursor.take_all(self.tags.before_call)?;
        let mut calls = Vec::new();
        let mut state = TagState::default();
        // The end of the last call.
        let mut end = 0;
        while !cursor.is_done()? && cursor.take(self.tags.call)? {
            let mut call = match self.call(&mut cursor, &mut state, tools) {
                Ok(call) => call,
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
            };
            end = cursor.at;
            let has_next = !state.has_unclosed_object
                && self.skip_to_next_call(&mut cursor, is_wrapped, &mut call.leftover)?;
            calls.push(call);
            if !has_next {
                break;
            }
        }
        self.tags.finish(cursor, calls, &state)
    }
}

impl TaggedFormat {
    /// Returns the tags that may come next inside a call.
    fn next(&self) -> Vec<&'static str> {
        [self.tags.call_ends, self.tags.argument, self.tags.wrapper_ends].concat()
    }

    /// Moves to the tag of the next call, or else to the end of the calls, and returns whether
    /// there is a next one. Text between calls in the same wrapper is added to `leftover`.
    fn skip_to_next_call(
        &self,
        cursor: &mut Cursor<'_>,
        is_wrapped: bool,
        leftover: &mut String,
    ) -> Result<bool, NoMatch> {
        // The scanner parses the next call, because it limits how often a text is read to its end.
        if self.tags.wrappers.is_empty() {
            return Ok(false);
        }
        let markers = [self.tags.begins(), self.tags.wrapper_ends.to_vec()].concat();
        loop {
            cursor.take_all_or_stay(self.tags.call_ends)?;
            let end = cursor.at;
            cursor.skip_blanks();
            if cursor.is_done()? {
                cursor.at = end;
                return Ok(false);
            }
            if cursor.take_all(self.tags.wrapper_ends)? {
                cursor.at = end + cursor.since(end).trim_end().len();
                return Ok(false);
            }
            cursor.take_all(self.tags.before_call)?;
            if (Cursor { ..*cursor }).take(self.tags.call)? {
                return Ok(true);
            }
            let text = if is_wrapped { cursor.skip_to(&markers)? } else { None };
            // A wrapper that begins here is another one: the last one was not closed.
            let is_next = self.tags.wrappers.iter().any(|tag| cursor.rest().starts_with(tag));
            let Some(text) = text.filter(|_| !is_next) else {
                cursor.at = end;
                return Ok(false);
            };
            leftover.push(' ');
            leftover.push_str(text);
        }
    }

    fn call<'d>(
        &self,
        cursor: &mut Cursor<'_>,
        state: &mut TagState,
        tools: &ToolLookup<'d>,
    ) -> Result<TaggedCall<'d>, NoMatch> {
        let head = self.style.call_head(cursor)?;
        let callee = tools.callee(&head.name).ok_or(NoMatch::Text)?;
        state.add_leftover(&self.style.call_leftover(&head, callee.tool));
        let arguments = self.arguments(cursor, state, callee.tool)?;
        Ok(state.call(callee, arguments))
    }

    fn arguments(
        &self,
        cursor: &mut Cursor<'_>,
        state: &mut TagState,
        tool: &ToolDefinition,
    ) -> Result<String, NoMatch> {
        if self.style != Style::Elements
            && let Some(object) = self.object(cursor, state)?
        {
            return Ok(object);
        }
        let mut builder = ArgumentBuilder::new(tool);
        for _ in 0..MAX_ARGUMENTS {
            cursor.take_all(self.style.fillers())?;
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
            let Some((head, has_tag)) = self.argument_head(cursor, state, tool)? else {
                cursor.skip_all();
                return Ok(builder.finish(false));
            };
            let Some(value) = self.value(cursor, state, tool)? else {
                let value = without_partial_marker(cursor.rest(), self.tags.argument_ends);
                builder.truncated(&head.name, self.style.without_line_breaks(value));
                cursor.skip_all();
                return Ok(builder.finish(false));
            };
            state.is_ambiguous |= !has_tag && may_hold_tag(value);
            if head.holds_tag() {
                state.add_leftover(beginning(value, MAX_QUOTED_LEN));
            }
            let value = self.style.without_line_breaks(value);
            // The tag may be the end of the argument under its own name, or a part of it.
            state.is_ambiguous |= ends_with_stray_tag(value, &head.name, tool);
            match head.is_text() {
                Some(true) => builder.text(&head.name, value),
                Some(false) if serde_json::from_str::<String>(value).is_ok() => {
                    builder.json(&head.name, value);
                }
                _ => builder.raw(&head.name, value),
            }
            // Each further argument would be searched to the end of the text.
            if state.is_endless() {
                state.add_leftover(cursor.rest());
                cursor.skip_all();
                return Ok(builder.finish(false));
            }
        }
        Err(NoMatch::Malformed)
    }

    /// Parses the head of an argument, up to its value, and returns whether the tag of the value is
    /// there. Returns `None` if the head is truncated.
    fn argument_head<'t>(
        &self,
        cursor: &mut Cursor<'t>,
        state: &mut TagState,
        tool: &ToolDefinition,
    ) -> Result<Option<(Head<'t>, bool)>, NoMatch> {
        let head = match self.style.argument_head(cursor) {
            Err(NoMatch::Incomplete) if cursor.is_complete => return Ok(None),
            head => head?.ok_or(NoMatch::Malformed)?,
        };
        state.is_ambiguous |= head.is_damaged();
        state.add_leftover(&self.style.argument_leftover(&head, tool));
        if self.tags.value.is_empty() {
            return Ok(Some((head, true)));
        }
        cursor.take_all(self.style.fillers())?;
        if cursor.is_truncated_token(self.tags.value) {
            return Ok(None);
        }
        if cursor.take(self.tags.value)? {
            return Ok(Some((head, true)));
        }
        // Text between the key and its value.
        let TagSet { value, argument, argument_ends, call_ends, .. } = self.tags;
        let tags = [value, argument, argument_ends, call_ends].concat();
        let rest = cursor.rest();
        let tag = find_first(rest, tags.iter().copied());
        if tag.is_none() && !cursor.is_complete {
            return Err(NoMatch::Incomplete);
        }
        let is_value =
            |tag: &Range<usize>| rest.get(tag.clone()).is_some_and(|it| value.contains(&it));
        let Some(tag) = tag.filter(is_value) else { return Ok(Some((head, false))) };
        state.add_leftover(rest.get(..tag.start).unwrap_or_default());
        cursor.skip(tag.end);
        Ok(Some((head, true)))
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
        cursor.at = end.next;
        let mut value = cursor.text.get(start..end.tag.start).unwrap_or_default();
        if end.tag.is_empty() {
            value = without_other_end_tag(self.style.before_tag(value));
            state.is_ambiguous |= may_hold_tag(value);
        }
        state.add_leftover(cursor.since(end.tag.end).trim());
        state.add_argument_in(value, &self.tags, tool);
        Ok(Some(value))
    }

    /// Returns true if more markup follows the end tag of an argument.
    fn is_value_end(&self, mut after: Cursor<'_>) -> Result<bool, NoMatch> {
        after.take_all(self.style.fillers())?;
        let next = self.next();
        Ok(after.is_done()? || after.is_truncated_token(&next) || after.take(&next)?)
    }

    /// Returns what a tag of an argument begins, judged by the name in it.
    fn argument_start(
        &self,
        mut after: Cursor<'_>,
        tool: &ToolDefinition,
    ) -> Result<ArgumentStart, NoMatch> {
        match self.style.argument_head(&mut after) {
            Err(NoMatch::Incomplete) if after.is_complete => Ok(ArgumentStart::Known),
            Err(NoMatch::Text) => Ok(ArgumentStart::None),
            head => Ok(head?.map_or(ArgumentStart::None, |it| ArgumentStart::of(tool, &it.name))),
        }
    }
}
