//! Arguments that contain markup: nested tags are matched with their end tags.

use std::ops::Range;

use super::super::callee::Callee;
use super::super::leftover::{add_leftover, is_argument};
use super::super::truncation::truncate;
use super::super::{Match, NoMatch};
use super::{Cursor, find_first};
use crate::tool::ToolDefinition;

/// The number of arguments without an end that are searched to the end of the text. With more of
/// them, no end is certain.
const MAX_ENDLESS: usize = 8;

/// The tags of a format whose arguments are plain text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagSet {
    /// Tags around the calls; empty if there are none.
    pub(crate) wrappers: &'static [&'static str],
    pub(crate) wrapper_ends: &'static [&'static str],
    pub(crate) call: &'static [&'static str],
    pub(crate) call_ends: &'static [&'static str],
    pub(crate) argument: &'static [&'static str],
    /// Tags between the head of an argument and its value; empty if there are none.
    pub(crate) value: &'static [&'static str],
    pub(crate) argument_ends: &'static [&'static str],
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
    leftover: String,
}

impl TagState {
    /// Adds to the leftover of the current call.
    pub(crate) fn add_leftover(&mut self, text: &str) {
        if !self.leftover.is_empty() && !text.is_empty() {
            self.leftover.push(' ');
        }
        self.leftover.push_str(text);
    }

    /// Adds an argument that a value holds after an end tag that no tag in the value opens: the
    /// value may end there.
    pub(crate) fn add_argument_in(&mut self, value: &str, tags: &TagSet, tool: &ToolDefinition) {
        let all = [tags.argument, tags.argument_ends].concat();
        let Some(first) = find_first(value, all.iter().copied()) else { return };
        let after = value.get(first.end..).unwrap_or_default();
        let is_end = value.get(first).is_some_and(|tag| tags.argument_ends.contains(&tag));
        if is_end && is_argument(after, tool) {
            self.add_leftover(after);
        }
    }

    /// Builds the current call.
    pub(crate) fn call<'d>(&mut self, callee: Callee<'d>, arguments: String) -> TaggedCall<'d> {
        TaggedCall { callee, arguments, leftover: std::mem::take(&mut self.leftover) }
    }
}

/// Candidates for the end of an argument.
#[derive(Debug, Default)]
struct EndCandidates {
    /// The position of a missing end tag.
    missing: Option<usize>,
    open: OpenTags,
    /// The end of the last tag.
    last: usize,
    /// True if the end tags of the call may be counted.
    may_count: bool,
    has_counted: bool,
    /// True if the value ends at an argument that the tool does not take.
    is_at_unknown: bool,
}

impl TagSet {
    /// Returns the end tag of the argument that begins at `cursor`, after all calls inside it. If
    /// the tag is missing, because another argument `begins` or the call ends, the range is empty.
    /// Returns `None` for a truncated argument.
    ///
    /// A tag of an argument that the tool does not take is part of the value if the call has enough
    /// end tags for both. Otherwise the value ends there, and its end is ambiguous.
    ///
    /// A tag for which `ends` is false, judged by the text after it, is part of the argument. If a
    /// call inside the argument has no end, it may be only mentioned, or truncated: the next end
    /// tag is taken, and the end of the argument is ambiguous.
    pub(crate) fn argument_end<'t>(
        &self,
        cursor: &Cursor<'t>,
        state: &mut TagState,
        ends: impl Fn(Cursor<'t>) -> Result<bool, NoMatch>,
        begins: impl Fn(Cursor<'t>) -> Result<ArgumentStart, NoMatch>,
    ) -> Result<Option<Range<usize>>, NoMatch> {
        let may_count = state.counted < MAX_ENDLESS;
        let mut found = EndCandidates { may_count, ..EndCandidates::default() };
        if state.endless < MAX_ENDLESS {
            let end = self.find_end(cursor, Some(&mut found), &ends, &begins)?;
            state.counted += usize::from(found.has_counted);
            if end.is_some() {
                state.is_ambiguous |= found.is_at_unknown;
                return Ok(end);
            }
            state.endless += 1;
            if let Some(missing) = found.missing {
                return Ok(Some(missing..missing));
            }
            // The argument continues after all tags inside it.
            let mut after = Cursor { at: found.last.max(cursor.at), ..*cursor };
            after.take_all(self.wrapper_ends)?;
            after.skip_blanks();
            if found.open.list.is_empty() && !after.is_done()? {
                return Ok(None);
            }
        }
        state.is_ambiguous = true;
        self.find_end(cursor, None, &ends, &begins)
    }

    /// Searches the text for the end tag. `found` is set to track nested calls.
    fn find_end<'t>(
        &self,
        cursor: &Cursor<'t>,
        mut found: Option<&mut EndCandidates>,
        ends: &impl Fn(Cursor<'t>) -> Result<bool, NoMatch>,
        begins: &impl Fn(Cursor<'t>) -> Result<ArgumentStart, NoMatch>,
    ) -> Result<Option<Range<usize>>, NoMatch> {
        // Decided once for a value: whether an unknown argument is a part of it.
        let mut holds_unknown = None;
        let tags =
            [self.call, self.call_ends, self.argument, self.value, self.argument_ends].concat();
        let mut after = *cursor;
        while let Some(tag) = find_first(after.rest(), tags.iter().copied()) {
            let start = after.at + tag.start;
            after.at += tag.end;
            let tag_text = after.since(start);
            if let Some(found) = &mut found {
                found.last = after.at;
            }
            let mut open = found.as_mut().map(|found| &mut found.open);
            let is_inner = open.as_ref().is_some_and(|open| !open.list.is_empty());
            let mut is_missing = false;
            if self.call.contains(&tag_text) {
                if let Some(open) = open {
                    open.open(NestedTag::Call);
                }
            } else if self.call_ends.contains(&tag_text) {
                match open {
                    Some(open) if is_inner => open.close(NestedTag::Call),
                    _ => is_missing = cursor.is_complete && self.is_call_end(after),
                }
            } else if self.argument_ends.contains(&tag_text) {
                match &mut open {
                    Some(open) if open.arguments > 0 => open.close(NestedTag::Argument),
                    _ if ends(after)? => return Ok(Some(start..after.at)),
                    _ => {}
                }
            } else if let Some(open) = open.filter(|_| is_inner) {
                open.open(NestedTag::Argument);
            } else if self.argument.contains(&tag_text) {
                match begins(after)? {
                    ArgumentStart::Known => return Ok(Some(start..start)),
                    ArgumentStart::None => {}
                    ArgumentStart::Unknown => {
                        if let Some(found) = found.as_mut().filter(|_| holds_unknown.is_none()) {
                            let before = Cursor { at: start, ..after };
                            found.has_counted = true;
                            let has_ends =
                                found.may_count && self.has_end_for_each(before, begins)?;
                            if !*holds_unknown.insert(has_ends) {
                                found.is_at_unknown = true;
                                return Ok(Some(start..start));
                            }
                        }
                    }
                }
            }
            if is_missing {
                match &mut found {
                    Some(found) => _ = found.missing.get_or_insert(start),
                    None => return Ok(Some(start..start)),
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

    /// Returns true if the end tag of a call, at the end of the text, looks like that of a real
    /// call: the tag around it ends as well, or nothing follows, or another call.
    fn is_call_end(&self, mut after: Cursor<'_>) -> bool {
        let has_wrapper_end = after.take_all(self.wrapper_ends) == Ok(true);
        after.skip_blanks();
        let rest = after.rest();
        let begins =
            || self.wrappers.iter().chain(self.call).any(|tag_text| rest.starts_with(tag_text));
        has_wrapper_end || rest.is_empty() || begins()
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
        let begins = [self.wrappers, self.call].concat();
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
