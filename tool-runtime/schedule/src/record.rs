//! Records: schedules as they are stored, with their state.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::definition::Schedule;
use crate::outcome::{HistoryEntry, OccurrenceCounts, Outcome};
use crate::timing::TimingError;

/// The state of a schedule: whether it fires.
///
/// ```
/// use tool_runtime::schedule::ScheduleState;
///
/// assert_eq!(ScheduleState::Failed.to_string(), "failed");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScheduleState {
    /// The schedule fires at its times.
    #[default]
    Active,
    /// The schedule does not fire until it is resumed.
    Paused,
    /// The schedule has failed, for a [reason](ScheduleRecord::stop_reason), and does not fire
    /// until [`resume`](ScheduleRecord::resume) or [`set_schedule`](ScheduleRecord::set_schedule)
    /// succeeds.
    Failed,
    /// The schedule has no further occurrence.
    Finished,
}

impl fmt::Display for ScheduleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Finished => "finished",
        })
    }
}

/// The claim of a scheduler for the occurrence that it fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The time of the occurrence.
    pub(crate) at: Timestamp,
    /// The number of this attempt, from 1.
    pub(crate) attempt: u32,
    /// The time until which the claim is valid unless its scheduler extends it.
    pub(crate) lease_until: Timestamp,
    /// The random name of the scheduler that fires it.
    pub(crate) claimant: String,
    /// Whether the action may be repeated if the scheduler ends before the action has ended.
    pub(crate) is_repeatable: bool,
}

/// A planned further attempt at an occurrence.
///
/// ```
/// use tool_runtime::schedule::Retry;
///
/// let retry: Retry = serde_json::from_str(
///     r#"{"at": "2027-01-01T09:00:00Z", "attempt": 2, "not_before": "2027-01-01T09:00:30Z"}"#,
/// )?;
/// assert_eq!(retry.attempt, 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Retry {
    /// The time of the occurrence.
    pub at: Timestamp,
    /// The number of the attempt, from 2.
    pub attempt: u32,
    /// The earliest time of the attempt.
    pub not_before: Timestamp,
    /// The reason why the attempt before did not succeed.
    #[serde(default)]
    pub error: String,
}

/// A schedule with its state, as it is [stored](crate::Schedules).
///
/// A record is plain data: change it, and save it. The store refuses the record if another writer
/// has changed it meanwhile.
///
/// ```
/// use tool_runtime::schedule::{Action, Schedule, ScheduleRecord, ScheduleState, Timing};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let timing = Timing::cron("0 9 * * *", "UTC")?;
/// let schedule = Schedule::new("mail", timing, Action::prompt("Any mail?"), "ada");
/// let mut record = ScheduleRecord::new(schedule, "2027-01-01T12:00:00Z".parse()?)?;
/// assert_eq!(record.next_at, Some("2027-01-02T09:00:00Z".parse()?));
///
/// record.pause();
/// assert_eq!(record.state, ScheduleState::Paused);
/// // Occurrences of the meantime are not missed.
/// record.resume("2027-01-05T12:00:00Z".parse()?)?;
/// assert_eq!(record.next_at, Some("2027-01-06T09:00:00Z".parse()?));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScheduleRecord {
    /// The schedule as it was created or last changed.
    pub schedule: Schedule,
    /// Whether the schedule fires.
    pub state: ScheduleState,
    /// The reason why the schedule has failed; `None` in other states.
    #[serde(default)]
    pub stop_reason: Option<String>,
    /// The time at which the schedule was created.
    pub created_at: Timestamp,
    /// The time up to which all occurrences have been fired or reported.
    pub handled_until: Timestamp,
    /// The next occurrence; `None` if there is none.
    pub next_at: Option<Timestamp>,
    /// The occurrence that is being fired.
    pub(crate) firing: Option<Claim>,
    /// The attempt that follows a failed one.
    pub retry: Option<Retry>,
    /// The number of occurrences that have failed in succession.
    pub failures: u32,
    /// The time before which no occurrence fires, because the last one failed.
    #[serde(default)]
    pub backoff_until: Option<Timestamp>,
    /// The number of occurrences by their outcomes.
    pub counts: OccurrenceCounts,
    /// The latest outcomes, oldest first.
    pub history: Vec<HistoryEntry>,
    /// The revision that the store has given to the record, or 0 if it was never saved.
    #[serde(skip)]
    pub revision: u64,
}

impl ScheduleRecord {
    /// Creates the record of a new schedule.
    ///
    /// # Errors
    /// [`TimingError::NeverFires`] if there is no occurrence after `now`, and other errors if the
    /// timing is not valid.
    pub fn new(schedule: Schedule, now: Timestamp) -> Result<Self, TimingError> {
        let mut record = Self {
            schedule,
            state: ScheduleState::Active,
            stop_reason: None,
            created_at: now,
            handled_until: now,
            next_at: None,
            firing: None,
            retry: None,
            failures: 0,
            backoff_until: None,
            counts: OccurrenceCounts::default(),
            history: Vec::new(),
            revision: 0,
        };
        record.resume(now)?;
        Ok(record)
    }

    /// Replaces the schedule; its principal and its name stay. Occurrences that were due before
    /// `now` are not fired any more: those of an active schedule are reported as
    /// [missed](Outcome::Missed).
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new), and leaves the record unchanged.
    pub fn set_schedule(&mut self, schedule: Schedule, now: Timestamp) -> Result<(), TimingError> {
        let next = first_after(&schedule, now)?;
        let is_paused = self.state == ScheduleState::Paused;
        self.interrupt_retry(now);
        self.miss_due(now);
        let Schedule { name, principal, .. } = self.schedule.clone();
        self.schedule = Schedule { name, principal, ..schedule };
        self.restart(next, now);
        if is_paused {
            self.pause();
        }
        Ok(())
    }

    /// Stops the schedule from firing. An occurrence that is being fired continues.
    pub fn pause(&mut self) {
        self.state = ScheduleState::Paused;
        self.stop_reason = None;
    }

    /// Lets the schedule fire again, from the next occurrence after `now`. A pending retry is
    /// reported as [interrupted](Outcome::Interrupted). If the schedule is active, occurrences that
    /// were due before `now` are reported as [missed](Outcome::Missed).
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new), and leaves the record unchanged.
    pub fn resume(&mut self, now: Timestamp) -> Result<(), TimingError> {
        let next = first_after(&self.schedule, now)?;
        self.interrupt_retry(now);
        self.miss_due(now);
        self.restart(next, now);
        Ok(())
    }

    /// Makes the schedule active from `now` on.
    fn restart(&mut self, next: Timestamp, now: Timestamp) {
        self.next_at = Some(next);
        self.handled_until = now;
        self.state = ScheduleState::Active;
        self.stop_reason = None;
        self.forget_failures();
    }

    /// Stops the schedule for a reason.
    pub(crate) fn fail(&mut self, reason: impl Into<String>) {
        self.state = ScheduleState::Failed;
        self.stop_reason = Some(reason.into());
    }

    /// Ends the delay after failures.
    pub(crate) fn forget_failures(&mut self) {
        self.failures = 0;
        self.backoff_until = None;
    }

    /// Reports a pending retry.
    fn interrupt_retry(&mut self, now: Timestamp) {
        if let Some(retry) = self.retry.take() {
            let outcome = Outcome::Interrupted { attempts: retry.attempt.saturating_sub(1) };
            self.report(HistoryEntry::new(retry.at, now, outcome));
        }
    }

    /// Returns the time of the occurrence that is being fired; `None` if there is none.
    pub fn firing_at(&self) -> Option<Timestamp> {
        self.firing.as_ref().map(|firing| firing.at)
    }

    /// Returns the time at which a scheduler has to examine the record; `None` if there is none.
    ///
    /// Stored records are in the order of this time.
    pub fn wake_at(&self) -> Option<Timestamp> {
        if let Some(firing) = &self.firing {
            return Some(firing.lease_until);
        }
        if self.state != ScheduleState::Active {
            return None;
        }
        match &self.retry {
            Some(retry) => Some(retry.not_before),
            None => self.next_at.max(self.next_at.and(self.backoff_until)),
        }
    }
}

/// Returns the first occurrence of a schedule after `now`.
fn first_after(schedule: &Schedule, now: Timestamp) -> Result<Timestamp, TimingError> {
    schedule.timing.after(now)?.next().ok_or(TimingError::NeverFires(now))
}
