//! Scalars, which count only where nothing but marks is around them.

use serde_json::Value;

use super::{
    Fix, FixKind, UnreadableKind,
    blank::{is_blank, is_odd_blank},
    found::Found,
    parsed::Json,
    piece::scalar_len,
    recover::{Values, recover},
    scan::{Part, STEPS, Scan},
};

impl Scan<'_, '_> {
    pub(super) fn scalar(&mut self) {
        let rest = self.rest();
        let len = scalar_len(rest);
        *self.steps += len.map_or(rest.len(), |len| 2 * len);
        let json = len.and_then(|len| rest.get(..len)).unwrap_or_default().to_owned();
        if let Ok(value) = serde_json::from_str(&json)
            && !self.is_sum(self.at + json.len())
            && !self.has_sole_inner_quote()
        {
            let span = self.at..self.at + json.len();
            let json = Json::Text(json);
            let (mends, truncated) = (Vec::new(), false);
            return self
                .value(Found { value, json, span, escaped: false, mends, truncated }, false);
        }
        let end = self.end_of_value();
        let reach = end - self.at;
        if let Some(attempts) = self.attempts.checked_sub(1) {
            self.attempts = attempts;
            *self.steps += STEPS * reach;
            let mode = self.mode(false);
            match recover::<Values>(self.text, self.at, end, mode, self.steps) {
                Ok(read) if self.only_marks_follow(read.end) => {
                    let span = self.at..read.end;
                    let text = self.text.get(span.start..end).unwrap_or_default().to_owned();
                    let json = Json::damaged(text, false);
                    let (mends, truncated) = (read.fixes, read.truncated);
                    let counts = self.begins_fence() && self.wanted.allows(&read.value);
                    let value = read.value;
                    let found = Found { value, json, span, escaped: false, mends, truncated };
                    return self.value(found, counts);
                }
                Err(refusal)
                    if refusal.kind != UnreadableKind::NoValue && self.only_marks_follow(end) =>
                {
                    self.alone_damage.get_or_insert(refusal);
                }
                _ => {}
            }
        }
        self.cut(FixKind::Prose, rest.chars().next().map_or(1, char::len_utf8));
    }

    /// Whether the text is one string with a quote in it: `"a 24" screen"`.
    fn has_sole_inner_quote(&self) -> bool {
        let rest = self.rest();
        let is_string = rest.starts_with('"') && rest.trim_end().ends_with('"');
        is_string && rest.bytes().filter(|&byte| byte == b'"').take(4).count() == 3
    }

    /// Whether a text in backticks begins the text, and no code.
    pub(super) fn begins_backtick_text(&self) -> bool {
        let inside = self.rest().strip_prefix('`').unwrap_or_default();
        self.parts.is_empty()
            && inside.starts_with(char::is_alphanumeric)
            && inside.trim_end().ends_with(['`', '´', '\'', '’'])
    }

    fn is_sum(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.trim_start_matches(is_blank).starts_with('+')
    }

    /// A tuple may be what a fence holds.
    pub(super) fn begins_fence(&self) -> bool {
        self.in_fence && self.parts.last().is_some_and(|part| part.kind == Some(FixKind::Fence))
    }

    /// Whether the text so far is the name before the bracket here, and what is in brackets begins
    /// as a scalar does: `name("Oslo");`.
    pub(super) fn is_sole_call(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default().trim_end();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let after = self.rest().get(1..).unwrap_or_default().trim_start_matches(is_blank);
        if !after.starts_with(begins_scalar) || self.parts.len() > 4 {
            return false;
        }
        let prose = self.parts.iter().filter(|part| part.kind == Some(FixKind::Prose)).count();
        let is_alone = self.parts.last().is_some_and(|part| {
            part.span.end - part.span.start >= name.len() && part.span.len() <= name.len() + 1
        });
        !name.is_empty() && prose == 1 && is_alone
    }

    /// The scalar that is a call's only argument.
    pub(super) fn scalar_in_call(&mut self) {
        let rest = self.rest();
        *self.steps += 3 * rest.len();
        let inside = rest.get(1..).unwrap_or_default();
        let tail = inside.trim_end().trim_end_matches(';').trim_end();
        let argument = tail.strip_suffix(')').unwrap_or_default();
        let json = argument.trim();
        let Ok(value) = serde_json::from_str::<Value>(json) else {
            return self.cut(FixKind::Prose, 1);
        };
        let start = self.at + 1 + (argument.len() - argument.trim_start().len());
        let span = start..start + json.len();
        self.parts.pop();
        let name = self.text.get(..self.at).unwrap_or_default().trim_end();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let first = name.trim_end_matches(is_name).len();
        self.parts.push(Part::new(FixKind::Call, first..start));
        let json = Json::Text(json.to_owned());
        let (mends, truncated) = (Vec::new(), false);
        let end = self.text.trim_end().len();
        self.value(Found { value, json, span, escaped: false, mends, truncated }, false);
        self.cut(FixKind::Call, end - self.at);
    }

    /// A string that was escaped one level too often, alone in the text: `\"Oslo\"`.
    pub(super) fn escaped_text(&mut self) -> bool {
        let rest = self.rest().trim_end();
        if !rest.starts_with("\\\"") {
            return false;
        }
        *self.steps += 2 * rest.len();
        let span = self.at..self.at + rest.len();
        let mut json = rest.replace("\\\"", "\"");
        let mut mends = Vec::new();
        if let Some(body) = json.strip_suffix('\\')
            && !body.contains(['{', '[', ':'])
        {
            // It was cut off within its last quote.
            json = format!("{body}\"");
            mends.push(Fix::new(FixKind::CutText, span.clone()));
        }
        let Ok(value @ Value::String(_)) = serde_json::from_str(&json) else {
            return false;
        };
        let json = Json::Text(json);
        let truncated = !mends.is_empty();
        self.value(Found { value, json, span, escaped: true, mends, truncated }, false);
        true
    }

    /// Whether no more text comes behind `at`: a closing mark at most.
    fn only_marks_follow(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        let rest = rest
            .trim_start_matches(|c: char| is_blank(c) || is_odd_blank(c) || matches!(c, ',' | ';'));
        rest.is_empty()
            || rest.starts_with(['`', '<', '~'])
            || rest.starts_with("/*")
            || rest.starts_with("//")
    }
}

/// What a scalar begins with, or a tuple.
pub(super) fn begins_scalar(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '“' | '„' | '«' | '＂' | '‘' | '‚' | '´' | '「' | '-' | '+' | '.' | '0'
            ..='9' | 't' | 'f' | 'n' | 'T' | 'F' | 'N' | 'u' | '('
    )
}
