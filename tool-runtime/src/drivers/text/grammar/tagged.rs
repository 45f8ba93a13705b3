//! Tags for the call and for each argument, with plain text in them.

use std::ops::Range;

use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use super::{Cursor, Typed, first_of, up_to};
use crate::message::ToolCall;
use crate::tool::ToolDefinition;

/// More arguments than any tool has.
const MOST: usize = 64;

/// How a tag says what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drivers::text) enum Style {
    /// `<function=NAME>`, and a line break next to each tag is markup.
    Equals,
    /// `<invoke name="NAME">`.
    Attribute,
}

/// A format whose calls are tags.
#[derive(Debug)]
pub(in crate::drivers::text) struct Tagged {
    pub(in crate::drivers::text) name: &'static str,
    pub(in crate::drivers::text) openers: &'static [Opener],
    pub(in crate::drivers::text) style: Style,
    /// What stands around calls.
    pub(in crate::drivers::text) around: &'static [&'static str],
    pub(in crate::drivers::text) around_ends: &'static [&'static str],
    /// How the tag of a call begins, and what ends the call.
    pub(in crate::drivers::text) call: &'static [&'static str],
    pub(in crate::drivers::text) call_ends: &'static [&'static str],
    /// The same for an argument.
    pub(in crate::drivers::text) argument: &'static [&'static str],
    pub(in crate::drivers::text) argument_ends: &'static [&'static str],
}

/// Where the next end tag of an argument is, which is looked for once, whoever asks for it.
#[derive(Debug)]
enum Next {
    Unknown,
    At(Range<usize>),
    Nowhere,
}

impl Format for Tagged {
    fn name(&self) -> &str {
        self.name
    }

    fn openers(&self) -> &[Opener] {
        self.openers
    }

    fn read(&self, rest: Rest<'_>, offered: &Offered<'_>) -> Result<Found, Miss> {
        let mut cursor = Cursor::new(rest);
        cursor.take_all(self.around)?;
        let mut calls = Vec::new();
        let mut next = Next::Unknown;
        loop {
            if cursor.is_done()? || !cursor.take(self.call)? {
                break;
            }
            calls.push(self.call(&mut cursor, &mut next, offered)?);
            let end = cursor.at;
            cursor.skip_blanks();
            if cursor.is_done()? || !cursor.take_all(self.around_ends)? && !self.goes_on(&cursor)? {
                cursor.at = end;
                break;
            }
            if cursor.since(end).trim().is_empty() {
                continue;
            }
            cursor.at = end + cursor.since(end).trim_end().len();
            break;
        }
        match calls.is_empty() {
            true => Err(Miss::Text),
            false => Ok(Found::Calls { calls, end: cursor.at }),
        }
    }
}

impl Tagged {
    fn goes_on(&self, cursor: &Cursor<'_>) -> Result<bool, Miss> {
        Cursor { ..*cursor }.take(self.call)
    }

    /// What the rest of a tag names, and the rest of that rest.
    fn named<'t>(&self, head: &'t str) -> Option<(&'t str, &'t str)> {
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

    fn call(
        &self,
        cursor: &mut Cursor<'_>,
        next: &mut Next,
        offered: &Offered<'_>,
    ) -> Result<ToolCall, Miss> {
        let (name, _) = self.named(cursor.head('>')?).ok_or(Miss::Text)?;
        let tool = offered.find(name).ok_or(Miss::Text)?;
        let arguments = self.arguments(cursor, next, tool)?;
        offered.call(&tool.name, arguments).ok_or(Miss::Broken)
    }

    fn arguments(
        &self,
        cursor: &mut Cursor<'_>,
        next: &mut Next,
        tool: &ToolDefinition,
    ) -> Result<String, Miss> {
        let mut typed = Typed::new(tool);
        for _ in 0..MOST {
            cursor.skip_blanks();
            // Nothing says that no more were to come.
            if cursor.is_done()? {
                return Ok(typed.finish(false));
            }
            if cursor.take(self.call_ends)? {
                return Ok(typed.finish(true));
            }
            if self.around_ends.iter().any(|end| cursor.rest().starts_with(end)) {
                return Ok(typed.finish(true));
            }
            if !cursor.take(self.argument)? {
                let may_end = |end: &&str| !cursor.is_end && end.starts_with(cursor.rest());
                let is_cut = self.around_ends.iter().any(may_end);
                return Err(if is_cut { Miss::More } else { Miss::Broken });
            }
            let head = match cursor.head('>') {
                Err(Miss::More) if cursor.is_end => {
                    cursor.skip(cursor.rest().len());
                    return Ok(typed.finish(false));
                }
                head => head?,
            };
            let (key, more) = self.named(head).ok_or(Miss::Broken)?;
            let Some(value) = self.value(cursor, next)? else {
                typed.cut(key, self.plain(cursor.rest()));
                cursor.skip(cursor.rest().len());
                return Ok(typed.finish(false));
            };
            let value = self.plain(value);
            // DeepSeek says itself what is text.
            if more.contains("string=\"true\"") {
                typed.text(key, value);
            } else {
                typed.raw(key, value);
            }
        }
        Err(Miss::Broken)
    }

    /// The text up to its end tag, and past that. None where the text ends before.
    fn value<'t>(&self, cursor: &mut Cursor<'t>, next: &mut Next) -> Result<Option<&'t str>, Miss> {
        if let Some(end) = self.end(cursor, next)? {
            let value = cursor.text.get(cursor.at..end.start).unwrap_or_default();
            // Where an argument begins on a line of its own, the end tag before it is missing.
            let begins: Vec<_> = self.argument.iter().map(|begin| format!("\n{begin}")).collect();
            let missing = first_of(value, begins.iter().map(String::as_str));
            let missing = missing.map(|begin| begin.start + 1);
            cursor.at = missing.map_or(end.end, |at| cursor.at + at);
            return Ok(missing.map_or(Some(value), |at| value.get(..at)));
        }
        if !cursor.is_end {
            return Err(Miss::More);
        }
        // The end tag is missing, or the text was cut off.
        let rest = cursor.rest();
        let value = up_to(rest, &[self.argument, self.call_ends].concat());
        if value.len() == rest.len() {
            return Ok(None);
        }
        cursor.skip(value.len());
        Ok(Some(value))
    }

    /// The next end tag of an argument: one behind which more markup stands.
    fn end(&self, cursor: &Cursor<'_>, next: &mut Next) -> Result<Option<Range<usize>>, Miss> {
        match next {
            Next::At(end) if end.start >= cursor.at => return Ok(Some(end.clone())),
            Next::Nowhere => return Ok(None),
            _ => {}
        }
        let mut after = *cursor;
        while let Some(end) = first_of(after.rest(), self.argument_ends.iter().copied()) {
            let end = after.at + end.start..after.at + end.end;
            after.at = end.end;
            after.skip_blanks();
            let is_end = after.is_done()?
                || after.take(self.call_ends)?
                || after.take(self.argument)?
                || after.take(self.around_ends)?;
            if is_end {
                *next = Next::At(end.clone());
                return Ok(Some(end));
            }
        }
        *next = Next::Nowhere;
        Ok(None)
    }

    /// The text without the line breaks that are markup.
    fn plain<'t>(&self, value: &'t str) -> &'t str {
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
