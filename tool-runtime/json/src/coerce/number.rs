//! The spelling of numbers.

/// The maximum number of digits of a converted integer: `1e400` stays as it is.
const MAX_DIGITS: usize = 64;

/// Returns whether a JSON number has neither fraction nor exponent.
pub(super) fn is_integer(json: &str) -> bool {
    !json.contains(['.', 'e', 'E'])
}

/// Returns the text if it is a JSON number: no local notation, no leading zeros, no words.
pub(super) fn as_json_number(text: &str) -> Option<&str> {
    let starts = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    (starts && serde_json::from_str::<serde_json::Number>(text).is_ok()).then_some(text)
}

/// Converts a number with a fraction or exponent to the equal integer; `None` for 3.7.
pub(super) fn to_integer(json: &str) -> Option<String> {
    let (sign, rest) = json.strip_prefix('-').map_or(("", json), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let digits = format!("{before}{after}");
    let digits = digits.trim_start_matches('0');
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if digits.is_empty() {
        return Some("0".into());
    }
    let shift = exponent.checked_sub(i64::try_from(after.len()).ok()?)?;
    let size = usize::try_from(shift.unsigned_abs()).ok()?;
    let integer = if shift >= 0 {
        if size > MAX_DIGITS {
            return None;
        }
        format!("{digits}{}", "0".repeat(size))
    } else {
        let (integer, fraction) = digits.split_at_checked(digits.len().checked_sub(size)?)?;
        if integer.is_empty() || fraction.bytes().any(|digit| digit != b'0') {
            return None;
        }
        integer.to_owned()
    };
    (integer.len() <= MAX_DIGITS).then(|| format!("{sign}{integer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_integer_converts_only_integral_numbers() {
        for (json, expected) in [
            ("30.0", Some("30")),
            ("-30.00", Some("-30")),
            ("0.0", Some("0")),
            ("-0.0", Some("0")),
            ("1e3", Some("1000")),
            ("1.50e1", Some("15")),
            ("1500e-2", Some("15")),
            ("12345678901234567890.0", Some("12345678901234567890")),
            ("3.7", None),
            ("0.5", None),
            ("1e-1", None),
            ("15e-2", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
            ("1e-9223372036854775808", None),
        ] {
            assert_eq!(to_integer(json).as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn as_json_number_rejects_other_spellings() {
        for text in ["0", "17", "-1.50", "2e5", "340282366920938463463374607431768211455"] {
            assert_eq!(as_json_number(text), Some(text));
        }
        for text in [
            "", "-", "1,234", "1.234,56", "1 234", "017", "02139", ".5", "5.", "0x1F", "NaN",
            "Infinity", "1_000", "12a", "3 apples", "1e400", "١٧", " 1", "[1]", "null",
        ] {
            assert_eq!(as_json_number(text), None, "{text}");
        }
    }
}
