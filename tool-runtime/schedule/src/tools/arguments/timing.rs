//! The arguments that state when a schedule fires.

use std::str::FromStr;
use std::time::Duration;

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, Zoned};

use super::Problems;
use crate::timing::zone;
use crate::timing::{Timing, TimingError};

/// The number of fields of a cron pattern.
const FIELDS: usize = 5;

/// The arguments that state when a schedule fires.
#[derive(Debug, Default)]
pub(crate) struct TimingArguments {
    pub(crate) at: Option<String>,
    pub(crate) every: Option<String>,
    pub(crate) cron: Option<String>,
    pub(crate) zone: Option<String>,
}

impl TimingArguments {
    pub(crate) fn is_empty(&self) -> bool {
        self.has_no_time() && self.zone.is_none()
    }

    fn has_no_time(&self) -> bool {
        self.at.is_none() && self.every.is_none() && self.cron.is_none()
    }

    /// Reads the timing that replaces another one, whose zone and local times stay unless the
    /// arguments have others.
    pub(crate) fn replacement(
        self,
        current: &Timing,
        default_zone: &str,
        now: Timestamp,
        problems: &mut Problems,
    ) -> Option<Timing> {
        match (current, &self.zone) {
            (_, Some(zone)) if self.has_no_time() => {
                let timing = moved(current, zone).map_err(|error| ("zone", error));
                checked(timing, now, problems)
            }
            _ => self.timing(current.own_zone().unwrap_or(default_zone), now, problems),
        }
    }

    /// Checks the timing as far as that needs no schedule.
    pub(crate) fn check_replacement(
        self,
        default_zone: &str,
        now: Timestamp,
        problems: &mut Problems,
    ) {
        if !self.has_no_time() {
            self.timing(default_zone, now, problems);
        } else if let Some(Err(error)) = self.zone.as_deref().map(zone::zone) {
            problems.push(format!("`zone`: {error}."));
        }
    }

    /// Reads the timing. The time zone applies to local times, unless the arguments have one.
    pub(crate) fn timing(
        self,
        default_zone: &str,
        now: Timestamp,
        problems: &mut Problems,
    ) -> Option<Timing> {
        let named = zone::zone(self.zone.as_deref().unwrap_or(default_zone));
        // With another zone, the other arguments are still checked.
        let zone = named.as_ref().map_or("UTC", |named| &named.name);
        let timing = match (self.at, self.every, self.cron) {
            (Some(at), None, None) => instant(&at, zone).map_err(|error| ("at", error)),
            (at, Some(every), None) => interval(&every).and_then(|interval| {
                let first = match at {
                    Some(at) => first_occurrence(&at, zone).map_err(|error| ("at", error))?,
                    None => now
                        .checked_add(SignedDuration::try_from(interval).unwrap_or_default())
                        .map_err(|_| ("every", TimingError::Interval(interval).to_string()))?,
                };
                Timing::every(interval, first).map_err(|error| ("every", error.to_string()))
            }),
            (None, None, Some(pattern)) => cron(&pattern, zone),
            (None, None, None) => {
                problems.push(
                    "The time is missing: send `at` (once), `every` (an interval) or `cron`.",
                );
                return None;
            }
            _ => {
                problems.push(
                    "Send one of `at`, `every` and `cron`. Only `every` can be combined with \
                     `at`, the first time.",
                );
                return None;
            }
        };
        let timing = checked(timing, now, problems);
        if let Err(error) = &named {
            problems.push(format!("`zone`: {error}."));
        }
        timing.filter(|_| named.is_ok())
    }
}

/// Returns a timing, and reports the argument that it can't be read from, or that it never fires.
fn checked(
    timing: Result<Timing, (&'static str, String)>,
    now: Timestamp,
    problems: &mut Problems,
) -> Option<Timing> {
    match timing {
        Ok(timing) => {
            let next = timing.after(now).map(|mut occurrences| occurrences.next());
            if !matches!(next, Ok(Some(_))) {
                problems.push(format!(
                    "The schedule would never fire: there is no time after {now} ({timing})."
                ));
            }
            Some(timing)
        }
        Err((argument, error)) => {
            problems.push(format!("`{argument}`: {error}."));
            None
        }
    }
}

/// Returns the timing with the same local times in another zone.
fn moved(timing: &Timing, zone: &str) -> Result<Timing, String> {
    let moved = match timing {
        Timing::At { time, .. } => Timing::at(&time.to_string(), zone),
        Timing::Cron { pattern, .. } => Timing::cron(pattern, zone),
        Timing::Once { .. } | Timing::Every { .. } => {
            return Err(format!(
                "the schedule has no local times ({timing}): send `at`, `every` or `cron` as well"
            ));
        }
    };
    moved.map_err(|error| error.to_string())
}

/// Reads a cron pattern of five fields, or a nickname. A sixth field is a second before the others
/// to some programs, and a year after them to others.
fn cron(pattern: &str, zone: &str) -> Result<Timing, (&'static str, String)> {
    let fields = pattern.split_whitespace().count();
    if fields > FIELDS {
        let error = format!(
            "`{pattern}` has {fields} fields: send five, which are minute, hour, day of the month, \
             month and day of the week, such as `0 9 * * 1-5`, or `every` for times in seconds"
        );
        return Err(("cron", error));
    }
    Timing::cron(pattern, zone)
        .map_err(|error| ("cron", format!("{error}; an example is `0 9 * * 1-5`")))
}

/// Reads a time with an offset, a local time with a zone, or a local time in the given zone.
fn instant(text: &str, zone: &str) -> Result<Timing, String> {
    let text = text.trim();
    if let Ok(zoned) = Zoned::from_str(text)
        && let Some(name) = zoned.time_zone().iana_name()
    {
        let timing =
            Timing::at(&zoned.datetime().to_string(), name).map_err(|error| error.to_string())?;
        let first = timing.after(Timestamp::MIN).ok().and_then(|mut it| it.next());
        // The offset may say that a repeated local time is meant the second time.
        let is_same = first == Some(zoned.timestamp());
        return Ok(if is_same { timing } else { Timing::once(zoned.timestamp()) });
    }
    if let Ok(at) = Timestamp::from_str(text) {
        return Ok(Timing::once(at));
    }
    Timing::at(text, zone).map_err(|error| match error {
        TimingError::Time(_) => {
            format!("{error}, and no time with an offset such as `2027-03-28T09:00+01:00`")
        }
        error => error.to_string(),
    })
}

fn first_occurrence(text: &str, zone: &str) -> Result<Timestamp, String> {
    let mut occurrences =
        instant(text, zone)?.after(Timestamp::MIN).map_err(|error| error.to_string())?;
    occurrences.next().ok_or_else(|| "the time is out of range".to_owned())
}

/// Reads an interval such as `15m`, `1h 30m` or `PT15M`. A day has 24 hours.
fn interval(text: &str) -> Result<Duration, (&'static str, String)> {
    let duration = Span::from_str(text.trim())
        .ok()
        .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    let Some(duration) = duration else {
        let error = format!(
            "`{text}` is not an interval in days or shorter units, such as `15m`, `2h 30m` or `1d`"
        );
        return Err(("every", error));
    };
    Duration::try_from(duration).map_err(|_| {
        let error = format!(
            "`{text}` is a negative interval: send a positive one, such as `15m`, `2h 30m` or `1d`"
        );
        ("every", error)
    })
}
