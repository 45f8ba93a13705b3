//! Computes the occurrences of a timing.

use std::fmt;
use std::iter::FusedIterator;

use croner::errors::CronError;
use croner::parser::CronParser;
use croner::{Cron, JobType};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::zone::zone;
use super::{Timing, TimingError};

impl Timing {
    /// Creates a timing that fires at the local times that match a cron pattern.
    ///
    /// A pattern has five fields: minute, hour, day of the month, month and day of the week. With
    /// six, the first is a second; with seven, the last is a year. If both the day of the month and
    /// the day of the week are restricted, one of them has to match, as in cron. Nicknames such as
    /// `@daily`, and `L`, `W` and `#` are understood.
    ///
    /// # Errors
    /// [`TimingError::Pattern`] and [`TimingError::Zone`] if a text can't be read.
    pub fn cron(pattern: &str, zone_name: &str) -> Result<Self, TimingError> {
        let pattern = pattern.split_whitespace().collect::<Vec<_>>().join(" ");
        let timing = Self::Cron { pattern, zone: zone(zone_name)?.name };
        Occurrences::new(&timing, Timestamp::UNIX_EPOCH)?;
        Ok(timing)
    }

    /// Returns the occurrences after this time, in their order.
    ///
    /// # Errors
    /// Returns an error if the timing was not created by a function of this type, or if the time
    /// zone has been removed from the system.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use tool_runtime::schedule::Timing;
    /// use tool_runtime::schedule::jiff::Timestamp;
    ///
    /// let timing = Timing::every(Duration::from_secs(60), Timestamp::UNIX_EPOCH)?;
    /// let next = timing.after("1970-01-01T00:05:30Z".parse().unwrap())?.next();
    /// assert_eq!(next.unwrap().to_string(), "1970-01-01T00:06:00Z");
    /// # Ok::<(), tool_runtime::schedule::TimingError>(())
    /// ```
    pub fn after(
        &self,
        time: Timestamp,
    ) -> Result<impl FusedIterator<Item = Timestamp> + Clone + fmt::Debug + use<>, TimingError>
    {
        Occurrences::new(self, time)
    }
}

/// Iterator over the occurrences of a timing.
#[derive(Clone, Debug)]
pub(crate) struct Occurrences {
    rule: Rule,
    after: Timestamp,
}

#[derive(Clone, Debug)]
enum Rule {
    Once(Timestamp),
    Every { interval: SignedDuration, from: Timestamp },
    Cron { cron: Box<Cron>, zone: TimeZone },
}

impl Occurrences {
    pub(crate) fn new(timing: &Timing, after: Timestamp) -> Result<Self, TimingError> {
        let rule = match timing {
            Timing::Once { at } => Rule::Once(*at),
            Timing::At { time, zone: name } => {
                // A skipped time is later by the length of the gap; of a repeated one, the first.
                let instant = zone(name)?.zone.to_ambiguous_timestamp(*time).compatible();
                Rule::Once(instant.map_err(|_| TimingError::Time(time.to_string()))?)
            }
            Timing::Every { seconds, from } => {
                let interval = SignedDuration::from_secs(i64::from(*seconds).max(1));
                Rule::Every { interval, from: *from }
            }
            Timing::Cron { pattern, zone: name } => {
                let cron = CronParser::new().parse(pattern).map_err(|error| {
                    TimingError::Pattern { pattern: pattern.clone(), reason: reason(&error) }
                })?;
                Rule::Cron { cron: Box::new(cron), zone: zone(name)?.zone }
            }
        };
        Ok(Self { rule, after })
    }

    /// Continues after this time instead.
    pub(crate) fn skip_to(&mut self, after: Timestamp) {
        self.after = after;
    }
}

impl Iterator for Occurrences {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        let next = match &self.rule {
            Rule::Once(at) => *at,
            Rule::Every { interval, from } => next_of_interval(*interval, *from, self.after)?,
            Rule::Cron { cron, zone } => next_of_cron(cron, zone, self.after)?,
        };
        if next <= self.after {
            return None;
        }
        self.after = next;
        Some(next)
    }
}

impl FusedIterator for Occurrences {}

fn next_of_interval(
    interval: SignedDuration,
    from: Timestamp,
    after: Timestamp,
) -> Option<Timestamp> {
    if after < from {
        return Some(from);
    }
    let (elapsed, length) = (after.duration_since(from).as_secs(), interval.as_secs());
    let seconds = elapsed.checked_div(length)?.checked_add(1)?.checked_mul(length)?;
    from.checked_add(SignedDuration::from_secs(seconds)).ok()
}

fn next_of_cron(cron: &Cron, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let start = after.to_zoned(zone.clone());
    let next = match cron.find_next_occurrence(&start, false) {
        Ok(next) => Some(next.timestamp()),
        Err(CronError::TimeSearchLimitExceeded) => None,
        Err(_) => return None,
    };
    if cron.determine_job_type() != JobType::FixedTime {
        return next;
    }
    let after_gap = after_gap(cron, zone, start.datetime()).filter(|end| *end > after);
    next.into_iter().chain(after_gap).min()
}

/// Returns the end of the gap in which the next local time is, if it is in one. The search of
/// croner does not find it in two cases: the gap is longer than two hours, such as the day that
/// Samoa skipped when it moved over the date line, or it ends on a day that the pattern excludes,
/// such as the last half hour of a Friday that North Korea skipped.
fn after_gap(cron: &Cron, zone: &TimeZone, start: DateTime) -> Option<Timestamp> {
    let local = cron.find_next_occurrence(&start, false).ok()?;
    let AmbiguousOffset::Gap { before, .. } = zone.to_ambiguous_timestamp(local).offset() else {
        return None;
    };
    // As if the clock had not been changed, this is at the change or after it.
    let instant =
        before.to_timestamp(local).ok()?.checked_add(SignedDuration::from_secs(1)).ok()?;
    zone.preceding(instant).next().map(|change| change.timestamp())
}

/// Returns the reason without the name of the type that croner begins it with.
fn reason(error: &CronError) -> String {
    match error {
        CronError::EmptyPattern => "it is empty".into(),
        CronError::InvalidPattern(text)
        | CronError::IllegalCharacters(text)
        | CronError::ComponentError(text) => text.trim_end_matches('.').into(),
        other => other.to_string().trim_end_matches('.').into(),
    }
}
