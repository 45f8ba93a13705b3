//! Finds the value among code fences, tags and prose.
//!
//! One pass ([`scan`]) cuts the text into segments: markup, candidates and prose. A
//! **candidate** is a *bracketed text* (from a bracket to its matching closing bracket, ignoring
//! brackets in strings) that serde_json parses. The pass continues after it, so nothing inside a
//! bracketed text is ever a candidate.
//!
//! - A bracketed text that is not JSON, and a bracket that is never closed, go to the [recovery
//!   parser](super::recover). What it recovers is a candidate as well. What it refuses is *damage*,
//!   and damage anywhere refuses the text: the damaged part may be the value, and a valid object
//!   next to it only a part. A stray closing bracket is damage too, unless only such brackets
//!   follow the value.
//! - If the first bracketed text was escaped one level too often and is damaged, the recovery
//!   parser reads it without those escapes.
//! - A candidate that may be a part of something without its outer brackets is refused; see
//!   [`completeness`].
//! - A placeholder, a word in brackets such as `{city}` or `[see below]`, is prose.
//! - Candidates of an unexpected type are prose. Exactly one of the others may remain: the same
//!   value again is a repetition, another value is an ambiguity.
//! - A scalar, or a value of another type, counts only if nothing but markup surrounds it.
//! - Reasoning is skipped. If a closing reasoning tag has no opening one, everything before it is
//!   reasoning. If reasoning never ends, there is no answer yet, and that is damage.
//!
//! The fixes describe the removed text: going outwards from the value, adjacent markup gets its own
//! kind, and everything from the first word on is prose. Removing the spans of the fixes leaves
//! strict JSON.
//!
//! **Fuel.** Each inspected byte is a step, and the steps stay below `STEPS_PER_BYTE` times the
//! length of the text: each lookahead ends where the next one begins, the pass moves past what it
//! has inspected, and a lookahead that reaches the end of the text in vain ends the pass.

mod bracketed;
mod candidate;
mod candidate_value;
mod completeness;
mod labels;
mod markup;
mod scalar;
mod scan;
mod token;

use std::ops::Range;

use serde_json::Value;

pub(super) use self::markup::REASONING;
use self::{
    candidate_value::CandidateValue,
    completeness::check_complete,
    scan::{Damage, Scan, Segment},
};
use super::{
    Fix, FixKind, ParseError, Parsed,
    coerce::TypeSet,
    fix::sort_by_position,
    parsed::JsonText,
    recover::{Checkpoint, ParseSettings},
};

/// The bound on the steps per byte of all passes together.
#[cfg(test)]
pub(super) const STEPS_PER_BYTE: usize = 48;

/// A value found in the text, with the fixes for the text around it.
#[derive(Debug)]
pub(super) struct LocatedValue {
    pub(super) parsed: Parsed,
    pub(super) span: Range<usize>,
}

/// Finds the value in `text`, which is not valid JSON as a whole. `starts_damaged` states that its
/// first bracketed text is invalid, and recovery of that may begin at `checkpoint`. `steps` counts
/// the work.
pub(super) fn locate(
    text: &str,
    expected: TypeSet,
    settings: &ParseSettings<'_>,
    starts_damaged: bool,
    checkpoint: Option<Checkpoint>,
    steps: &mut usize,
) -> Result<LocatedValue, ParseError> {
    // The completeness check that follows: a token has at least one byte, and takes a few steps.
    *steps += 3 * text.len();
    let scan = Scan::new(text, expected, *settings, starts_damaged, checkpoint, steps);
    if let Some((at, damage)) = scan.damage {
        return Err(match damage {
            Damage::Unrecoverable(error) => ParseError::from_recovery(text, &error, expected),
            Damage::Inconsistent(reason) => ParseError::syntax(text, at, reason, expected),
        });
    }
    if scan.ambiguous {
        return Err(ParseError::ambiguous(text, &scan.candidate_spans, expected));
    }
    let has = |kind| scan.segments.iter().any(|segment: &Segment| segment.kind == Some(kind));
    let sole = scan.sole.filter(|_| !has(FixKind::Prose));
    let Some(mut candidate) = scan.first.or(sole) else {
        if let Some(bare) = unquoted_text(text, expected) {
            return Ok(bare);
        }
        let is_whitespace =
            |segment: &Segment| matches!(segment.kind, Some(FixKind::Bom | FixKind::Whitespace));
        if let Some(error) = &scan.scalar_error {
            return Err(ParseError::from_recovery(text, error, expected));
        }
        return Err(if scan.segments.iter().all(is_whitespace) {
            ParseError::empty(expected)
        } else {
            ParseError::no_value(text, expected)
        });
    };

    let callees = check_complete(text, &scan.segments, &candidate.span, &settings.keys)
        .map_err(|(at, reason)| ParseError::syntax(text, at, reason, expected))?;

    let (before, after): (Vec<_>, Vec<_>) = scan
        .segments
        .into_iter()
        .filter(|segment| segment.span != candidate.span)
        .partition(|segment| segment.span.end <= candidate.span.start);
    let mut fixes = fixes_outwards(before.into_iter().rev());
    fixes.extend(candidate.escaped.then(|| Fix::new(FixKind::Escaped, candidate.span.clone())));
    fixes.extend(fixes_outwards(after.into_iter()));
    fixes.extend(std::mem::take(&mut candidate.fixes));
    sort_by_position(&mut fixes);
    settings.check_limits(text, &fixes, candidate.truncated, expected)?;
    let CandidateValue { value, json, span, truncated, .. } = candidate;
    Ok(LocatedValue { parsed: Parsed { value, fixes, truncated, callees, json }, span })
}

/// Returns the text as an unquoted string, if only a string is expected and it is one line of
/// words.
fn unquoted_text(text: &str, expected: TypeSet) -> Option<LocatedValue> {
    let words = text.trim();
    let is_words = words.starts_with(char::is_alphanumeric)
        && !words.contains(|c: char| c.is_control() || "\"`{}[]<>:…".contains(c))
        && !words.contains("...");
    if !expected.is_string_only() || !is_words {
        return None;
    }
    let start = text.len() - text.trim_start().len();
    let span = start..start + words.len();
    let value = Value::from(words);
    let json = JsonText::Ready(value.to_string());
    let fixes = vec![Fix::new(FixKind::UnquotedText, span.clone())];
    let parsed = Parsed { value, fixes, truncated: false, callees: Vec::new(), json };
    Some(LocatedValue { parsed, span })
}

/// Converts segments to fixes, from the value outwards: markup after the first prose is prose too.
fn fixes_outwards(segments: impl Iterator<Item = Segment>) -> Vec<Fix> {
    let mut fixes: Vec<Fix> = Vec::new();
    let mut in_prose = false;
    for Segment { kind, span, .. } in segments {
        let kind = match kind.unwrap_or(FixKind::Prose) {
            kind @ (FixKind::Bom
            | FixKind::Repeat
            | FixKind::Reasoning
            | FixKind::Comment
            | FixKind::Comma
            | FixKind::ExtraCloser) => kind,
            kind => {
                in_prose |= kind == FixKind::Prose;
                if in_prose { FixKind::Prose } else { kind }
            }
        };
        match fixes.last_mut() {
            Some(last) if last.kind == kind => {
                last.span = last.span.start.min(span.start)..last.span.end.max(span.end);
            }
            _ => fixes.push(Fix::new(kind, span)),
        }
    }
    fixes
}
