//! The tags of a format, and the end of an argument that may contain markup: nested tags are
//! matched with their end tags.

use std::ops::Range;

use super::super::callee::Callee;
use super::super::leftover::{add_leftover, is_argument};
use super::super::truncation::truncate;
use super::super::{Match, NoMatch};
use super::{Cursor, beginning, find_first};
use crate::tool::ToolDefinition;

/// The number of arguments without an end that are searched to the end of the text. With more of
/// them, no end is certain.
const MAX_ENDLESS: usize = 8;

/// The longest text after an end tag in a value in which a parameter is searched, in bytes. More of
/// it is a document that has the tag.
const MAX_PROSE_LEN: usize = 256;

/// The tags of a format whose arguments are plain text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagSet {
    /// Tags around all calls; empty if there are none.
    pub(crate) wrappers: &'static [&'static str],
    pub(crate) wrapper_ends: &'static [&'static str],
    /// Markers before the tag of each call.
    pub(crate) before_call: &'static [&'static str],
    pub(crate) call: &'static [&'static str],
    pub(crate) call_ends: &'static [&'static str],
    pub(crate) argument: &'static [&'static str],
    /// Tags between the head of an argument and its value.
    pub(crate) value: &'static [&'static str],
    pub(crate) argument_ends: &'static [&'static str],
}

/// The end of an argument.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentEnd {
    /// The end tag; empty if it is missing.
    pub(crate) tag: Range<usize>,
    /// The position of the markup that follows. Text before it is a leftover.
    pub(crate) next: usize,
}

/// The kind of a tag that may begin the next argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentStart {
    /// The tag begins an argument that the tool takes.
    Known,
    /// The tag begins an argument that the tool does not take: its name is wrong, or the tag is a
    /// part of the value.
    Unknown,
    /// The tag begins no argument.
    None,
}

impl ArgumentStart {
    /// Judges a tag by the name of its argument.
    pub(crate) fn of(tool: &ToolDefinition, key: &str) -> Self {
        let known = tool.parameters.as_value().get("properties");
        let is_known = known.is_none_or(|known| known.get(key).is_some());
        if is_known { Self::Known } else { Self::Unknown }
    }
}

/// A tag that was opened inside an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NestedTag {
    Call,
    Argument,
}

/// The calls that were opened inside an argument, and their arguments; the first is always a call.
#[derive(Debug, Default)]
struct OpenTags {
    list: Vec<NestedTag>,
    arguments: usize,
}

impl OpenTags {
    fn open(&mut self, inner: NestedTag) {
        self.arguments += usize::from(inner == NestedTag::Argument);
        self.list.push(inner);
    }

    /// Closes the last tag of this kind, and all tags inside it.
    fn close(&mut self, inner: NestedTag) {
        while let Some(last) = self.list.pop() {
            self.arguments -= usize::from(last == NestedTag::Argument);
            if last == inner {
                break;
            }
        }
    }
}

/// State that calls parsed together share.
#[derive(Debug, Default)]
pub(crate) struct TagState {
    /// The number of arguments without an end.
    endless: usize,
    /// The number of arguments for which the end tags of the call were counted.
    counted: usize,
    /// True if an argument may continue after the end tag that was taken for its own.
    pub(crate) is_ambiguous: bool,
    /// True if the brackets of an object with all arguments are not closed in the whole text.
    pub(crate) has_unclosed_object: bool,
    /// The leftover of the current call.
    leftover: String,
}

/// A call with its arguments and its leftover.
#[derive(Debug)]
pub(crate) struct TaggedCall<'d> {
    callee: Callee<'d>,
    arguments: String,
    pub(crate) leftover: String,
}

impl TagState {
    /// Returns true if so many arguments have no end that the call has none.
    pub(crate) fn is_endless(&self) -> bool {
        self.endless >= MAX_ENDLESS
    }

    /// Adds to the leftover of the current call.
    pub(crate) fn add_leftover(&mut self, text: &str) {
        if !self.leftover.is_empty() && !text.is_empty() {
            self.leftover.push(' ');
        }
        self.leftover.push_str(text);
    }

    /// Adds the text after an end tag that no tag in the value opens, if it is an argument or names
    /// a parameter: the value may end there. In quotes, the tag is a literal.
    pub(crate) fn add_argument_in(&mut self, value: &str, tags: &TagSet, tool: &ToolDefinition) {
        let all = [tags.argument, tags.argument_ends].concat();
        let Some(first) = find_first(value, all.iter().copied()) else { return };
        let (before, after) = (value.get(..first.start), value.get(first.end..));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let is_end = value.get(first).is_some_and(|tag| tags.argument_ends.contains(&tag));
        let is_literal =
            ["\"", "'", "`"].iter().any(|it| before.ends_with(it) && after.starts_with(it));
        let is_short = after.len() <= MAX_PROSE_LEN;
        let names_parameter = || {
            is_argument(after, tool)
                || begins_damaged_argument(after, tool)
                || is_short && tool.parameter_in(after).is_some()
        };
        if is_end && !is_literal && names_parameter() {
            self.add_leftover(after);
        }
    }

    /// Builds the current call.
    pub(crate) fn call<'d>(&mut self, callee: Callee<'d>, arguments: String) -> TaggedCall<'d> {
        TaggedCall { callee, arguments, leftover: std::mem::take(&mut self.leftover) }
    }
}

/// Returns true if a tag begins `text` in which a parameter is a value: `<arguments=KEY>`.
fn begins_damaged_argument(text: &str, tool: &ToolDefinition) -> bool {
    let head = text.trim_start().strip_prefix('<').map(|head| beginning(head, MAX_PROSE_LEN));
    let head = head.and_then(|head| head.split_once('>')).map_or("", |(head, _)| head);
    let values = head.split('=').skip(1).map(|value| value.trim_start_matches(['"', '\'']));
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut names = values.map(|value| value.split(|c| !is_of_name(c)).next().unwrap_or_default());
    names.any(|name| tool.has_parameter(name))
}

/// Candidates for the end of an argument.
#[derive(Debug, Default)]
struct EndCandidates {
    /// The end of an argument without an end tag before other markup.
    missing: Option<ArgumentEnd>,
    /// The last end tag that text follows.
    unended: Option<Range<usize>>,
    open: OpenTags,
    /// The end of the last tag.
    last: usize,
    /// True if the end tags of the call may be counted.
    may_count: bool,
    has_counted: bool,
    /// True if the value ends at an argument that the tool does not take.
    is_at_unknown: bool,
}

impl EndCandidates {
    /// Returns the end of an argument before the tag at `next`: its own end tag may precede text.
    fn before(&self, next: usize) -> ArgumentEnd {
        ArgumentEnd { tag: self.unended.clone().unwrap_or(next..next), next }
    }
}

impl TagSet {
    /// Returns the end of the argument that begins at `cursor`, after all calls inside it, or
    /// `None` for a truncated argument. If its end tag is missing, it ends where another argument
    /// `begins` or the call ends.
    ///
    /// A tag of an argument that the tool does not take is part of the value if the call has enough
    /// end tags for both. Otherwise the value ends there, and its end is ambiguous.
    ///
    /// An end tag for which `ends` is false, because text follows it, is part of the value if
    /// another end tag ends the argument. Otherwise it ends the argument, and the text is a
    /// leftover. If a call inside the argument has no end, it may be only mentioned, or truncated:
    /// the next end tag is taken, and the end of the argument is ambiguous.
    pub(crate) fn argument_end<'t>(
        &self,
        cursor: &Cursor<'t>,
        state: &mut TagState,
        ends: impl Fn(Cursor<'t>) -> Result<bool, NoMatch>,
        begins: impl Fn(Cursor<'t>) -> Result<ArgumentStart, NoMatch>,
    ) -> Result<Option<ArgumentEnd>, NoMatch> {
        let may_count = state.counted < MAX_ENDLESS;
        let mut found = EndCandidates { may_count, ..EndCandidates::default() };
        if !state.is_endless() {
            let end = self.find_end(cursor, &mut found, true, &ends, &begins)?;
            state.counted += usize::from(found.has_counted);
            if end.is_some() {
                state.is_ambiguous |= found.is_at_unknown;
                return Ok(end);
            }
            state.endless += 1;
            if found.missing.is_some() {
                return Ok(found.missing);
            }
            // The argument continues after all tags inside it.
            let mut after = Cursor { at: found.last.max(cursor.at), ..*cursor };
            after.take_all(self.wrapper_ends)?;
            after.skip_blanks();
            if found.open.list.is_empty() && !after.is_done()? {
                return Ok(self.unended(cursor, &found));
            }
        }
        state.is_ambiguous = true;
        let mut found = EndCandidates::default();
        let end = self.find_end(cursor, &mut found, false, &ends, &begins)?;
        Ok(end.or_else(|| self.unended(cursor, &found)))
    }

    /// Returns the end of an argument after whose end tag text follows, perhaps to the end of the
    /// text.
    fn unended(&self, cursor: &Cursor<'_>, found: &EndCandidates) -> Option<ArgumentEnd> {
        let tag = found.unended.as_ref()?;
        let after = cursor.text.get(tag.end..)?;
        let ends = [self.call_ends, self.wrapper_ends].concat();
        let next = find_first(after, ends.iter().copied()).map_or(after.len(), |it| it.start);
        Some(found.before(tag.end + next))
    }

    /// Searches the text for the end of an argument. `is_nested` is set to track nested calls.
    fn find_end<'t>(
        &self,
        cursor: &Cursor<'t>,
        found: &mut EndCandidates,
        is_nested: bool,
        ends: &impl Fn(Cursor<'t>) -> Result<bool, NoMatch>,
        begins: &impl Fn(Cursor<'t>) -> Result<ArgumentStart, NoMatch>,
    ) -> Result<Option<ArgumentEnd>, NoMatch> {
        // Decided once for a value: whether an unknown argument is a part of it.
        let mut holds_unknown = None;
        let tags =
            [self.call, self.call_ends, self.argument, self.value, self.argument_ends].concat();
        let mut after = *cursor;
        while let Some(tag) = find_first(after.rest(), tags.iter().copied()) {
            let start = after.at + tag.start;
            after.at += tag.end;
            let tag_text = after.since(start);
            found.last = after.at;
            let is_inner = !found.open.list.is_empty();
            let before_tag = found.before(start);
            if self.call.contains(&tag_text) {
                if is_nested {
                    found.open.open(NestedTag::Call);
                }
            } else if self.call_ends.contains(&tag_text) {
                if is_inner {
                    found.open.close(NestedTag::Call);
                } else if cursor.is_complete && (found.unended.is_some() || self.is_call_end(after))
                {
                    if !is_nested {
                        return Ok(Some(before_tag));
                    }
                    found.missing.get_or_insert(before_tag);
                }
            } else if self.argument_ends.contains(&tag_text) {
                if found.open.arguments > 0 {
                    found.open.close(NestedTag::Argument);
                } else if ends(after)? {
                    return Ok(Some(ArgumentEnd { tag: start..after.at, next: after.at }));
                } else {
                    found.unended = Some(start..after.at);
                }
            } else if is_inner {
                found.open.open(NestedTag::Argument);
            } else if self.argument.contains(&tag_text) {
                match begins(after)? {
                    ArgumentStart::Known => return Ok(Some(before_tag)),
                    ArgumentStart::Unknown if is_nested && holds_unknown.is_none() => {
                        let before = Cursor { at: start, ..after };
                        found.has_counted = true;
                        let has_ends = found.may_count && self.has_end_for_each(before, begins)?;
                        if !*holds_unknown.insert(has_ends) {
                            found.is_at_unknown = true;
                            return Ok(Some(before_tag));
                        }
                    }
                    ArgumentStart::Unknown | ArgumentStart::None => {}
                }
            }
        }
        if cursor.is_complete { Ok(None) } else { Err(NoMatch::Incomplete) }
    }

    /// Returns true if the call has an end tag for each argument that begins after the cursor, and
    /// one for the value before it.
    fn has_end_for_each<'t>(
        &self,
        mut after: Cursor<'t>,
        begins: &impl Fn(Cursor<'t>) -> Result<ArgumentStart, NoMatch>,
    ) -> Result<bool, NoMatch> {
        let tags = [self.argument, self.argument_ends, self.call_ends].concat();
        let (mut starts, mut ended) = (0, 0);
        while let Some(tag) = find_first(after.rest(), tags.iter().copied()) {
            let start = after.at + tag.start;
            after.at += tag.end;
            let tag_text = after.since(start);
            if self.call_ends.contains(&tag_text) {
                return Ok(ended > starts);
            } else if self.argument_ends.contains(&tag_text) {
                ended += 1;
            } else {
                starts += usize::from(begins(after)? != ArgumentStart::None);
            }
        }
        if after.is_complete { Ok(ended > starts) } else { Err(NoMatch::Incomplete) }
    }

    /// Returns the markers that begin a call.
    pub(crate) fn begins(&self) -> Vec<&'static str> {
        [self.wrappers, self.before_call, self.call].concat()
    }

    /// Returns true if the end tag of a call, at the end of the text, looks like that of a real
    /// call: the tag around it ends as well, or nothing follows, or another call.
    fn is_call_end(&self, mut after: Cursor<'_>) -> bool {
        let ends = [self.wrapper_ends, self.call_ends].concat();
        let has_end = after.take_all(&ends) == Ok(true);
        let rest = after.rest().trim_start();
        has_end || rest.is_empty() || self.begins().iter().any(|tag| rest.starts_with(tag))
    }

    /// Builds the calls and skips end tags that are left over after them.
    pub(crate) fn finish(
        &self,
        mut cursor: Cursor<'_>,
        calls: Vec<TaggedCall<'_>>,
        state: &TagState,
    ) -> Result<Match, NoMatch> {
        if calls.is_empty() {
            return Err(NoMatch::Text);
        }
        let leftover = self.skip_leftover_tags(&mut cursor)?;
        let is_ambiguous = leftover.is_some() || state.is_ambiguous;
        let calls = calls.into_iter().map(|TaggedCall { callee, arguments, leftover }| {
            let arguments = if is_ambiguous { truncate(arguments, callee.tool) } else { arguments };
            let mut call = callee.call(arguments).ok_or(NoMatch::Malformed)?;
            add_leftover(&mut call, &leftover);
            Ok(call)
        });
        let mut calls: Vec<_> = calls.collect::<Result<_, _>>()?;
        if let (Some(last), Some(leftover)) = (calls.last_mut(), leftover) {
            add_leftover(last, leftover);
        }
        Ok(Match::Calls { calls, end: cursor.at })
    }

    /// Skips end tags without a start tag, after the calls and before anything that begins a call.
    /// Returns the skipped text if it makes the end of the arguments ambiguous. Repeated end tags
    /// of the call itself, with nothing between them, don't.
    fn skip_leftover_tags<'t>(&self, cursor: &mut Cursor<'t>) -> Result<Option<&'t str>, NoMatch> {
        let begins = self.begins();
        let ends = [self.wrapper_ends, self.call_ends, self.argument_ends].concat();
        let tags = || begins.iter().chain(&ends).copied();
        let calls_end = cursor.at;
        let (mut after, mut is_ambiguous) = (*cursor, false);
        while let Some(found) = find_first(after.rest(), tags()) {
            let (from, start) = (after.at, after.at + found.start);
            after.at += found.end;
            let tag_text = after.since(start);
            if begins.contains(&tag_text) {
                return Ok(is_ambiguous.then(|| cursor.since(calls_end)));
            }
            let between = after.text.get(from..start).unwrap_or_default();
            is_ambiguous |= self.argument_ends.contains(&tag_text) || !between.trim().is_empty();
            cursor.at = after.at;
        }
        let skipped = is_ambiguous.then(|| cursor.since(calls_end));
        if cursor.is_complete { Ok(skipped) } else { Err(NoMatch::Incomplete) }
    }
}
