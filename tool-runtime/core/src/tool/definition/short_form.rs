//! The short forms of durations and rates, as `#[tool]` reads them: `5s`, `10/min`.

use std::time::Duration;

use crate::tool::RateLimit;

/// Parses a duration such as `500ms`, `5s`, `2m` or `1h`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parse = || {
        let (number, unit) = text.split_at_checked(text.find(|c: char| !c.is_ascii_digit())?)?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        let millis = number.parse::<u64>().ok()?.checked_mul(millis)?;
        (millis > 0).then_some(Duration::from_millis(millis))
    };
    parse().ok_or_else(|| {
        format!(
            "invalid duration {text:?}: expected a whole number above 0 and a unit, such as \
             \"500ms\", \"5s\", \"2m\" or \"1h\""
        )
    })
}

/// Parses a rate such as `2/s`, `10/min`, `100/h` or `1000/day`.
pub(super) fn rate(text: &str) -> Result<RateLimit, String> {
    let parse = || {
        let (number, period) = text.split_once('/')?;
        let seconds = match period {
            "s" => 1,
            "min" => 60,
            "h" => 60 * 60,
            "day" => 24 * 60 * 60,
            _ => return None,
        };
        let has_only_digits = number.bytes().all(|byte| byte.is_ascii_digit());
        let times = number.parse().ok().filter(|times| has_only_digits && *times > 0)?;
        Some(RateLimit { times, per: Duration::from_secs(seconds) })
    };
    parse().ok_or_else(|| {
        format!(
            "invalid rate {text:?}: expected a whole number above 0 and a period, such as \"2/s\", \
             \"10/min\", \"100/h\" or \"1000/day\""
        )
    })
}
