//! Numbers of a JSON text that a value would round.

/// The number of significant decimal digits that each 64-bit float preserves.
const FLOAT_DIGITS: usize = 17;

/// Returns the first number of a JSON text that a [`Value`](serde_json::Value) would round: an
/// integer of more than 64 bits, or a fraction with more digits than a float has.
pub(crate) fn rounded_number(json: &str) -> Option<&str> {
    let mut rest = json;
    while let Some(start) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = rest.get(start..)?;
        let end = if rest.starts_with('"') {
            end_of_string(rest)?
        } else {
            let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
            rest.find(|c| !is_part(c)).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at_checked(end)?;
        if !token.starts_with('"') && is_rounded(token) {
            return Some(token);
        }
        rest = after;
    }
    None
}

/// Returns the position behind the closing quotation mark of a string.
fn end_of_string(text: &str) -> Option<usize> {
    let mut is_escaped = true;
    let end = text.char_indices().find(|(_, c)| {
        let is_end = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    end.map(|(at, _)| at + 1)
}

fn is_rounded(number: &str) -> bool {
    if number.contains(['.', 'e', 'E']) {
        let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_start_matches('0').trim_end_matches('0').len() > FLOAT_DIGITS
    } else {
        number.parse::<i64>().is_err() && number.parse::<u64>().is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_lose_digits_are_found() {
        for (json, expected) in [
            (r#"{"a": 9223372036854775807, "b": [18446744073709551615, -1]}"#, None),
            (r#"{"a": 18446744073709551616}"#, Some("18446744073709551616")),
            (r#"{"a": -9223372036854775809}"#, Some("-9223372036854775809")),
            (r#"[1.5, 0.1, 1e3, -2.50E-3, 100.000000000000000000]"#, None),
            (r#"[3.14159265358979323846]"#, Some("3.14159265358979323846")),
            (r#"{"18446744073709551616": "18446744073709551616"}"#, None),
            (
                r#"["\"18446744073709551616", "\\", 36893488147419103232]"#,
                Some("36893488147419103232"),
            ),
            ("", None),
            ("\"open", None),
        ] {
            assert_eq!(rounded_number(json), expected, "{json}");
        }
    }
}
