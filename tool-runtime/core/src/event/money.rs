//! Formats amounts of money.

/// Formats an amount with two decimals at least, and with enough that a small amount is not zero.
///
/// That is up to four decimals, or two significant digits if the amount is smaller.
#[doc(hidden)]
pub fn format_amount(amount: f64) -> String {
    if !amount.is_finite() || amount == 0.0 {
        return amount.to_string();
    }
    // The number of zeros behind the point, up to the smallest number that f64 can represent.
    let zeros = (1..=300).find(|places| amount.abs() * 10_f64.powi(*places) >= 1.0).unwrap_or(300);
    let places = usize::try_from(zeros).unwrap_or_default().saturating_add(1).max(4);
    let text = format!("{amount:.places$}");
    let short = text.trim_end_matches('0');
    let least = text.find('.').map_or(text.len(), |point| point + 3);
    text.get(..short.len().max(least)).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::format_amount;

    #[test]
    fn small_amount_keeps_two_significant_digits() {
        for (amount, expected) in [
            (0.0, "0"),
            (0.5, "0.50"),
            (3.0, "3.00"),
            (1_234.567_89, "1234.5679"),
            (0.012_34, "0.0123"),
            (0.000_999_9, "0.001"),
            (0.000_1, "0.0001"),
            (0.000_042_13, "0.000042"),
            (1e-9, "0.000000001"),
            (-0.25, "-0.25"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(format_amount(amount), expected, "{amount:e}");
        }
    }
}
