//! The outcomes of occurrences.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The maximum number of entries of the history of a schedule. Older entries are dropped, and more
/// of them if the [record](crate::Schedules::save) would be too large for a store.
pub const MAX_HISTORY: usize = 200;

/// An entry of the history of a schedule: an occurrence, and its outcome.
///
/// ```
/// use tool_runtime::schedule::{HistoryEntry, Outcome};
///
/// let entry: HistoryEntry = serde_json::from_str(
///     r#"{"at": "2027-01-01T09:00:00Z", "recorded_at": "2027-01-01T09:00:02Z",
///         "outcome": {"kind": "fired", "attempts": 1, "summary": "Done."}}"#,
/// )?;
/// assert!(matches!(entry.outcome, Outcome::Fired { attempts: 1, .. }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryEntry {
    /// The time of the occurrence, or of the first of several.
    pub at: Timestamp,
    /// The time at which the entry was recorded.
    pub recorded_at: Timestamp,
    /// The outcome of the occurrence.
    pub outcome: Outcome,
}

impl HistoryEntry {
    pub(crate) fn new(at: Timestamp, recorded_at: Timestamp, outcome: Outcome) -> Self {
        Self { at, recorded_at, outcome }
    }
}

/// Whether an occurrence was fired, and the result of its action.
///
/// ```
/// use tool_runtime::schedule::Outcome;
///
/// let outcome = Outcome::Fired { attempts: 1, summary: "Sent.".into() };
/// assert_eq!(outcome.to_string(), "fired: Sent.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// The action was performed.
    Fired {
        /// The number of attempts that were made.
        attempts: u32,
        /// The beginning of the answer or the output.
        summary: String,
    },
    /// The action returned an error.
    Failed {
        /// The number of attempts that were made.
        attempts: u32,
        /// The text of the error.
        error: String,
    },
    /// Occurrences were not fired.
    Missed {
        /// The time of the last of them.
        last: Timestamp,
        /// The number of occurrences; if there are more than 10,000, a lower bound.
        count: u64,
    },
    /// The scheduler ended while it fired the occurrence. The action may or may not have been
    /// performed, and is not repeated.
    Interrupted {
        /// The number of attempts that were started.
        attempts: u32,
    },
    /// The clock was set back by more than a day. Occurrences before this time that have fired
    /// already do not fire again.
    ClockSetBack {
        /// The time of the last occurrence before the change.
        from: Timestamp,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fired { summary, .. } => write!(f, "fired: {summary}"),
            Self::Failed { error, .. } => write!(f, "failed: {error}"),
            Self::Missed { count, last } => write!(f, "missed: {count} until {last}"),
            Self::Interrupted { .. } => f.write_str("interrupted: it may have run"),
            Self::ClockSetBack { from } => write!(f, "clock set back from {from}"),
        }
    }
}

/// The number of occurrences of a schedule by their outcomes.
///
/// ```
/// use tool_runtime::schedule::OccurrenceCounts;
///
/// assert_eq!(OccurrenceCounts::default().missed, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OccurrenceCounts {
    /// The number of occurrences that were fired.
    pub fired: u64,
    /// The number of occurrences whose action failed.
    pub failed: u64,
    /// The number of occurrences that were missed or interrupted.
    pub missed: u64,
}
