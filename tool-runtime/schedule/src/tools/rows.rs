//! Schedules as the tools list them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;
use tool_core::Row;

use crate::record::{ScheduleRecord, ScheduleState};
use crate::timing::zone::zone;

/// The number of occurrences that are shown.
const NEXT_TIMES: usize = 3;

/// A schedule as the tools list it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ScheduleRow {
    name: String,
    /// `active`, `paused`, `failed: …`, `finished` or `unreadable: …`.
    state: String,
    /// The times at which the schedule fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<String>,
    /// The action of the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    /// The next occurrences, in the time zone of the schedule.
    next: Vec<String>,
    /// The number of occurrences that were fired, failed and were missed.
    #[serde(skip_serializing_if = "Option::is_none")]
    fired: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<u64>,
    /// The outcome of the last occurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
}

impl ScheduleRow {
    pub(crate) fn new(record: &ScheduleRecord) -> Self {
        let schedule = &record.schedule;
        let next = match (&record.state, record.next_at) {
            (ScheduleState::Active, Some(next)) => next_times(record, next),
            _ => Vec::new(),
        };
        let last = record.history.last();
        Self {
            name: schedule.name.clone(),
            state: state(record),
            times: Some(schedule.timing.to_string()),
            action: Some(schedule.action.to_string()),
            next,
            fired: Some(record.counts.fired),
            failed: Some(record.counts.failed),
            missed: Some(record.counts.missed),
            last: last.map(|entry| format!("{}, {}", entry.at, entry.outcome)),
        }
    }

    /// Creates the row of a record that can't be decoded.
    pub(crate) fn corrupt(name: &str, reason: &str) -> Self {
        Self {
            name: name.to_owned(),
            state: format!("unreadable: {reason}"),
            times: None,
            action: None,
            next: Vec::new(),
            fired: None,
            failed: None,
            missed: None,
            last: None,
        }
    }

    /// Returns the name of the schedule.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl From<&ScheduleRow> for Row {
    fn from(row: &ScheduleRow) -> Self {
        Self::new()
            .with("name", row.name.clone())
            .with("state", row.state.clone())
            .with("times", row.times.clone())
            .with("action", row.action.clone())
            .with("next", (!row.next.is_empty()).then(|| row.next.join(", ")))
            .with("fired", row.fired)
            .with("failed", row.failed)
            .with("missed", row.missed)
            .with("last", row.last.clone())
    }
}

/// Describes the state of a schedule, and says how it is resumed if it has failed.
fn state(record: &ScheduleRecord) -> String {
    let ScheduleRecord { state, stop_reason, failures, .. } = record;
    let delay_end = record.backoff_until.filter(|end| record.wake_at() == Some(*end));
    match (state, delay_end) {
        (ScheduleState::Failed, _) => {
            let reason = stop_reason.as_deref().unwrap_or("the reason is not known");
            format!("{state}: {reason}; to resume it, call `schedule_update` with `paused`: false")
        }
        (ScheduleState::Active, Some(end)) => {
            format!("{state}, delayed until {end} after {failures} failures in succession")
        }
        _ => state.to_string(),
    }
}

/// Returns the next occurrences in the zone of the schedule, such as `2027-03-28 Sun 09:00 +02:00`.
fn next_times(record: &ScheduleRecord, next: Timestamp) -> Vec<String> {
    let timing = &record.schedule.timing;
    let zone = zone(timing.zone_name()).map_or(TimeZone::UTC, |named| named.zone);
    let others = timing.after(next).into_iter().flatten();
    std::iter::once(next)
        .chain(others)
        .take(NEXT_TIMES)
        .map(|at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %a %H:%M:%S %:z").to_string())
        .collect()
}
