//! Reads strings with a prefix, as Python and SQL write them: `u'…'`, `r'…'`, `b'…'`, `f'…'`.
//!
//! - `u` adds nothing, `r` keeps every backslash, and `b` is text unless it has escapes.
//! - A template (`f`) lacks the values of its placeholders, and other prefixes have no meaning that
//!   is known here: both are refused.

use std::ops::Range;

use super::lookahead::Plausibility;
use crate::FixKind;
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::parser::Parser;

pub(in crate::recover) const TEMPLATE: &str =
    "this string is a template: write the text that results, in plain double quotes";
const BYTES: &str = "this string has escaped bytes: write its text, in plain double quotes";
const RAW: &str = "it is not clear what the backslashes in this raw string stand for: write it in plain double quotes, with each backslash twice";
const OTHER: &str = "this string has a prefix: write its text, in plain double quotes";

/// The meaning of a prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StringPrefix {
    Plain,
    Raw,
    Bytes,
    Template,
    Other,
}

impl StringPrefix {
    fn of(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "u" => Self::Plain,
            "r" | "ur" => Self::Raw,
            "b" | "br" | "rb" => Self::Bytes,
            "f" | "fr" | "rf" | "t" | "tr" | "rt" => Self::Template,
            "e" | "l" | "n" | "q" | "x" => Self::Other,
            _ => return None,
        })
    }
}

impl<B: Builder> Parser<'_, '_, B> {
    /// The length of the prefix at `at`, if a quote follows it.
    pub(in crate::recover) fn prefix_before_quote(&self, at: usize) -> Option<usize> {
        let bytes = self.source().rest_bytes(at);
        let len = bytes.iter().take(3).position(|byte| matches!(byte, b'"' | b'\''))?;
        StringPrefix::of(self.source().slice(at..at + len))?;
        Some(len)
    }

    /// Returns whether a template follows the quote that ends at `at`, as in Python: `"a" f"{b}"`.
    pub(in crate::recover) fn is_before_template(&self, at: usize) -> bool {
        let next = self.source().skip_whitespace(at);
        let next = match self.source().byte(next) {
            Some(b'+') => self.source().skip_whitespace(next + 1),
            _ if next > at => next,
            _ => return false,
        };
        self.prefix_before_quote(next).is_some_and(|len| {
            StringPrefix::of(self.source().slice(next..next + len)) == Some(StringPrefix::Template)
        })
    }

    /// The length of the prefix at `at`, if a quoted string follows that ends a key or a value.
    pub(in crate::recover) fn string_prefix_len(&mut self, at: usize) -> Option<usize> {
        let len = self.prefix_before_quote(at)?;
        let quote = at + len;
        let (style, _) = self.source().quote(quote)?;
        // Three quotes open and end a string together; two are a string.
        let run = self.source().rest_bytes(quote).iter().take(4);
        let run = run.take_while(|byte| self.source().byte(quote) == Some(**byte)).count();
        if run > 2 {
            let (triple, rest) = (self.source().slice(quote..quote + 3), self.source().rest(quote));
            self.use_fuel(rest.len());
            return rest.get(3..)?.contains(triple).then_some(len);
        }
        let mut end = quote + 1;
        loop {
            let Some(step) = style.next_special(self.source().rest_bytes(end)) else {
                // The text may end in the string.
                return (!self.source().rest(end).contains(['}', ']', ','])).then_some(len);
            };
            self.use_fuel_between(end, end + step);
            end += step;
            match self.source().byte(end)? {
                b'\\' => end += 1 + self.source().char(end + 1).map_or(0, char::len_utf8),
                byte if byte < b' ' => end += 1,
                _ => break,
            }
        }
        let is_end =
            self.is_colon(end + 1) || self.value_end_plausibility(end + 1) > Plausibility::No;
        is_end.then_some(len)
    }

    /// Reads the string behind a prefix of `len` bytes.
    pub(in crate::recover) fn read_prefixed_string(
        &mut self,
        len: usize,
        is_key: bool,
    ) -> Result<(String, Range<usize>), RecoveryError> {
        let start = self.position();
        let prefix = StringPrefix::of(self.source().slice(start..start + len));
        match prefix {
            Some(StringPrefix::Template) => return Err(self.error(TEMPLATE)),
            None | Some(StringPrefix::Other) => return Err(self.error(OTHER)),
            _ => self.bump_with_fix(FixKind::StringPrefix, len)?,
        }
        let (text, span) = self.read_string(is_key)?;
        let written = self.source().slice(span.clone());
        let quote = written.chars().next().unwrap_or('"');
        let raw = written.trim_matches(quote);
        match prefix {
            Some(StringPrefix::Bytes) if raw.contains('\\') => {
                Err(RecoveryError::syntax(start, BYTES))
            }
            Some(StringPrefix::Raw) if raw.contains('\\') => {
                let has_escapes = raw.contains("\\\\") || raw.contains(&format!("\\{quote}"));
                if has_escapes || text.contains(quote) {
                    return Err(RecoveryError::syntax(start, RAW));
                }
                Ok((raw.to_owned(), span))
            }
            _ => Ok((text, span)),
        }
    }
}
