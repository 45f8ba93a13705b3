//! Invariants of every successful parse.

use serde_json::Value;
use tool_json::{Parsed, parse};

/// Maximum length of the sentence of a fix.
const MAX_SENTENCE: usize = 100;

/// Returns the first violated invariant of a parse of `text`.
pub(crate) fn violation(text: &str, parsed: &Parsed) -> Option<String> {
    for fix in &parsed.fixes {
        if text.get(fix.span.clone()).is_none() {
            return Some(format!("{fix:?} is outside the text or splits a character"));
        }
        let sentence = fix.to_string();
        if sentence.len() > MAX_SENTENCE || sentence.contains('\n') || sentence.trim().is_empty() {
            return Some(format!("not a short sentence: {sentence}"));
        }
    }
    if !parsed.fixes.is_sorted_by_key(|fix| fix.span.start) {
        return Some("the fixes are not in text order".to_owned());
    }
    match serde_json::from_str::<Value>(parsed.json()) {
        Ok(value) if value == parsed.value => {}
        other => return Some(format!("the JSON text has another value: {other:?}")),
    }
    let printed = parsed.value.to_string();
    match (parse(&printed), serde_json::from_str::<Value>(&printed)) {
        (Ok(second), Ok(value)) if second.fixes.is_empty() && second.value == value => None,
        (second, _) => Some(format!("the second parse differs: {second:?}")),
    }
}
