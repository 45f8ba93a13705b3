//! Strings that lack their last quote: where they ended.

use super::{
    ahead::is_name,
    build::Build,
    ending::Fit,
    keys::Keys,
    parser::{Kind, Parser},
    refusal::Refusal,
    string::{End, Inner, TWO_READINGS},
};
use crate::json::UnreadableKind;

impl<B: Build> Parser<'_, '_, B> {
    /// Whether the quote at `at` opens the next key, so that the string ended before: where it
    /// ended, if it did. What is between is a comma or a line break.
    pub(super) fn ends_before(
        &mut self,
        start: usize,
        at: usize,
        inner: &mut Inner,
    ) -> Result<Option<usize>, Refusal> {
        if self.kind() != Some(Kind::Object) {
            return Ok(None);
        }
        let content = self.source.slice(start..at);
        let text = content.trim_end();
        // `"first, second: "x"`, where the schema knows the second.
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
        if self.value_begins(colon) < Fit::Strong {
            return Ok(None);
        }
        self.count(at, inner);
        if inner.depth > 0 {
            return Ok(None);
        }
        let known = self.knows(self.source.slice(at..key_end));
        // A quote of another kind, another comma, or quotes within may be its end.
        let before = self.source.slice(start..start + stop);
        let is_paired = inner.count.is_multiple_of(2) && before.ends_with(['}', ']']);
        let is_odd = inner.count > 0 && !is_paired || has_odd_end(before);
        match (known, is_odd) {
            (Some(false), _) => Ok(None),
            (_, true) => {
                let at = if inner.count > 0 { inner.first } else { start + stop };
                Err(Refusal::new(UnreadableKind::Syntax, at, TWO_READINGS))
            }
            (_, false) => Ok(Some(start + stop)),
        }
    }

    /// No quote ended the string, so the text did.
    pub(super) fn without_end(
        &mut self,
        start: usize,
        is_key: bool,
        inner: &Inner,
    ) -> Result<(usize, End), Refusal> {
        let end = self.source.end();
        let content = self.source.slice(start..end);
        let closers = self.closers_at_end(content);
        let unsettled = Refusal::new(
            UnreadableKind::Syntax,
            start,
            "this string never ends: put a quote at its end",
        );
        if is_key {
            // What is cut off inside a key has no colon yet.
            let Some((name, value)) = content.split_once(':') else {
                // Behind a quote that may have ended it, or brackets, there was more than a key.
                if inner.count > 0 {
                    let what = "expected `:` behind this quote, if it ends the key";
                    return Err(Refusal::syntax(inner.first, what));
                }
                return if closers.is_none() { Ok((end, End::Cut)) } else { Err(unsettled) };
            };
            // `{"key: 1}`, `{'key": 1}`
            let name = name.trim_end();
            let word = name.trim_end_matches(['"', '\'']);
            let is_one = closers.is_some() && is_name(word) && !value.contains([',', ':', '"']);
            if inner.count > 0 || !is_one || inner.has_escapes || name.len() > word.len() + 1 {
                return Err(unsettled);
            }
            let is_missing = name.len() == word.len();
            let end = if is_missing { End::Missing } else { End::Quote(1) };
            return Ok((start + word.len(), end));
        }
        // An unpaired quote may as well have ended it, with something lost behind.
        let has_doubt =
            inner.is_open || inner.is_doubtful || inner.count % 2 == 1 || closers.is_some();
        let is_part = self.stack.is_empty() && content.contains(['{', '}', '[', ']']);
        if inner.count > 0 && (has_doubt || self.stack.is_empty()) || is_part {
            return Err(Refusal::new(UnreadableKind::Syntax, inner.first.max(start), TWO_READINGS));
        }
        // The brackets at the end may close those of the text itself.
        let is_balanced = |text: &str| {
            let count = |brackets: [char; 2]| text.matches(brackets).count();
            count(['{', '[']) == count(['}', ']'])
        };
        let Some(text) = closers else {
            self.settled(start, end, inner)?;
            let is_closed = content.trim_end().ends_with(['}', ']']);
            let has_quotes = content.contains(['"', '\'']);
            let has_doubt = is_closed && has_quotes && !is_balanced(content);
            return if has_doubt { Err(unsettled) } else { Ok((end, End::Cut)) };
        };
        if !is_balanced(text) {
            return if is_balanced(content) { Ok((end, End::Cut)) } else { Err(unsettled) };
        }
        // `"first, second: 1}` may be one member or two, unless the schema knows the second.
        for (comma, _) in text.match_indices(',') {
            if self.kind() != Some(Kind::Object) {
                return Err(unsettled);
            }
            let key = self.source.skip_blanks(start + comma + 1);
            if let Some((key_end, _)) = self.key_ahead(key) {
                let is_known = self.is_known(self.source.slice(key..key_end));
                let before = text.get(..comma).unwrap_or_default();
                let is_end = is_known && inner.count == 0 && !has_odd_end(before);
                return if is_end { Ok((start + comma, End::Missing)) } else { Err(unsettled) };
            }
        }
        // It may have been cut off as well, just behind brackets of its own.
        self.truncated = true;
        let text = text.trim_end();
        if has_odd_end(text) && inner.count == 0 {
            return Err(unsettled);
        }
        Ok((start + text.len(), End::Missing))
    }

    /// Refuses a string that ends in an odd way at `stop` if an escaped quote in it may be its end:
    /// that of a path, `"C:\dir\"}, "b": "…`.
    pub(super) fn settled(
        &mut self,
        start: usize,
        stop: usize,
        inner: &Inner,
    ) -> Result<(), Refusal> {
        if !inner.has_escapes {
            return Ok(());
        }
        let mut counted = Inner { counted: start, ..Inner::default() };
        let mut at = start;
        while let Some(step) = self.source.slice(at..stop).find('\\') {
            let quote = at + step + 1;
            at = quote + self.source.char(quote).map_or(1, char::len_utf8);
            if self.source.byte(quote) != Some(b'"') {
                continue;
            }
            self.count(quote, &mut counted);
            let is_last = self.source.skip_blanks(at) >= self.source.end();
            if counted.depth <= 0 && !is_last && self.value_fits(at) > Fit::Weak {
                return Err(Refusal::new(UnreadableKind::Syntax, quote, TWO_READINGS));
            }
        }
        Ok(())
    }

    /// `content` without the closers of all that is open, if it ends with just these.
    pub(super) fn closers_at_end<'c>(&self, content: &'c str) -> Option<&'c str> {
        let mut rest = content;
        for frame in &self.stack {
            rest = rest.trim_end().strip_suffix(char::from(frame.kind.closer()))?;
        }
        (!self.stack.is_empty()).then_some(rest)
    }

    /// Whether the schema has the key, quoted or not, at this place.
    fn knows(&self, key: &str) -> Option<bool> {
        let key = key.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        Keys::knows(&self.stack.last()?.parts, key)
    }

    fn is_known(&self, key: &str) -> bool {
        self.knows(key) == Some(true)
    }
}

/// Whether the end of a string that lacks its quote may be another quote, or is nothing.
fn has_odd_end(text: &str) -> bool {
    text.is_empty() || text.ends_with(['"', '\'', '`', '”', '’', ','])
}
