//! Arguments that talk about calls: the tags in them, counted with their ends.

use std::ops::Range;

use super::super::{Found, Miss, Offered};
use super::arguments::cut_off;
use super::{Cursor, first_of};
use crate::tool::ToolDefinition;

/// How many arguments without an end are looked at to the end of the text: of more of them none is sure.
const MOST_ENDLESS: usize = 8;

/// The tags of a format whose arguments are plain text.
#[derive(Clone, Copy, Debug)]
pub(in crate::drivers::text) struct Nesting {
    /// What stands around calls, if anything does.
    pub(in crate::drivers::text) around: &'static [&'static str],
    pub(in crate::drivers::text) around_ends: &'static [&'static str],
    pub(in crate::drivers::text) call: &'static [&'static str],
    pub(in crate::drivers::text) call_ends: &'static [&'static str],
    pub(in crate::drivers::text) argument: &'static [&'static str],
    pub(in crate::drivers::text) argument_ends: &'static [&'static str],
}

/// What was begun within an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inner {
    Call,
    Argument,
}

/// Calls that were begun within an argument, and their arguments: the first is always a call.
#[derive(Debug, Default)]
struct Open {
    list: Vec<Inner>,
    arguments: usize,
}

impl Open {
    fn begin(&mut self, inner: Inner) {
        self.arguments += usize::from(inner == Inner::Argument);
        self.list.push(inner);
    }

    /// Ends the last of these, and all in it.
    fn end(&mut self, inner: Inner) {
        while let Some(last) = self.list.pop() {
            self.arguments -= usize::from(last == Inner::Argument);
            if last == inner {
                break;
            }
        }
    }
}

/// What was seen in the arguments of the calls that are read together.
#[derive(Debug, Default)]
pub(in crate::drivers::text) struct Seen {
    /// How often all of the text had no end for one.
    endless: usize,
    /// Whether one may go on behind the end tag that was taken for its own.
    is_doubtful: bool,
}

/// Where an argument may end.
#[derive(Debug, Default)]
struct Ends {
    /// Where an end tag is missing, if it has none.
    missing: Option<usize>,
    open: Open,
    /// Where the last tag ends.
    last: usize,
}

impl Nesting {
    /// The end tag of the argument whose text begins here, with all calls in it before that; nothing but a
    /// place where it is missing, since another argument `begins` or the call ends. None where the argument
    /// is cut off.
    ///
    /// A tag that `ends` no argument, by what stands behind it, is part of the text. Where a call in the text
    /// has no end, it may be but told of, or cut off: the next end tag is taken, and that is doubtful.
    pub(in crate::drivers::text) fn end<'t>(
        &self,
        cursor: &Cursor<'t>,
        seen: &mut Seen,
        ends: impl Fn(Cursor<'t>) -> Result<bool, Miss>,
        begins: impl Fn(Cursor<'t>) -> Result<bool, Miss>,
    ) -> Result<Option<Range<usize>>, Miss> {
        let mut found = Ends::default();
        if seen.endless < MOST_ENDLESS {
            let end = self.walk(cursor, Some(&mut found), &ends, &begins)?;
            if end.is_some() {
                return Ok(end);
            }
            seen.endless += 1;
            if let Some(missing) = found.missing {
                return Ok(Some(missing..missing));
            }
            // It goes on behind all that was begun in it.
            let mut behind = Cursor { at: found.last.max(cursor.at), ..*cursor };
            behind.take_all(self.around_ends)?;
            behind.skip_blanks();
            if found.open.list.is_empty() && !behind.is_done()? {
                return Ok(None);
            }
        }
        seen.is_doubtful = true;
        self.walk(cursor, None, &ends, &begins)
    }

    /// Along the text, and what is in it, if that is to be counted.
    fn walk<'t>(
        &self,
        cursor: &Cursor<'t>,
        mut found: Option<&mut Ends>,
        ends: &impl Fn(Cursor<'t>) -> Result<bool, Miss>,
        begins: &impl Fn(Cursor<'t>) -> Result<bool, Miss>,
    ) -> Result<Option<Range<usize>>, Miss> {
        let words = [self.call, self.call_ends, self.argument, self.argument_ends].concat();
        let mut after = *cursor;
        while let Some(tag) = first_of(after.rest(), words.iter().copied()) {
            let start = after.at + tag.start;
            after.at += tag.end;
            let word = after.since(start);
            if let Some(found) = &mut found {
                found.last = after.at;
            }
            let mut open = found.as_mut().map(|found| &mut found.open);
            let is_inner = open.as_ref().is_some_and(|open| !open.list.is_empty());
            let mut is_missing = false;
            if self.call.contains(&word) {
                if let Some(open) = open {
                    open.begin(Inner::Call);
                }
            } else if self.call_ends.contains(&word) {
                match open {
                    Some(open) if is_inner => open.end(Inner::Call),
                    _ => is_missing = cursor.is_end && self.is_call_end(after),
                }
            } else if self.argument_ends.contains(&word) {
                match &mut open {
                    Some(open) if open.arguments > 0 => open.end(Inner::Argument),
                    _ if ends(after)? => return Ok(Some(start..after.at)),
                    _ => {}
                }
            } else if let Some(open) = open.filter(|_| is_inner) {
                open.begin(Inner::Argument);
            } else if after.text.get(..start).is_some_and(|text| text.ends_with('\n')) {
                if begins(after)? {
                    return Ok(Some(start..start));
                }
            } else {
                is_missing = cursor.is_end && begins(after)?;
            }
            if is_missing {
                match &mut found {
                    Some(found) => _ = found.missing.get_or_insert(start),
                    None => return Ok(Some(start..start)),
                }
            }
        }
        if cursor.is_end { Ok(None) } else { Err(Miss::More) }
    }

    /// Whether the end tag of a call, at the end of the text, looks like that of one that was called: what
    /// stands around it ends as well, or nothing follows, or another call.
    fn is_call_end(&self, mut after: Cursor<'_>) -> bool {
        let is_around = after.take_all(self.around_ends) == Ok(true);
        after.skip_blanks();
        let rest = after.rest();
        let begins = || self.around.iter().chain(self.call).any(|word| rest.starts_with(word));
        is_around || rest.is_empty() || begins()
    }

    /// These calls, up to here, and the end tags that are left over behind them.
    pub(in crate::drivers::text) fn finish(
        &self,
        mut cursor: Cursor<'_>,
        calls: Vec<(&ToolDefinition, String)>,
        seen: &Seen,
        offered: &Offered<'_>,
    ) -> Result<Found, Miss> {
        if calls.is_empty() {
            return Err(Miss::Text);
        }
        let is_doubtful = self.skip_left_over(&mut cursor)? || seen.is_doubtful;
        let calls = calls.into_iter().map(|(tool, arguments)| {
            let arguments = if is_doubtful { cut_off(arguments) } else { arguments };
            offered.call(&tool.name, arguments).ok_or(Miss::Broken)
        });
        Ok(Found::Calls { calls: calls.collect::<Result<_, _>>()?, end: cursor.at })
    }

    /// Goes past the end tags that nothing began, behind calls and before anything that begins one, and says
    /// whether there are any that make it doubtful where the arguments of those calls end. More than one
    /// end tag of the call itself doesn't, where nothing stands between.
    fn skip_left_over(&self, cursor: &mut Cursor<'_>) -> Result<bool, Miss> {
        let begins = [self.around, self.call].concat();
        let ends = [self.around_ends, self.call_ends, self.argument_ends].concat();
        let words = || begins.iter().chain(&ends).copied();
        let (mut after, mut is_doubtful) = (*cursor, false);
        while let Some(found) = first_of(after.rest(), words()) {
            let (from, start) = (after.at, after.at + found.start);
            after.at += found.end;
            let word = after.since(start);
            if begins.contains(&word) {
                return Ok(is_doubtful);
            }
            let between = after.text.get(from..start).unwrap_or_default();
            is_doubtful |= self.argument_ends.contains(&word) || !between.trim().is_empty();
            cursor.at = after.at;
        }
        if cursor.is_end { Ok(is_doubtful) } else { Err(Miss::More) }
    }
}
