//! Where in fences, tags and prose the value is.
//!
//! One pass cuts the text into parts: marks, candidates, prose. A **candidate** is a *piece* (a
//! bracket up to the one that closes it, brackets in strings not counted) that serde_json reads.
//! The pass goes on behind a piece, so nothing inside one is ever a candidate.
//!
//! - A piece that is no JSON, and a bracket that is never closed, go to the
//!   [recovery parser](super::recover); what it reads is a candidate as well. What it refuses is
//!   *damage*, and damage anywhere refuses the text: the piece may be the value, and a whole object
//!   next to it only a part. Damage also is a bracket that closes nothing, unless nothing but such
//!   brackets follows the value.
//! - A piece that begins the text, was escaped one level too often and is damaged goes to the
//!   recovery parser without those escapes.
//! - A candidate that may be a part of something that has lost its brackets is refused as well;
//!   [`whole`](super::whole) says how that shows.
//! - The one piece that is prose is a placeholder, a word in brackets: `{city}`, `[see below]`.
//! - Candidates whose type isn't wanted are prose. Of the others there must be one. The same value
//!   again is a repetition; another value is an ambiguity.
//! - A scalar, or a value of another type, counts only where there is nothing but marks around it.
//! - Reasoning is skipped unread. Where it ends but never began, it began before the text did, and
//!   all up to there goes. Where it never ends there is no answer yet, so that is damage too.
//!
//! The fixes tell what was cut away: going outwards from the value the marks next to it, each as
//! its kind, and from the first word on prose. Without the fixes' spans the text is strict JSON.
//!
//! **Fuel.** Every look at a byte is a step, and the steps stay below [`STEPS_PER_BYTE`] times the
//! length of the text: each look-ahead ends where the next begins, the pass moves past what it has
//! looked at, and where a look runs to the end of the text in vain the pass is over.

use std::ops::Range;

use serde_json::Value;

use super::{
    Fix, FixKind, Reading, Unreadable,
    coerce::Roots,
    parsed::Json,
    recover::Resume,
    scan::{Damage, Part, Scan},
    whole::callees,
};

/// The bound on the work, for all passes together.
#[cfg(test)]
pub(super) const STEPS_PER_BYTE: usize = 48;

/// A value found in the text, where it was, and what stood around it.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) value: Value,
    pub(super) json: Json,
    pub(super) span: Range<usize>,
    pub(super) fixes: Vec<Fix>,
    pub(super) truncated: bool,
    /// What the elements around it say is called.
    pub(super) called: Vec<String>,
}

/// Finds the value in `text`, which is not JSON as a whole; `is_first` if what it begins with is
/// none, and `resume` where recovery of that may begin. `steps` counts the work.
pub(super) fn locate(
    text: &str,
    wanted: Roots,
    reading: &Reading<'_>,
    is_first: bool,
    resume: Option<Resume>,
    steps: &mut usize,
) -> Result<Located, Unreadable> {
    // Of the pass that follows this one: a token takes a byte or more, and a few looks.
    *steps += 3 * text.len();
    let scan = Scan::new(text, wanted, *reading, is_first, resume, steps);
    if let Some((at, damage)) = scan.damage {
        return Err(match damage {
            Damage::Refused(refusal) => Unreadable::refused(text, &refusal, wanted),
            Damage::Sign(what) => Unreadable::syntax(text, at, what, wanted),
        });
    }
    if scan.ambiguous {
        return Err(Unreadable::ambiguous(text, &scan.candidates, wanted));
    }
    let has = |kind| scan.parts.iter().any(|part: &Part| part.kind == Some(kind));
    let alone = scan.alone.filter(|_| !has(FixKind::Prose));
    let Some(found) = scan.found.or(alone) else {
        if let Some(bare) = bare_text(text, wanted) {
            return Ok(bare);
        }
        let is_blank = |part: &Part| matches!(part.kind, Some(FixKind::Bom | FixKind::Blank));
        if let Some(refusal) = &scan.alone_damage {
            return Err(Unreadable::refused(text, refusal, wanted));
        }
        return Err(if scan.parts.iter().all(is_blank) {
            Unreadable::empty(wanted)
        } else {
            Unreadable::no_value(text, wanted)
        });
    };

    let called = callees(text, &scan.parts, &found.span, &reading.keys)
        .map_err(|(at, what)| Unreadable::syntax(text, at, what, wanted))?;

    let (before, after): (Vec<_>, Vec<_>) = scan
        .parts
        .into_iter()
        .filter(|part| part.span != found.span)
        .partition(|part| part.span.end <= found.span.start);
    let mut fixes = outwards(before.into_iter().rev());
    fixes.extend(found.escaped.then(|| Fix::new(FixKind::Escaped, found.span.clone())));
    fixes.extend(outwards(after.into_iter()));
    if fixes.is_empty() {
        fixes = found.mends;
    } else {
        fixes.extend(found.mends);
        fixes.sort_by_key(|fix| fix.span.start);
    }
    reading.allow(text, &fixes, found.truncated, wanted)?;
    let (value, json, span, truncated) = (found.value, found.json, found.span, found.truncated);
    Ok(Located { value, json, span, fixes, truncated, called })
}

/// The text as a string without quotes, where nothing else is wanted and it is one line of words.
fn bare_text(text: &str, wanted: Roots) -> Option<Located> {
    let words = text.trim();
    let is_words = words.starts_with(char::is_alphanumeric)
        && !words.contains(|c: char| c.is_control() || "\"`{}[]<>:…".contains(c))
        && !words.contains("...");
    if !wanted.is_text_only() || !is_words {
        return None;
    }
    let start = text.len() - text.trim_start().len();
    let span = start..start + words.len();
    let value = Value::from(words);
    let json = Json::Text(value.to_string());
    let fixes = vec![Fix::new(FixKind::BareText, span.clone())];
    Some(Located { value, json, span, fixes, truncated: false, called: Vec::new() })
}

/// Parts as fixes, from the value outwards: behind the first prose, marks are prose too.
fn outwards(parts: impl Iterator<Item = Part>) -> Vec<Fix> {
    let mut fixes: Vec<Fix> = Vec::new();
    let mut in_prose = false;
    for Part { kind, span, .. } in parts {
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
