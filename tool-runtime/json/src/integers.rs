//! Integral floats, and values that contain floats.

use serde_json::{Number, Value};

use super::strict::parse_unique;

/// Rewrites every float without a fraction as an integer, and returns whether there was one.
///
/// 30.0 equals 30 for JSON Schema and for a model, but not for a decoder of Rust integers. Floats
/// beyond the range in which every integer has an exact float (2^53) stay as they are.
///
/// ```
/// use tool_json::normalize_integers;
///
/// let mut value = serde_json::json!({ "days": 30.0, "share": 0.5 });
/// assert!(normalize_integers(&mut value));
/// assert_eq!(value.to_string(), r#"{"days":30,"share":0.5}"#);
/// assert!(!normalize_integers(&mut value));
/// ```
pub fn normalize_integers(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => match to_integer(number) {
            Some(to_integer) => {
                *number = to_integer;
                true
            }
            None => false,
        },
        // The parser limits the depth of values, so recursion is bounded.
        Value::Array(items) => {
            items.iter_mut().fold(false, |any, item| normalize_integers(item) | any)
        }
        Value::Object(members) => {
            members.values_mut().fold(false, |any, member| normalize_integers(member) | any)
        }
        _ => false,
    }
}

/// Returns `json` with integral floats written as integers; `None` if there are none, or if a key
/// occurs twice.
#[doc(hidden)]
pub fn with_normalized_integers(json: &str) -> Option<String> {
    let mut value = parse_unique(json).ok()?;
    normalize_integers(&mut value).then(|| value.to_string())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "only where both ways give the same number"
)]
fn to_integer(number: &Number) -> Option<Number> {
    /// Every integer up to here has an exact float.
    const EXACT: f64 = (1_i64 << f64::MANTISSA_DIGITS) as f64;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| Number::from(float as i64))
}

/// Returns whether the value contains a float; integers beyond 64 bits are floats and lose digits.
pub(super) fn contains_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(contains_float),
        Value::Object(members) => members.values().any(contains_float),
        _ => false,
    }
}

/// Returns whether a JSON number has neither fraction nor exponent.
pub(crate) fn is_integer(json: &str) -> bool {
    !json.contains(['.', 'e', 'E'])
}
