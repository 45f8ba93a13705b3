//! Arguments that talk about calls: the tags in them, counted with their ends.

use std::ops::Range;

use super::super::Miss;
use super::{Cursor, first_of};

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

impl Nesting {
    /// The end tag of the argument whose text begins here, with all calls in it before that; nothing but a
    /// place where it is missing, since another argument `begins`. None where the rest of the text has
    /// no such end.
    ///
    /// A tag that `ends` no argument, by what stands behind it, is part of the text.
    pub(in crate::drivers::text) fn end<'t>(
        &self,
        cursor: &Cursor<'t>,
        ends: impl Fn(Cursor<'t>) -> Result<bool, Miss>,
        begins: impl Fn(Cursor<'t>) -> Result<bool, Miss>,
    ) -> Result<Option<Range<usize>>, Miss> {
        let words = [self.call, self.call_ends, self.argument, self.argument_ends].concat();
        let mut open = Open::default();
        let mut after = *cursor;
        while let Some(found) = first_of(after.rest(), words.iter().copied()) {
            let start = after.at + found.start;
            after.at += found.end;
            let word = after.since(start);
            if self.call.contains(&word) {
                open.begin(Inner::Call);
            } else if self.call_ends.contains(&word) {
                open.end(Inner::Call);
            } else if self.argument.contains(&word) {
                if !open.list.is_empty() {
                    open.begin(Inner::Argument);
                } else if after.text.get(..start).is_some_and(|text| text.ends_with('\n'))
                    && begins(after)?
                {
                    return Ok(Some(start..start));
                }
            } else if open.arguments > 0 {
                open.end(Inner::Argument);
            } else if ends(after)? {
                return Ok(Some(start..after.at));
            }
        }
        if cursor.is_end { Ok(None) } else { Err(Miss::More) }
    }

    /// Goes past the end tags that nothing began, behind calls and before anything that begins one, and says
    /// whether there are any that make it doubtful where the arguments of those calls end. More than one
    /// end tag of the call itself doesn't, where nothing stands between.
    pub(in crate::drivers::text) fn skip_left_over(
        &self,
        cursor: &mut Cursor<'_>,
    ) -> Result<bool, Miss> {
        let begins = [self.around, self.call].concat();
        let words =
            [begins.as_slice(), self.around_ends, self.call_ends, self.argument_ends].concat();
        let (mut after, mut is_doubtful) = (*cursor, false);
        while let Some(found) = first_of(after.rest(), words.iter().copied()) {
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
