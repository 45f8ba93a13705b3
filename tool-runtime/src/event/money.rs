//! Sums of money, as people read them.

/// A sum in whatever currency: with two decimals at least, and with so many that a small one is not nothing.
///
/// That is two digits behind the zeros; and four decimals, as far as they tell anything.
pub(crate) fn money(sum: f64) -> String {
    if !sum.is_finite() || sum == 0.0 {
        return sum.to_string();
    }
    // As many as the zeros behind the point, and two more; what a number can tell apart ends somewhere.
    let zeros = (1..=300).find(|places| sum.abs() * 10_f64.powi(*places) >= 1.0).unwrap_or(300);
    let places = usize::try_from(zeros).unwrap_or_default().saturating_add(1).max(4);
    let text = format!("{sum:.places$}");
    let short = text.trim_end_matches('0');
    let least = text.find('.').map_or(text.len(), |point| point + 3);
    text.get(..short.len().max(least)).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::money;

    #[test]
    fn a_small_sum_is_not_nothing() {
        for (sum, expected) in [
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
            assert_eq!(money(sum), expected, "{sum:e}");
        }
    }
}
