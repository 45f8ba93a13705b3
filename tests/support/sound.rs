//! What holds for every text that was read, whatever it was read as.

use serde_json::Value;
use tool_runtime::json::{Parsed, parse};

/// The longest that the sentence of a fix may be.
const LONGEST: usize = 100;

/// What is wrong with a reading of `text`, if something is.
pub(crate) fn fault(text: &str, parsed: &Parsed) -> Option<String> {
    for fix in &parsed.fixes {
        if text.get(fix.span.clone()).is_none() {
            return Some(format!("{fix:?} is not within the text or splits a character"));
        }
        let sentence = fix.to_string();
        if sentence.len() > LONGEST || sentence.contains('\n') || sentence.trim().is_empty() {
            return Some(format!("no short sentence: {sentence}"));
        }
    }
    if !parsed.fixes.is_sorted_by_key(|fix| fix.span.start) {
        return Some("the fixes are not in the order of the text".to_owned());
    }
    match serde_json::from_str::<Value>(parsed.json()) {
        Ok(value) if value == parsed.value => {}
        other => return Some(format!("its text is that of another value: {other:?}")),
    }
    let printed = parsed.value.to_string();
    match (parse(&printed), serde_json::from_str::<Value>(&printed)) {
        (Ok(again), Ok(value)) if again.fixes.is_empty() && again.value == value => None,
        (again, _) => Some(format!("it reads another way the second time: {again:?}")),
    }
}
