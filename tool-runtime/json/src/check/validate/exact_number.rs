//! Exact comparison of numbers: 1 equals 1.0, and 2^53 + 1 differs from 2^53.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A whole number, held exactly, or any other number as it was parsed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::check) enum ExactNumber {
    Whole(i128),
    /// A number with a fraction, or beyond 2^120.
    Other(f64),
}

impl ExactNumber {
    pub(in crate::check) fn of(number: &Number) -> Self {
        // A bound below 2^127 and above everything that 64 bits hold.
        const WHOLE: f64 = (1_u128 << 120) as f64;
        if let Some(whole) = number.as_i128() {
            return Self::Whole(whole);
        }
        match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "no fraction, and in bounds")]
            Some(float) if float.fract() == 0.0 && float.abs() < WHOLE => {
                Self::Whole(float as i128)
            }
            Some(float) => Self::Other(float),
            None => Self::Other(f64::NAN),
        }
    }

    pub(in crate::check) fn from_value(value: &Value) -> Option<Self> {
        value.as_number().map(Self::of)
    }

    /// Returns true for an integer as in `type: integer`: 1.0 is one, and so is 1e300.
    pub(in crate::check) fn is_integer(self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Other(float) => float.fract() == 0.0,
        }
    }

    pub(in crate::check) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => Some(left.cmp(&right)),
            (left, right) => left.rounded().partial_cmp(&right.rounded()),
        }
    }

    /// Rounding can't reorder the two kinds. A float with a fraction is below 2^53, where whole
    /// numbers are exact, and one above 2^120 is beyond every whole number.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    fn rounded(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Other(float) => float,
        }
    }

    /// Compares the decimal digits of both numbers, so that 0.3 is a multiple of 0.1.
    pub(in crate::check) fn is_multiple_of(self, step: Self) -> bool {
        let (digits, decimals) = self.decimal();
        let (step_digits, step_decimals) = step.decimal();
        let divisor = 10_i128
            .checked_pow(decimals)
            .zip(step_digits.parse::<i128>().ok())
            .and_then(|(scale, step)| step.checked_abs()?.checked_mul(scale))
            .filter(|divisor| *divisor <= i128::MAX / 16);
        match divisor {
            Some(0) => true,
            Some(divisor) => {
                // Long division, whose remainder never exceeds the divisor.
                let zeros = std::iter::repeat_n(0, usize::try_from(step_decimals).unwrap_or(0));
                let digits = digits.chars().filter_map(|digit| digit.to_digit(10));
                let remainder = digits
                    .chain(zeros)
                    .fold(0, |remainder, digit| (remainder * 10 + i128::from(digit)) % divisor);
                remainder == 0
            }
            None => self.rounded() % step.rounded() == 0.0,
        }
    }

    /// Returns the digits of a number without its point, and the number of decimals.
    fn decimal(self) -> (String, u32) {
        let text = match self {
            Self::Whole(whole) => whole.to_string(),
            Self::Other(float) => float.to_string(),
        };
        match text.split_once('.') {
            Some((whole, decimals)) => {
                (format!("{whole}{decimals}"), u32::try_from(decimals.len()).unwrap_or(u32::MAX))
            }
            None => (text, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ExactNumber;
    use serde_json::Value;
    use std::cmp::Ordering::{Equal, Greater, Less};

    fn num(text: &str) -> ExactNumber {
        let value: Value = serde_json::from_str(text).unwrap();
        ExactNumber::from_value(&value).unwrap()
    }

    #[test]
    fn comparison_is_exact() {
        for (left, right, order) in [
            ("1", "1.0", Equal),
            ("0", "-0.0", Equal),
            ("9007199254740993", "9007199254740992.0", Greater),
            ("18446744073709551615", "18446744073709551616.0", Less),
            ("-9223372036854775808", "-9223372036854775808.0", Equal),
            ("9223372036854775807", "9223372036854775808", Less),
            ("2", "1.5", Greater),
            ("1e300", "18446744073709551615", Greater),
            ("-1e300", "-9223372036854775808", Less),
            ("0.1", "0.2", Less),
        ] {
            assert_eq!(num(left).compare(num(right)), Some(order), "{left} {right}");
        }
    }

    #[test]
    fn multiples_are_computed_in_decimal() {
        for (number, step, holds) in [
            ("9", "3", true),
            ("10", "3", false),
            ("9.0", "3", true),
            ("0.3", "0.1", true),
            ("19.99", "0.01", true),
            ("19.995", "0.01", false),
            ("4.5", "1.5", true),
            ("1", "0.1", true),
            ("-7", "7", true),
            ("18446744073709551615", "5", true),
            ("18446744073709551614", "5", false),
            ("1e300", "7", false),
            ("1e300", "0.01", true),
            ("-0.07", "0.01", true),
            ("5", "0", true),
        ] {
            let is_multiple = num(number).is_multiple_of(num(step));
            assert_eq!(is_multiple, holds, "{number} {step}");
        }
    }
}
