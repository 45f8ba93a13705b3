//! The candidates: values found in the text, parsed or recovered.

use std::ops::Range;

use serde_json::Value;

use super::{
    bracketed::Bracketed,
    candidate_value::CandidateValue,
    scan::{Damage, Scan, Segment},
};
use crate::{
    Fix, FixKind, Options,
    parsed::JsonText,
    recover::{RecoveryMode, ValueBuilder, recover, recover_from},
    whitespace::is_json_whitespace,
};

/// The maximum length of a placeholder in bytes.
const MAX_PLACEHOLDER_LEN: usize = 256;

/// The steps per byte of the recovery parser, besides its lookaheads, which it counts itself.
pub(super) const RECOVERY_STEPS: usize = 3;

/// The spans of `name(` and of `)`.
type CallSpan = (Range<usize>, Range<usize>);

impl<'t> Scan<'t, '_> {
    pub(super) fn scan_bracketed(&mut self) {
        let rest = self.rest();
        // The strict pass has shown that this value is invalid, so recovery starts at once.
        let is_first = self.starts_damaged && self.segments.is_empty();
        if is_first && !starts_with_word(rest) {
            let reach = rest.len();
            self.starts_damaged = false;
            return self.recover_bracketed(reach, true);
        }
        let Some(bracketed) = Bracketed::at(rest) else {
            *self.steps += rest.len();
            if self.recover_escaped(rest.trim_end()) {
                return;
            }
            return self.recover_bracketed(rest.len(), false);
        };
        let len = bracketed.text.len();
        *self.steps += len * if bracketed.escaped { 5 } else { 2 };
        match bracketed.parse() {
            Ok(_) if self.continues_with_member(len) => self.recover_bracketed(len, false),
            Ok((value, json)) => self.add_bracketed(bracketed, value, JsonText::Ready(json)),
            Err(_) if bracketed.is_placeholder() => self.discard_bracketed(len),
            Err(_) if bracketed.escaped && self.recover_escaped(bracketed.text) => {}
            Err(_) if bracketed.escaped && Bracketed::starts_escaped(bracketed.text) => {
                self.record_damage(Damage::Inconsistent(
                    "without its escapes, this is not JSON either",
                ));
                self.discard_bracketed(len);
            }
            Err(_) => self.recover_bracketed(len, false),
        }
    }

    /// The mode of the recovery parser. Only the depth limit applies here: other limits apply to
    /// the fixes of the whole result, and must not change where the next bracketed text begins.
    pub(super) fn mode(&self, in_prose: bool) -> RecoveryMode<'t> {
        let mut mode = self.settings.mode(in_prose);
        let depth = self.settings.options.max_depth;
        mode.options = Options::default().max_depth(depth);
        mode
    }

    /// Recovers `text`, which begins at the current position and was escaped one level too often.
    fn recover_escaped(&mut self, text: &str) -> bool {
        let Some(attempts) = self.attempts.checked_sub(1).filter(|_| self.only_markup) else {
            return false;
        };
        let Some(json) = Bracketed::unescaped(text) else { return false };
        self.attempts = attempts;
        *self.steps += (5 + RECOVERY_STEPS) * text.len();
        let read = recover::<ValueBuilder>(&json, 0, json.len(), self.mode(false), self.steps);
        let Ok(read) = read else { return false };
        let is_complete = json.get(read.end..).is_some_and(|rest| rest.trim().is_empty());
        if !is_complete {
            return false;
        }
        let span = self.at..self.at + text.len();
        let fixes = read.fixes.iter().map(|fix| Fix::new(fix.kind, span.clone())).collect();
        let is_expected = self.expected.allows(&read.value);
        let (value, truncated) = (read.value, read.truncated);
        let json = JsonText::deferred(json, false);
        self.add_candidate(
            CandidateValue { value, json, span, escaped: true, fixes, truncated },
            is_expected,
        );
        true
    }

    /// Returns whether the first object of the text seems to end too early: `{"a": 1}, "b": 2}`.
    fn continues_with_member(&self, len: usize) -> bool {
        let rest = self.rest().get(len..).unwrap_or_default();
        let next = rest.trim_start_matches(is_json_whitespace).strip_prefix(',');
        self.only_markup
            && next.is_some_and(|next| next.trim_start_matches(is_json_whitespace).starts_with('"'))
    }

    /// Recovers the value at the current position; `is_first` states that it is the first of the
    /// text, so that the checkpoint applies. On failure, `len` bytes are skipped.
    pub(super) fn recover_bracketed(&mut self, len: usize, is_first: bool) {
        let end = self.value_limit();
        let reach = end - self.at;
        let Some(attempts) = self.attempts.checked_sub(1) else {
            self.record_damage(Damage::Inconsistent("there are too many damaged values"));
            return self.discard_bracketed(len);
        };
        self.attempts = attempts;
        let mode = self.mode(!self.only_markup);
        let checkpoint =
            self.checkpoint.take().filter(|_| is_first).filter(|from| from.is_valid_before(end));
        let read = match checkpoint {
            Some(from) => recover_from(self.text, self.at, end, mode, from, self.steps),
            None => recover::<ValueBuilder>(self.text, self.at, end, mode, self.steps),
        };
        match read {
            Ok(read) if self.expected.allows(&read.value) || self.only_markup => {
                *self.steps += RECOVERY_STEPS * (read.end - self.at) + reach;
                let span = self.at..read.end;
                let text = self.text.get(self.at..end).unwrap_or_default().to_owned();
                let json = JsonText::deferred(text, !self.only_markup);
                let adjacent = AdjacentText::new(self.text, &span);
                *self.steps += adjacent.steps();
                let is_expected = self.expected.allows(&read.value);
                let call = adjacent.enclosing_call();
                let candidate = CandidateValue {
                    value: read.value,
                    json,
                    span,
                    escaped: false,
                    fixes: read.fixes,
                    truncated: read.truncated,
                };
                self.add_in_call(candidate, is_expected, call);
            }
            Ok(read) => {
                *self.steps += RECOVERY_STEPS * reach;
                self.record_damage(Damage::Inconsistent(
                    "this value is damaged and of another type",
                ));
                self.discard_bracketed(read.end - self.at);
            }
            Err(error) => {
                *self.steps += RECOVERY_STEPS * reach;
                self.record_damage(Damage::Unrecoverable(error));
                self.discard_bracketed(len);
            }
        }
    }

    fn add_bracketed(&mut self, bracketed: Bracketed<'_>, value: Value, json: JsonText) {
        let mut span = self.at..self.at + bracketed.text.len();
        let adjacent = AdjacentText::new(self.text, &span);
        *self.steps += adjacent.steps();
        let in_prose = self.segments.last().is_some_and(|last| last.kind == Some(FixKind::Prose));
        let quoted = bracketed.escaped && in_prose && adjacent.is_quoted();
        let is_expected = self.expected.allows(&value);
        if !is_expected && !self.only_markup {
            return self.discard_bracketed(bracketed.text.len());
        }
        let mut call = adjacent.enclosing_call();
        if quoted {
            // The quotes are part of the escaped text.
            span = self.reclaim_prose(span.start - 1)..span.end + 1;
            call = None;
        }
        let mut candidate = CandidateValue::valid(value, json, span);
        candidate.escaped = bracketed.escaped;
        self.add_in_call(candidate, is_expected, call);
    }

    /// Adds a candidate and the call that encloses it.
    fn add_in_call(&mut self, value: CandidateValue, is_expected: bool, call: Option<CallSpan>) {
        if let Some((name, _)) = &call {
            *self.steps += name.len();
            let start = self.reclaim_prose(name.start);
            self.segments.push(Segment::new(FixKind::Call, start..name.end));
        }
        self.add_candidate(value, is_expected);
        if let Some((_, end)) = call {
            self.at = end.start;
            self.discard(FixKind::Call, end.len());
        }
    }

    pub(super) fn add_candidate(&mut self, candidate: CandidateValue, is_expected: bool) {
        self.at = candidate.span.end;
        self.only_markup = false;
        let span = candidate.span.clone();
        let mut kind = None;
        if is_expected {
            self.candidate_spans.push(span.clone());
            match &self.first {
                None => self.first = Some(candidate),
                Some(first) if first.has_same_value(&candidate) => kind = Some(FixKind::Repeat),
                Some(_) => self.ambiguous = true,
            }
        } else {
            self.sole = Some(candidate);
        }
        self.segments.push(Segment { kind, is_bracketed: false, span });
    }

    /// The latest position at which the value can end: before the fence that closes the open one,
    /// and before the tags at the end of the text.
    pub(super) fn value_limit(&mut self) -> usize {
        let state = usize::from(self.in_fence) + 2 * usize::from(self.has_tag);
        let known = self.value_limits.get(state).copied().flatten();
        if let Some(end) = known {
            return if end > self.at { end } else { self.text.len() };
        }
        let end = self.find_value_limit();
        if let Some(known) = self.value_limits.get_mut(state) {
            *known = Some(end);
        }
        end
    }

    fn find_value_limit(&mut self) -> usize {
        let rest = self.rest();
        *self.steps += rest.len();
        let mut inside = rest;
        if self.in_fence
            && let Some((before, after)) =
                rest.rsplit_once("\n```").or_else(|| rest.rsplit_once("```"))
            && !after.contains(['"', '{', '}', '[', ']'])
        {
            inside = before;
        }
        loop {
            inside = inside.trim_end_matches(is_json_whitespace);
            let tag = inside.strip_suffix('>').and_then(|tag| tag.rsplit_once('<'));
            let Some((before, tag)) = tag else { break };
            let is_token = tag.starts_with(['|', '｜']) || tag == "/s";
            if !(is_token || self.has_tag && tag.starts_with('/')) || tag.contains(['"', '\n']) {
                break;
            }
            inside = before;
        }
        // Whitespace after a number shows that the number is complete.
        let has_more = inside.len() < rest.len();
        let blank = rest.get(inside.len()..).and_then(|rest| rest.chars().next());
        let blank = blank.filter(|c| has_more && is_json_whitespace(*c)).map_or(0, char::len_utf8);
        self.at + inside.len() + blank
    }
}

/// Returns whether a word or an escape follows the bracket: a placeholder or escaped text.
fn starts_with_word(text: &str) -> bool {
    let first =
        text.trim_start_matches(|c: char| matches!(c, '{' | '[' | '/') || is_json_whitespace(c));
    let head = text.get(..MAX_PLACEHOLDER_LEN).unwrap_or(text);
    first.starts_with('\\')
        || first.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && Bracketed::at(head).is_some()
}

/// The text before and after a candidate.
pub(super) struct AdjacentText<'t> {
    before: &'t str,
    after: &'t str,
    start: usize,
    end: usize,
}

impl<'t> AdjacentText<'t> {
    pub(super) fn new(text: &'t str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or_default();
        let after = text.get(span.end..).unwrap_or_default();
        Self { before, after, start: span.start, end: span.end }
    }

    /// The number of bytes inspected: the whitespace on both sides, three times at most.
    pub(super) fn steps(&self) -> usize {
        let blanks_before =
            self.before.len() - self.before.trim_end_matches(is_json_whitespace).len();
        let blanks_after =
            self.after.len() - self.after.trim_start_matches(is_json_whitespace).len();
        3 * (blanks_before + blanks_after)
    }

    /// Returns whether a double quote touches the candidate on both sides.
    pub(super) fn is_quoted(&self) -> bool {
        self.before.ends_with('"') && self.after.starts_with('"')
    }

    /// The spans of `name(` and of `)` or `);`, if they are next to the candidate.
    pub(super) fn enclosing_call(&self) -> Option<(Range<usize>, Range<usize>)> {
        let before = self.before.trim_end_matches(is_json_whitespace);
        let after = self.after.trim_start_matches(is_json_whitespace);
        let bare = before.strip_suffix('(')?;
        let closed = after.strip_prefix(')')?;
        let name = bare.len() - bare.trim_end_matches(is_name).len();
        let close = 1 + usize::from(closed.starts_with(';'));
        let at = self.end + self.after.len() - after.len();
        (name > 0).then(|| (bare.len() - name..self.start, at..at + close))
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adjacent(text: &str) -> AdjacentText<'_> {
        let at = text.find("[]").unwrap();
        AdjacentText::new(text, &(at..at + 2))
    }

    #[test]
    fn enclosing_call_requires_a_name() {
        assert_eq!(adjacent("do shop.find( [] );").enclosing_call(), Some((3..14, 17..19)));
        assert_eq!(adjacent("f([])").enclosing_call(), Some((0..2, 4..5)));
        assert_eq!(adjacent("([])").enclosing_call(), None);
        assert_eq!(adjacent("f([]").enclosing_call(), None);
    }
}
