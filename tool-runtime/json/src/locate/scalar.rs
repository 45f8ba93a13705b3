//! Scalars at the root, which count only if nothing but markup surrounds them.

use serde_json::Value;

use super::{
    bracketed::{begins_scalar, scalar_len},
    candidate::RECOVERY_STEPS,
    candidate_value::CandidateValue,
    scan::{Scan, Segment},
};
use crate::{
    Fix, FixKind, ParseErrorKind,
    parsed::JsonText,
    recover::{ValueBuilder, recover},
    whitespace::{is_json_whitespace, is_non_json_whitespace},
};

impl Scan<'_, '_> {
    pub(super) fn scan_scalar(&mut self) {
        let rest = self.rest();
        let len = scalar_len(rest);
        *self.steps += len.map_or(rest.len(), |len| 2 * len);
        let json = len.and_then(|len| rest.get(..len)).unwrap_or_default().to_owned();
        if let Ok(value) = serde_json::from_str(&json)
            && !self.precedes_plus(self.at + json.len())
            && !self.has_sole_inner_quote()
        {
            let span = self.at..self.at + json.len();
            let candidate = CandidateValue::valid(value, JsonText::Ready(json), span);
            return self.add_candidate(candidate, false);
        }
        let end = self.value_limit();
        let reach = end - self.at;
        if let Some(attempts) = self.attempts.checked_sub(1) {
            self.attempts = attempts;
            *self.steps += RECOVERY_STEPS * reach;
            let mode = self.mode(false);
            match recover::<ValueBuilder>(self.text, self.at, end, mode, self.steps) {
                Ok(read) if self.only_markup_follows(read.end) => {
                    let span = self.at..read.end;
                    let text = self.text.get(span.start..end).unwrap_or_default().to_owned();
                    let json = JsonText::deferred(text, false);
                    let (fixes, truncated) = (read.fixes, read.truncated);
                    let is_expected =
                        self.is_after_opening_fence() && self.expected.allows(&read.value);
                    let value = read.value;
                    let candidate =
                        CandidateValue { value, json, span, escaped: false, fixes, truncated };
                    return self.add_candidate(candidate, is_expected);
                }
                Err(error)
                    if error.kind != ParseErrorKind::NoValue && self.only_markup_follows(end) =>
                {
                    self.scalar_error.get_or_insert(error);
                }
                _ => {}
            }
        }
        self.discard(FixKind::Prose, rest.chars().next().map_or(1, char::len_utf8));
    }

    /// Returns whether the text is one string with a quote in it: `"a 24" screen"`.
    fn has_sole_inner_quote(&self) -> bool {
        let rest = self.rest();
        let is_string = rest.starts_with('"') && rest.trim_end().ends_with('"');
        is_string && rest.bytes().filter(|&byte| byte == b'"').take(4).count() == 3
    }

    /// Returns whether the text begins with a sentence in backticks rather than with code.
    pub(super) fn starts_backtick_text(&self) -> bool {
        let inside = self.rest().strip_prefix('`').unwrap_or_default();
        self.segments.is_empty()
            && inside.starts_with(char::is_alphanumeric)
            && inside.trim_end().ends_with(['`', '´', '\'', '’'])
    }

    fn precedes_plus(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.trim_start_matches(is_json_whitespace).starts_with('+')
    }

    /// Returns whether a code fence was just opened: its content may be a tuple.
    pub(super) fn is_after_opening_fence(&self) -> bool {
        self.in_fence
            && self.segments.last().is_some_and(|segment| segment.kind == Some(FixKind::Fence))
    }

    /// Returns whether the text so far is a function name before the bracket here, and a scalar
    /// follows the bracket: `name("Oslo");`.
    pub(super) fn is_sole_call(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default().trim_end();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let after = self.rest().get(1..).unwrap_or_default().trim_start_matches(is_json_whitespace);
        if !after.starts_with(begins_scalar) || self.segments.len() > 4 {
            return false;
        }
        let prose =
            self.segments.iter().filter(|segment| segment.kind == Some(FixKind::Prose)).count();
        let is_alone = self.segments.last().is_some_and(|segment| {
            segment.span.end - segment.span.start >= name.len()
                && segment.span.len() <= name.len() + 1
        });
        !name.is_empty() && prose == 1 && is_alone
    }

    /// Adds the scalar that is the only argument of a call.
    pub(super) fn scan_scalar_in_call(&mut self) {
        let rest = self.rest();
        *self.steps += 3 * rest.len();
        let inside = rest.get(1..).unwrap_or_default();
        let tail = inside.trim_end().trim_end_matches(';').trim_end();
        let argument = tail.strip_suffix(')').unwrap_or_default();
        let json = argument.trim();
        let Ok(value) = serde_json::from_str::<Value>(json) else {
            return self.discard(FixKind::Prose, 1);
        };
        let start = self.at + 1 + (argument.len() - argument.trim_start().len());
        let span = start..start + json.len();
        self.segments.pop();
        let name = self.text.get(..self.at).unwrap_or_default().trim_end();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let first = name.trim_end_matches(is_name).len();
        self.segments.push(Segment::new(FixKind::Call, first..start));
        let json = JsonText::Ready(json.to_owned());
        let end = self.text.trim_end().len();
        self.add_candidate(CandidateValue::valid(value, json, span), false);
        self.discard(FixKind::Call, end - self.at);
    }

    /// Adds a string that was escaped one level too often and is alone in the text: `\"Oslo\"`.
    pub(super) fn scan_escaped_text(&mut self) -> bool {
        let rest = self.rest().trim_end();
        if !rest.starts_with("\\\"") {
            return false;
        }
        *self.steps += 2 * rest.len();
        let span = self.at..self.at + rest.len();
        let mut json = rest.replace("\\\"", "\"");
        let mut fixes = Vec::new();
        if let Some(body) = json.strip_suffix('\\')
            && !body.contains(['{', '[', ':'])
        {
            // The text was cut off inside the closing quote.
            json = format!("{body}\"");
            fixes.push(Fix::new(FixKind::TruncatedText, span.clone()));
        }
        let Ok(value @ Value::String(_)) = serde_json::from_str(&json) else {
            return false;
        };
        let json = JsonText::Ready(json);
        let truncated = !fixes.is_empty();
        self.add_candidate(
            CandidateValue { value, json, span, escaped: true, fixes, truncated },
            false,
        );
        true
    }

    /// Returns whether at most closing markup or a comment follows `at`.
    fn only_markup_follows(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        let rest = rest.trim_start_matches(|c: char| {
            is_json_whitespace(c) || is_non_json_whitespace(c) || matches!(c, ',' | ';')
        });
        rest.is_empty()
            || rest.starts_with(['`', '<', '~'])
            || rest.starts_with("/*")
            || rest.starts_with("//")
    }
}
