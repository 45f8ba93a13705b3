//! Rules that hold together: of two limits the narrower one.

use serde_json::{Map, Value};

use super::Unfit;
use super::place::Place;

/// The rules of both.
pub(super) fn narrowed(
    mut one: Map<String, Value>,
    other: Map<String, Value>,
    at: &Place,
) -> Result<Map<String, Value>, Unfit> {
    for (keyword, value) in other {
        let Some(known) = one.get(&keyword) else {
            one.insert(keyword, value);
            continue;
        };
        if *known == value {
            continue;
        }
        match is_narrower(&keyword, &value, known) {
            Some(true) => _ = one.insert(keyword, value),
            Some(false) => {}
            None => {
                return Err(at.unfit(format!("two rules of the keyword `{keyword}` hold for it")));
            }
        }
    }
    Ok(one)
}

/// Whether a limit lets fewer values through than a known one; none where that can't be told.
fn is_narrower(keyword: &str, value: &Value, known: &Value) -> Option<bool> {
    let (value, known) = value.as_f64().zip(known.as_f64())?;
    let word = keyword.to_lowercase();
    if word.contains("min") {
        Some(value > known)
    } else {
        word.contains("max").then_some(value < known)
    }
}
