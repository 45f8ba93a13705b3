//! Events: what a scheduler did with its schedules, and errors of the store.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use tool_core::records::{CorruptRecord, StoreError};

use crate::outcome::{HistoryEntry, Outcome};
use crate::record::{Retry, ScheduleRecord, ScheduleState};

/// Something that a [`Scheduler`](crate::Scheduler) did with a schedule, or an error that it met.
///
/// The scheduler emits an event after it has saved the change. Its text is one line for a log, and
/// has errors of actions, but not their output.
///
/// ```
/// use tool_runtime::schedule::ScheduleEvent;
///
/// let error = "store unavailable: the disk is full".to_owned();
/// let event = ScheduleEvent::StoreFailed { error };
/// assert_eq!(event.to_string(), "store unavailable: the disk is full");
/// assert!(event.is_warning());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ScheduleEvent {
    /// An outcome was added to the history of a schedule: it fired, failed, was missed or was
    /// interrupted, or the clock was set back.
    Recorded {
        /// The principal of the schedule.
        principal: String,
        /// The name of the schedule.
        schedule: String,
        /// The entry of the history.
        entry: HistoryEntry,
    },
    /// An attempt failed or was interrupted, and the occurrence is retried.
    RetryPlanned {
        /// The principal of the schedule.
        principal: String,
        /// The name of the schedule.
        schedule: String,
        /// The next attempt, and the error of the last one.
        retry: Retry,
        /// The time until the next attempt.
        delay: SignedDuration,
    },
    /// A schedule stopped: it has [failed](ScheduleState::Failed), or it has
    /// [no further occurrence](ScheduleState::Finished).
    Stopped {
        /// The principal of the schedule.
        principal: String,
        /// The name of the schedule.
        schedule: String,
        /// The state of the schedule.
        state: ScheduleState,
        /// The reason why the schedule failed.
        reason: Option<String>,
    },
    /// A record can't be decoded. The schedule does not fire until the record is repaired or
    /// deleted; other schedules do. The event is emitted once for each revision of the record.
    Corrupt {
        /// The record, with the reason.
        record: CorruptRecord,
    },
    /// An operation of the store failed. A poll is repeated after the
    /// [interval](crate::Scheduler::poll_interval). If a result can't be saved, it is lost, and the
    /// occurrence is reported as [interrupted](Outcome::Interrupted).
    StoreFailed {
        /// The text of the error.
        error: String,
    },
}

impl ScheduleEvent {
    /// Returns whether a person should read the event. Occurrences that fired, and schedules
    /// without a further occurrence, are no warnings.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::Recorded { entry, .. } => !matches!(entry.outcome, Outcome::Fired { .. }),
            Self::Stopped { state, .. } => *state != ScheduleState::Finished,
            _ => true,
        }
    }

    /// Returns the events of a change that a scheduler made to a record.
    pub(crate) fn of_change(
        before: &ScheduleRecord,
        after: &ScheduleRecord,
        now: Timestamp,
    ) -> Vec<Self> {
        let (principal, schedule) = (&after.schedule.principal, &after.schedule.name);
        let of_schedule = || (principal.clone(), schedule.clone());
        let is_new = |entry: &&HistoryEntry| !before.history.contains(entry);
        let mut entries: Vec<_> = after.history.iter().rev().take_while(is_new).collect();
        entries.reverse();
        let recorded = entries.into_iter().map(|entry| {
            let (principal, schedule) = of_schedule();
            Self::Recorded { principal, schedule, entry: entry.clone() }
        });
        let retry = after.retry.as_ref().filter(|_| before.retry.is_none()).map(|retry| {
            let (principal, schedule) = of_schedule();
            let delay = retry.not_before.duration_since(now);
            Self::RetryPlanned { principal, schedule, retry: retry.clone(), delay }
        });
        let stopped = (before.state != after.state).then(|| {
            let (principal, schedule) = of_schedule();
            let (state, reason) = (after.state, after.stop_reason.clone());
            Self::Stopped { principal, schedule, state, reason }
        });
        recorded.chain(retry).chain(stopped).collect()
    }
}

impl fmt::Display for ScheduleEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded { principal, schedule, entry } => {
                write!(f, "schedule `{schedule}` of `{principal}`: ")?;
                let at = entry.at;
                match &entry.outcome {
                    // The summary quotes the answer, which does not belong into a log.
                    Outcome::Fired { .. } => write!(f, "occurrence {at} fired"),
                    Outcome::Missed { last, count } => {
                        write!(f, "missed occurrences ({count}) from {at} until {last}")
                    }
                    Outcome::ClockSetBack { from } => {
                        write!(f, "clock set back from {from} to {at}")
                    }
                    outcome => write!(f, "occurrence {at} {outcome}"),
                }
            }
            Self::RetryPlanned { principal, schedule, retry, delay } => {
                let Retry { at, attempt, error, .. } = retry;
                write!(f, "schedule `{schedule}` of `{principal}`: occurrence {at} ")?;
                write!(f, "is retried in {delay:#} (attempt {attempt}): {error}")
            }
            Self::Stopped { principal, schedule, state, reason } => {
                write!(f, "schedule `{schedule}` of `{principal}` stopped: {state}")?;
                reason.iter().try_for_each(|reason| write!(f, ": {reason}"))
            }
            Self::Corrupt { record } => StoreError::from(record.clone()).fmt(f),
            Self::StoreFailed { error } => f.write_str(error),
        }
    }
}
