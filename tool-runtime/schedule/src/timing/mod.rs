//! The times at which a schedule fires.

pub(crate) mod occurrences;
pub(crate) mod zone;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use zone::{suggestion, zone};

/// The times at which a schedule fires: once, at intervals, or by a cron pattern.
///
/// | timing | created by | meaning |
/// |---|---|---|
/// | `Once` | [`once`](Self::once) | an instant |
/// | `At` | [`at`](Self::at) | a local time in a time zone, once |
/// | `Every` | [`every`](Self::every) | an instant, and again after each interval of elapsed time |
/// | `Cron` | [`cron`](Self::cron) | local times in a time zone, by a cron pattern |
///
/// **Daylight saving time.** If a local time is skipped, `Cron` fires at the end of the gap, and
/// `At` fires later by the length of the gap. If a local time is repeated, both fire once, the
/// first time. A cron pattern with a wildcard, a step or a range in its hours or minutes, such as
/// `*/30 * * * *`, follows elapsed time instead: skipped times are skipped, and repeated times
/// fire twice. An `Every` of one day fires after each 24 hours. To fire at the same local time each
/// day, use a cron pattern.
///
/// ```
/// use tool_runtime::schedule::Timing;
/// use tool_runtime::schedule::jiff::Timestamp;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // At 02:30 on the day on which the clocks in Oslo skip from 02:00 to 03:00.
/// let timing = Timing::cron("30 2 * * *", "Europe/Oslo")?;
/// let start: Timestamp = "2027-03-27T12:00:00Z".parse()?;
/// let times: Vec<_> = timing.after(start)?.take(2).map(|it| it.to_string()).collect();
/// assert_eq!(times, ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Timing {
    /// Fires once, at an instant.
    Once {
        /// The instant of the only occurrence.
        at: Timestamp,
    },
    /// Fires once, at a local time in a zone.
    At {
        /// The local date and time.
        time: DateTime,
        /// The name of the time zone, such as `Europe/Oslo`.
        zone: String,
    },
    /// Fires at an instant, and again after each interval.
    Every {
        /// The interval in seconds, at least 1.
        seconds: u32,
        /// The first occurrence, which need not be in the future.
        from: Timestamp,
    },
    /// Fires at the local times that match a cron pattern.
    Cron {
        /// The pattern: minute, hour, day of the month, month and day of the week, and optionally
        /// a second before and a year after them.
        pattern: String,
        /// The name of the time zone, such as `Europe/Oslo`.
        zone: String,
    },
}

/// The reason why a [`Timing`] is not valid. The texts are for models and people.
///
/// ```
/// use tool_runtime::schedule::{Timing, TimingError};
///
/// let error = Timing::cron("0 9 * * *", "Europe/Olso").unwrap_err();
/// assert!(error.to_string().contains("`Europe/Oslo`"), "{error}");
/// assert!(matches!(error, TimingError::Zone { nearest, .. } if nearest[0] == "Europe/Oslo"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimingError {
    /// No time zone has this name.
    #[error("there is no time zone `{name}`{}", suggestion(nearest))]
    Zone {
        /// The name that was given.
        name: String,
        /// The names that are most similar, best first.
        nearest: Vec<String>,
    },
    /// The cron pattern can't be read.
    #[error("cron pattern `{pattern}` is not valid: {reason}")]
    Pattern {
        /// The pattern that was given.
        pattern: String,
        /// The reason why it can't be read.
        reason: String,
    },
    /// The text is no local date and time.
    #[error("`{0}` is not a local date and time such as `2027-03-28T09:00`")]
    Time(String),
    /// The interval is too short or too long.
    #[error("interval of {0:?} is out of range: at least 1 second, at most 136 years")]
    Interval(Duration),
    /// There is no occurrence after the given time.
    #[error("timing has no occurrence after {0}: choose a later time or another pattern")]
    NeverFires(Timestamp),
}

impl Timing {
    /// Creates a timing that fires once, at an instant.
    pub fn once(at: Timestamp) -> Self {
        Self::Once { at }
    }

    /// Creates a timing that fires once, at a local time in a zone, such as `2027-03-28T09:00` in
    /// `Europe/Oslo`.
    ///
    /// The instant is computed when it is needed, so that a later change of the zone's rules
    /// applies.
    ///
    /// # Errors
    /// [`TimingError::Time`] and [`TimingError::Zone`] if a text can't be read.
    pub fn at(time: &str, zone_name: &str) -> Result<Self, TimingError> {
        let time = time.trim();
        let parsed = DateTime::from_str(time).map_err(|_| TimingError::Time(time.to_owned()))?;
        Ok(Self::At { time: parsed, zone: zone(zone_name)?.name })
    }

    /// Creates a timing that fires at an instant, and again after each interval of elapsed time.
    /// Parts of a second are dropped.
    ///
    /// # Errors
    /// [`TimingError::Interval`] if the interval is shorter than a second, or longer than 136
    /// years.
    pub fn every(interval: Duration, from: Timestamp) -> Result<Self, TimingError> {
        match u32::try_from(interval.as_secs()) {
            Ok(seconds @ 1..) => Ok(Self::Every { seconds, from }),
            _ => Err(TimingError::Interval(interval)),
        }
    }

    /// Returns the time zone of the local times, if this timing has any.
    pub(crate) fn own_zone(&self) -> Option<&str> {
        match self {
            Self::At { zone, .. } | Self::Cron { zone, .. } => Some(zone),
            Self::Once { .. } | Self::Every { .. } => None,
        }
    }

    /// Returns the time zone in which times of this timing are shown.
    pub(crate) fn zone_name(&self) -> &str {
        self.own_zone().unwrap_or("UTC")
    }
}

/// Describes the timing for people, such as `cron 0 9 * * 1 in Europe/Oslo`.
impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once { at } => write!(f, "once at {at}"),
            Self::At { time, zone } => write!(f, "once at {time} in {zone}"),
            Self::Every { seconds, from } => {
                let interval = SignedDuration::from_secs(i64::from(*seconds));
                write!(f, "every {interval:#} from {from}")
            }
            Self::Cron { pattern, zone } => write!(f, "cron {pattern} in {zone}"),
        }
    }
}
