//! The metadata of the runs and calls of an attempt, and its result.

use std::fmt;

use super::plan::AttemptResult;
use crate::definition::Schedule;
use crate::record::Claim;

/// The key of the metadata that names the principal of a run or a call which a schedule fired.
pub const PRINCIPAL: &str = "principal";

/// The key of the metadata that names the schedule of such a run or call.
pub(super) const SCHEDULE: &str = "schedule";

/// The most characters of an answer or an error in the history.
const MAX_SUMMARY: usize = 200;

pub(super) fn metadata(schedule: &Schedule, firing: &Claim) -> [(&'static str, String); 3] {
    [
        (PRINCIPAL, schedule.principal.clone()),
        (SCHEDULE, schedule.name.clone()),
        ("occurrence", firing.at.to_string()),
    ]
}

pub(super) fn fired(text: &str) -> AttemptResult {
    AttemptResult::Fired { summary: truncated(text) }
}

pub(super) fn failed(error: impl fmt::Display, is_retryable: bool) -> AttemptResult {
    AttemptResult::Failed { error: truncated(&error.to_string()), is_retryable }
}

fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_SUMMARY) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
