//! Decides which occurrences of a schedule are due, and which of them are missed.
//!
//! As in `plan.rs`, times come as arguments, and nothing is read or written.

use jiff::{SignedDuration, Timestamp};

use super::plan::Rules;
use crate::definition::{MAX_MISSED, MissedPolicy};
use crate::outcome::{HistoryEntry, Outcome};
use crate::record::{ScheduleRecord, ScheduleState};
use crate::timing::occurrences::Occurrences;

/// The most missed occurrences that are counted.
const MAX_COUNTED: u64 = 10_000;

/// The due occurrences of a schedule.
#[derive(Debug, Default, PartialEq)]
struct Due {
    missed: Option<MissedRange>,
    /// The occurrence to fire.
    fired: Option<Timestamp>,
}

/// Occurrences that are not fired.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MissedRange {
    first: Timestamp,
    last: Timestamp,
    count: u64,
}

impl ScheduleRecord {
    /// Takes the occurrence to fire, and reports those that are missed. Occurrences that are due
    /// during the delay after a failure wait for its end, when the policy decides about them.
    pub(super) fn take_due(&mut self, now: Timestamp, rules: Rules) -> Option<Timestamp> {
        if self.next_at.max(self.backoff_until).is_some_and(|at| at > now) {
            return None;
        }
        let due = self.due(now, rules.grace);
        if let Some(MissedRange { first, last, count }) = due.missed {
            self.handled_until = last;
            self.report(HistoryEntry::new(first, now, Outcome::Missed { last, count }));
        }
        // After the clock was set back, occurrences that have fired come again.
        let fired = due.fired.filter(|at| !self.has_fired(*at));
        self.handled_until = due.fired.unwrap_or(self.handled_until);
        self.set_next();
        if self.next_at.is_none() && fired.is_none() && self.state == ScheduleState::Active {
            self.state = ScheduleState::Finished;
        }
        fired
    }

    /// Reports the due occurrences of an active schedule as missed, before it is changed.
    pub(crate) fn miss_due(&mut self, now: Timestamp) {
        if self.state != ScheduleState::Active {
            return;
        }
        let last = self.latest_due(now, 1).pop();
        let missed = last.and_then(|last| self.count_missed(None, last));
        if let Some(MissedRange { first, last, count }) = missed {
            self.report(HistoryEntry::new(first, now, Outcome::Missed { last, count }));
        }
    }

    fn due(&self, now: Timestamp, grace: SignedDuration) -> Due {
        let most = match self.schedule.missed {
            MissedPolicy::Skip | MissedPolicy::Once => 1,
            MissedPolicy::All { max_occurrences } => max_occurrences.clamp(1, MAX_MISSED) as usize,
        };
        // The latest occurrences, of at most one more than are fired.
        let latest = self.latest_due(now, most);
        let Some(last) = latest.last().copied() else { return Due::default() };
        let is_late = now.duration_since(last) > grace;
        let first_fired = match self.schedule.missed {
            MissedPolicy::Skip if is_late => None,
            _ => latest.first().copied(),
        };
        let missed = self.count_missed(first_fired, last);
        Due { missed, fired: first_fired }
    }

    /// Returns the latest `most` occurrences that are due, in their order.
    ///
    /// The search looks back from `now` in windows that double, so that it does not visit all
    /// occurrences of a long time.
    fn latest_due(&self, now: Timestamp, most: usize) -> Vec<Timestamp> {
        let Ok(mut occurrences) = Occurrences::new(&self.schedule.timing, self.handled_until)
        else {
            return Vec::new();
        };
        let mut window = SignedDuration::from_mins(1);
        loop {
            let start = earlier(now, window).max(self.handled_until);
            occurrences.skip_to(start);
            let mut latest: Vec<_> =
                occurrences.by_ref().take_while(|occurrence| *occurrence <= now).collect();
            if latest.len() >= most || start == self.handled_until {
                latest.drain(..latest.len().saturating_sub(most));
                return latest;
            }
            window = window.saturating_mul(2);
        }
    }

    /// Counts the occurrences before the first one to fire, or all that are due.
    fn count_missed(
        &self,
        first_fired: Option<Timestamp>,
        last_due: Timestamp,
    ) -> Option<MissedRange> {
        let occurrences = self.schedule.timing.after(self.handled_until).ok()?;
        let mut missed = occurrences
            .take_while(|at| first_fired.map_or(*at <= last_due, |fired| *at < fired))
            .filter(|at| !self.has_fired(*at))
            .take(usize::try_from(MAX_COUNTED).unwrap_or(usize::MAX));
        let first = missed.next()?;
        let (count, last) = missed.fold((1, first), |(count, _), at| (count + 1, at));
        // More were missed than are counted: the range ends just before the first one to fire.
        let last = match first_fired {
            _ if count < MAX_COUNTED => last,
            Some(fired) => earlier(fired, SignedDuration::from_nanos(1)),
            None => last_due,
        };
        Some(MissedRange { first, last, count })
    }

    pub(super) fn set_next(&mut self) {
        match self.schedule.timing.after(self.handled_until) {
            Ok(mut occurrences) => self.next_at = occurrences.next(),
            Err(error) => {
                self.next_at = None;
                self.fail(error.to_string());
            }
        }
    }

    /// Returns whether an occurrence was fired, as far as the history goes back.
    fn has_fired(&self, at: Timestamp) -> bool {
        self.history.iter().any(|entry| {
            entry.at == at
                && matches!(
                    entry.outcome,
                    Outcome::Fired { .. } | Outcome::Failed { .. } | Outcome::Interrupted { .. }
                )
        })
    }
}

fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
