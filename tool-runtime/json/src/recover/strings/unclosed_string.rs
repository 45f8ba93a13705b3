//! Finds the ends of strings without a closing quote.

use super::lookahead::Plausibility;
use super::string::{InnerQuotes, StringEnd, TWO_READINGS};
use crate::recover::RecoveryError;
use crate::recover::builder::Builder;
use crate::recover::containers::ContainerKind;
use crate::recover::parser::Parser;
use crate::recover::schema_keys::SchemaKeys;
use crate::recover::source::QuoteStyle;
use crate::recover::tokens::word::is_name;

impl<B: Builder> Parser<'_, '_, B> {
    /// Returns the end of the string if the quote at `at` opens the next key, after a comma or a
    /// line break.
    pub(in crate::recover) fn end_before_key(
        &mut self,
        start: usize,
        at: usize,
        inner: &mut InnerQuotes,
    ) -> Result<Option<usize>, RecoveryError> {
        if self.kind() != Some(ContainerKind::Object) {
            return Ok(None);
        }
        let content = self.source().slice(start..at);
        let text = content.trim_end();
        // `"first, second: "x"`, if the schema knows the second key.
        if inner.count == 0
            && let Some((before, key)) =
                text.strip_suffix(':').and_then(|text| text.rsplit_once(','))
            && is_name(key.trim())
            && self.is_known(key)
            && !before.is_empty()
        {
            return Ok(Some(start + before.len()));
        }
        let stop = match text.strip_suffix(',') {
            Some(text) => text.len(),
            None if content.get(text.len()..).is_some_and(|blank| blank.contains('\n')) => {
                text.len()
            }
            None => return Ok(None),
        };
        if stop == 0 {
            return Ok(None);
        }
        let Some((key_end, colon)) = self.key_ahead(at) else { return Ok(None) };
        if self.value_plausibility(colon) < Plausibility::Strong {
            return Ok(None);
        }
        self.count_brackets(at, inner);
        if inner.depth > 0 {
            return Ok(None);
        }
        let known = self.has_schema_key(self.source().slice(at..key_end));
        // A different quote, another comma, or inner quotes may be the end instead.
        let before = self.source().slice(start..start + stop);
        let is_paired = inner.count.is_multiple_of(2) && before.ends_with(['}', ']']);
        let is_odd = inner.count > 0 && !is_paired || has_irregular_end(before);
        match (known, is_odd) {
            (Some(false), _) => Ok(None),
            (_, true) => {
                let at = if inner.count > 0 { inner.first } else { start + stop };
                Err(RecoveryError::syntax(at, TWO_READINGS))
            }
            (_, false) => Ok(Some(start + stop)),
        }
    }

    /// Returns the end of a string that no quote closed.
    pub(in crate::recover) fn end_without_quote(
        &mut self,
        start: usize,
        is_key: bool,
        inner: &InnerQuotes,
    ) -> Result<(usize, StringEnd), RecoveryError> {
        let end = self.source().end();
        let content = self.source().slice(start..end);
        let closers = self.strip_closers(content);
        let unclear =
            RecoveryError::syntax(start, "this string never ends: put a quote at its end");
        if is_key {
            // A key that is cut off has no colon yet.
            let Some((name, value)) = content.split_once(':') else {
                // After a quote that may have closed it, or brackets, there was more than a key.
                if inner.count > 0 {
                    let reason = "expected `:` after this quote, if it ends the key";
                    return Err(RecoveryError::syntax(inner.first, reason));
                }
                return if closers.is_none() {
                    Ok((end, StringEnd::Truncated))
                } else {
                    Err(unclear)
                };
            };
            // `{"key: 1}`, `{'key": 1}`
            let name = name.trim_end();
            let word = name.trim_end_matches(['"', '\'']);
            let is_single_key =
                closers.is_some() && is_name(word) && !value.contains([',', ':', '"']);
            if inner.count > 0 || !is_single_key || inner.has_escapes || name.len() > word.len() + 1
            {
                return Err(unclear);
            }
            let is_missing = name.len() == word.len();
            let end = if is_missing { StringEnd::Missing } else { StringEnd::Quote(1) };
            return Ok((start + word.len(), end));
        }
        // An unpaired quote may have closed the string, with lost content after it.
        let has_doubt =
            inner.is_open || inner.is_doubtful || inner.count % 2 == 1 || closers.is_some();
        let is_part = self.containers().is_empty() && content.contains(['{', '}', '[', ']']);
        if inner.count > 0 && (has_doubt || self.containers().is_empty()) || is_part {
            return Err(RecoveryError::syntax(inner.first.max(start), TWO_READINGS));
        }
        // The brackets at the end may belong to the text of the string.
        let is_balanced = |text: &str| {
            let count = |brackets: [char; 2]| text.matches(brackets).count();
            count(['{', '[']) == count(['}', ']'])
        };
        let Some(text) = closers else {
            self.check_escaped_quotes(start, end, inner)?;
            let is_closed = content.trim_end().ends_with(['}', ']']);
            let has_quotes = content.contains(['"', '\'']);
            let has_doubt = is_closed && has_quotes && !is_balanced(content);
            return if has_doubt { Err(unclear) } else { Ok((end, StringEnd::Truncated)) };
        };
        if !is_balanced(text) {
            return if is_balanced(content) {
                Ok((end, StringEnd::Truncated))
            } else {
                Err(unclear)
            };
        }
        // `"first, second: 1}` may be one member or two, unless the schema knows the second key.
        for (comma, _) in text.match_indices(',') {
            if self.kind() != Some(ContainerKind::Object) {
                return Err(unclear);
            }
            let key = self.source().skip_whitespace(start + comma + 1);
            if let Some((key_end, _)) = self.key_ahead(key) {
                let is_known = self.is_known(self.source().slice(key..key_end));
                let before = text.get(..comma).unwrap_or_default();
                let is_end = is_known && inner.count == 0 && !has_irregular_end(before);
                return if is_end { Ok((start + comma, StringEnd::Missing)) } else { Err(unclear) };
            }
        }
        // The text may also have been cut off, right after brackets that it opened.
        self.set_truncated();
        let text = text.trim_end();
        if has_irregular_end(text) && inner.count == 0 {
            return Err(unclear);
        }
        Ok((start + text.len(), StringEnd::Missing))
    }

    /// Refuses a string with an irregular end at `stop` if an escaped quote in it may be its end,
    /// as in the path `"C:\dir\"}, "b": "…`.
    pub(in crate::recover) fn check_escaped_quotes(
        &mut self,
        start: usize,
        stop: usize,
        inner: &InnerQuotes,
    ) -> Result<(), RecoveryError> {
        if !inner.has_escapes {
            return Ok(());
        }
        let mut counted = InnerQuotes { counted: start, ..InnerQuotes::default() };
        let mut at = start;
        while let Some(step) = self.source().slice(at..stop).find('\\') {
            let quote = at + step + 1;
            at = quote + self.source().char(quote).map_or(1, char::len_utf8);
            if self.source().byte(quote) != Some(b'"') {
                continue;
            }
            self.count_brackets(quote, &mut counted);
            let is_last = self.source().skip_whitespace(at) >= self.source().end();
            if counted.depth <= 0
                && !is_last
                && self.value_end_plausibility(at) > Plausibility::Weak
            {
                return Err(RecoveryError::syntax(quote, TWO_READINGS));
            }
        }
        Ok(())
    }

    /// Removes the closing brackets of all open containers from the end of `content`, if they
    /// match.
    pub(in crate::recover) fn strip_closers<'c>(&self, content: &'c str) -> Option<&'c str> {
        let mut rest = content;
        for closer in self.containers().closers() {
            rest = rest.trim_end().strip_suffix(char::from(closer))?;
        }
        (!self.containers().is_empty()).then_some(rest)
    }

    /// Returns whether the schema declares the key, quoted or not, at this location.
    fn has_schema_key(&self, key: &str) -> Option<bool> {
        let key = key.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        SchemaKeys::has_key(self.containers().subschemas()?, key)
    }

    fn is_known(&self, key: &str) -> bool {
        self.has_schema_key(key) == Some(true)
    }
}

/// Returns whether the end of a string without a closing quote is empty or may be another quote.
fn has_irregular_end(text: &str) -> bool {
    text.is_empty() || text.ends_with(|c| c == ',' || QuoteStyle::of(c).is_some())
}
