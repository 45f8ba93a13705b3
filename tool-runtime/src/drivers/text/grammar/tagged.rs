//! Tags for the call and for each argument, with plain text in them.

use super::super::{Format, Found, Miss, Offered, Opener, Rest};
use super::{Cursor, Nesting, Seen, Typed, without_begun};
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
    /// How the tags of calls and arguments begin, and what ends these.
    pub(in crate::drivers::text) tags: Nesting,
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
        cursor.take_all(self.tags.around)?;
        let mut calls = Vec::new();
        let mut seen = Seen::default();
        // Behind the last call.
        let mut end = 0;
        loop {
            if cursor.is_done()? || !cursor.take(self.tags.call)? {
                break;
            }
            match self.call(&mut cursor, &mut seen, offered) {
                Ok(call) => calls.push(call),
                // Those before it stand.
                Err(Miss::Text | Miss::Broken) if !calls.is_empty() => {
                    cursor.at = end;
                    break;
                }
                Err(Miss::More) if cursor.is_end && !calls.is_empty() => {
                    cursor.skip_all();
                    break;
                }
                Err(miss) => return Err(miss),
            }
            end = cursor.at;
            cursor.skip_blanks();
            if cursor.is_done()?
                || !cursor.take_all(self.tags.around_ends)? && !self.goes_on(&cursor)?
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
        self.tags.finish(cursor, calls, &seen, offered)
    }
}

impl Tagged {
    /// What may be next within a call.
    fn next(&self) -> Vec<&'static str> {
        [self.tags.call_ends, self.tags.argument, self.tags.around_ends].concat()
    }

    fn goes_on(&self, cursor: &Cursor<'_>) -> Result<bool, Miss> {
        Cursor { ..*cursor }.take(self.tags.call)
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

    fn call<'d>(
        &self,
        cursor: &mut Cursor<'_>,
        seen: &mut Seen,
        offered: &Offered<'d>,
    ) -> Result<(&'d ToolDefinition, String), Miss> {
        let (name, _) = self.named(cursor.head('>')?).ok_or(Miss::Text)?;
        let tool = offered.find(name).ok_or(Miss::Text)?;
        Ok((tool, self.arguments(cursor, seen, tool)?))
    }

    fn arguments(
        &self,
        cursor: &mut Cursor<'_>,
        seen: &mut Seen,
        tool: &ToolDefinition,
    ) -> Result<String, Miss> {
        let mut typed = Typed::new(tool);
        for _ in 0..MOST {
            cursor.skip_blanks();
            // Nothing says that no more were to come.
            if cursor.is_done()? {
                return Ok(typed.finish(false));
            }
            if cursor.take(self.tags.call_ends)? {
                return Ok(typed.finish(true));
            }
            if self.tags.around_ends.iter().any(|end| cursor.rest().starts_with(end)) {
                return Ok(typed.finish(true));
            }
            if cursor.is_cut(&self.next()) {
                cursor.skip_all();
                return Ok(typed.finish(false));
            }
            if !cursor.take(self.tags.argument)? {
                let may_end = |end: &&str| !cursor.is_end && end.starts_with(cursor.rest());
                let is_cut = self.tags.around_ends.iter().any(may_end);
                return Err(if is_cut { Miss::More } else { Miss::Broken });
            }
            let head = match cursor.head('>') {
                Err(Miss::More) if cursor.is_end => {
                    cursor.skip_all();
                    return Ok(typed.finish(false));
                }
                head => head?,
            };
            let (key, more) = self.named(head).ok_or(Miss::Broken)?;
            let Some(value) = self.value(cursor, seen, tool)? else {
                let value = without_begun(cursor.rest(), self.tags.argument_ends);
                typed.cut(key, self.plain(value));
                cursor.skip_all();
                return Ok(typed.finish(false));
            };
            let value = self.plain(value);
            // DeepSeek says itself what is text, and what is JSON.
            let is_json = more.contains("string=\"false\"");
            if more.contains("string=\"true\"") {
                typed.text(key, value);
            } else if is_json && serde_json::from_str::<String>(value).is_ok() {
                typed.json(key, value);
            } else {
                typed.raw(key, value);
            }
        }
        Err(Miss::Broken)
    }

    /// The text up to its end tag, and past that. None where the text ends before.
    fn value<'t>(
        &self,
        cursor: &mut Cursor<'t>,
        seen: &mut Seen,
        tool: &ToolDefinition,
    ) -> Result<Option<&'t str>, Miss> {
        let start = cursor.at;
        let ends = |after| self.is_end(after);
        let begins = |after| self.is_argument(after, tool);
        let Some(end) = self.tags.end(cursor, seen, ends, begins)? else { return Ok(None) };
        cursor.at = end.end;
        Ok(cursor.text.get(start..end.start))
    }

    /// Whether what stands behind an end tag of an argument is more markup.
    fn is_end(&self, mut after: Cursor<'_>) -> Result<bool, Miss> {
        after.skip_blanks();
        Ok(after.is_done()?
            || after.is_cut(&self.next())
            || after.take(self.tags.call_ends)?
            || after.take(self.tags.argument)?
            || after.take(self.tags.around_ends)?)
    }

    /// Whether the tag of which this is the rest begins an argument that the tool has.
    fn is_argument(&self, mut after: Cursor<'_>, tool: &ToolDefinition) -> Result<bool, Miss> {
        let head = match after.head('>') {
            Err(Miss::More) if after.is_end => return Ok(true),
            Err(Miss::Text) => return Ok(false),
            head => head?,
        };
        let known = tool.parameters.as_value().get("properties");
        let is_known = |key| known.is_none_or(|known| known.get(key).is_some());
        Ok(self.named(head).is_some_and(|(key, _)| is_known(key)))
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
