use serde_json::{Number, Value};

use super::unique::read_unique;

/// Writes every float without a fraction as an integer: 30.0 is 30, in JSON Schema and to a model,
/// but not to a decoder of integers. Tells whether there was one.
///
/// ```
/// use tool_runtime::json::make_whole;
///
/// let mut value = serde_json::json!({ "days": 30.0, "share": 0.5 });
/// assert!(make_whole(&mut value));
/// assert_eq!(value.to_string(), r#"{"days":30,"share":0.5}"#);
/// assert!(!make_whole(&mut value));
/// ```
pub fn make_whole(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => match whole(number) {
            Some(whole) => {
                *number = whole;
                true
            }
            None => false,
        },
        // Values are as deep as the parser lets them be.
        Value::Array(items) => items.iter_mut().fold(false, |any, item| make_whole(item) | any),
        Value::Object(members) => {
            members.values_mut().fold(false, |any, member| make_whole(member) | any)
        }
        _ => false,
    }
}

/// The same text with its integers written as such, where one wasn't and no key comes twice.
pub(crate) fn whole_numbers(json: &str) -> Option<String> {
    let mut value = read_unique(json).ok()?;
    make_whole(&mut value).then(|| value.to_string())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "only where both ways give the same number"
)]
fn whole(number: &Number) -> Option<Number> {
    /// Up to here every integer has a float of its own.
    const EXACT: f64 = (1_i64 << f64::MANTISSA_DIGITS) as f64;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| Number::from(float as i64))
}

/// Numbers beyond 64 bits are floats as well, and lose digits.
pub(super) fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(members) => members.values().any(has_float),
        _ => false,
    }
}
