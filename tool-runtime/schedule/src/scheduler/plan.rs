//! Decides what a scheduler does with a record: claims of occurrences, and their outcomes.
//!
//! Times come as arguments, and nothing is read or written: a scheduler saves the changed record
//! before it fires.

use jiff::{SignedDuration, Timestamp};

use crate::definition::{MAX_MISSED, MissedPolicy};
use crate::outcome::{HistoryEntry, MAX_HISTORY, Outcome};
use crate::record::{Claim, Retry, ScheduleRecord, ScheduleState};
use crate::timing::occurrences::Occurrences;

/// The most missed occurrences that are counted.
const MAX_COUNTED: u64 = 10_000;

/// A clock that is set back by more than this restarts the schedule from the new time.
const MAX_CLOCK_ERROR: SignedDuration = SignedDuration::from_hours(24);

/// The wait before the second attempt; each further one waits twice as long.
const RETRY_DELAY: SignedDuration = SignedDuration::from_secs(30);

/// The longest wait before an attempt.
const MAX_RETRY_DELAY: SignedDuration = SignedDuration::from_hours(1);

/// The settings of a scheduler that decisions depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) lease: SignedDuration,
    pub(crate) grace: SignedDuration,
    pub(crate) max_failures: u32,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    Fired { summary: String },
    Failed { error: String, is_retryable: bool },
}

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
    /// Claims the occurrence that is due at `now`, if there is one.
    ///
    /// The record changes even if there is none: missed occurrences are reported, and a claim whose
    /// scheduler has ended is removed.
    pub(crate) fn claim(
        &mut self,
        now: Timestamp,
        rules: Rules,
        claimant: &str,
        is_repeatable: bool,
    ) -> Option<Claim> {
        if self.is_claimed(now, rules) {
            return None;
        }
        if let Some(firing) = self.firing.take() {
            self.interrupt(&firing, now);
        }
        if self.state != ScheduleState::Active {
            return None;
        }
        self.follow_clock(now);
        let (at, attempt) = match self.retry.take_if(|retry| retry.not_before <= now) {
            Some(retry) => (retry.at, retry.attempt),
            None if self.retry.is_some() => return None,
            None => (self.take_due(now, rules)?, 1),
        };
        let firing = Claim {
            at,
            attempt,
            lease_until: later(now, rules.lease),
            claimant: claimant.to_owned(),
            is_repeatable,
        };
        self.firing = Some(firing.clone());
        Some(firing)
    }

    /// Extends the lease of a claim. Returns `false` if the claim is lost.
    pub(crate) fn extend(&mut self, claim: &Claim, now: Timestamp, rules: Rules) -> bool {
        match &mut self.firing {
            Some(firing) if is_same(firing, claim) => {
                firing.lease_until = later(now, rules.lease);
                true
            }
            _ => false,
        }
    }

    /// Records the result of a claimed occurrence. If the claim was lost meanwhile, the entry that
    /// reports it as interrupted is corrected.
    pub(crate) fn finish(
        &mut self,
        claim: &Claim,
        result: AttemptResult,
        now: Timestamp,
        rules: Rules,
    ) {
        let is_current = self.firing.as_ref().is_some_and(|firing| is_same(firing, claim));
        if is_current {
            self.firing = None;
            let may_retry = self.state == ScheduleState::Active
                && claim.attempt <= self.schedule.max_retries
                && matches!(result, AttemptResult::Failed { is_retryable: true, .. });
            if may_retry {
                self.retry = Some(next_attempt(claim, now));
                return;
            }
        } else if !self.remove_interrupted(claim) {
            return;
        }
        let attempts = claim.attempt;
        let outcome = match result {
            AttemptResult::Fired { summary } => {
                self.failures = 0;
                Outcome::Fired { attempts, summary }
            }
            AttemptResult::Failed { error, .. } => {
                self.failures = self.failures.saturating_add(1);
                Outcome::Failed { attempts, error }
            }
        };
        self.report(HistoryEntry::new(claim.at, now, outcome));
        if self.state != ScheduleState::Active {
            return;
        }
        if self.next_at.is_none() && self.firing.is_none() && self.retry.is_none() {
            self.state = ScheduleState::Finished;
        } else if self.failures >= rules.max_failures {
            let reason = format!("{} firings failed in succession", self.failures);
            self.state = ScheduleState::Failed { reason };
        }
    }

    /// Returns whether the record waits for a time that a wrong clock has set.
    pub(crate) fn is_ahead(&self, now: Timestamp, rules: Rules) -> bool {
        match &self.firing {
            Some(firing) => firing.lease_until > now && !self.is_claimed(now, rules),
            None => {
                self.state == ScheduleState::Active
                    && self.handled_until.duration_since(now) > MAX_CLOCK_ERROR
            }
        }
    }

    /// Returns whether another scheduler fires an occurrence. A lease that ends later than any
    /// scheduler grants was granted before the clock was set back.
    fn is_claimed(&self, now: Timestamp, rules: Rules) -> bool {
        let longest = later(later(now, rules.lease), rules.lease);
        self.firing
            .as_ref()
            .is_some_and(|firing| firing.lease_until > now && firing.lease_until <= longest)
    }

    /// Reports an occurrence whose scheduler has ended, or repeats it if that is safe.
    fn interrupt(&mut self, firing: &Claim, now: Timestamp) {
        let attempts = firing.attempt;
        let may_retry = firing.is_repeatable
            && attempts <= self.schedule.max_retries
            && self.state == ScheduleState::Active;
        if may_retry {
            self.retry = Some(Retry { not_before: now, ..next_attempt(firing, now) });
            return;
        }
        self.report(HistoryEntry::new(firing.at, now, Outcome::Interrupted { attempts }));
        if self.next_at.is_none() && self.state == ScheduleState::Active {
            self.state = ScheduleState::Finished;
        }
    }

    /// Restarts from `now` if the clock was set back so far that the schedule would wait for long.
    fn follow_clock(&mut self, now: Timestamp) {
        let from = self.handled_until;
        if from.duration_since(now) <= MAX_CLOCK_ERROR {
            return;
        }
        self.report(HistoryEntry::new(now, now, Outcome::ClockSetBack { from }));
        self.handled_until = now;
        if let Some(retry) = &mut self.retry {
            retry.not_before = retry.not_before.min(later(now, MAX_RETRY_DELAY));
        }
        self.set_next();
    }

    /// Takes the occurrence to fire, and reports those that are missed.
    fn take_due(&mut self, now: Timestamp, rules: Rules) -> Option<Timestamp> {
        if self.next_at.is_some_and(|next| next > now) {
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

    fn set_next(&mut self) {
        match self.schedule.timing.after(self.handled_until) {
            Ok(mut occurrences) => self.next_at = occurrences.next(),
            Err(error) => {
                self.next_at = None;
                self.state = ScheduleState::Failed { reason: error.to_string() };
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

    /// Removes the entry that reports a claim as interrupted. Returns whether there is one.
    fn remove_interrupted(&mut self, claim: &Claim) -> bool {
        let is_interrupted = |entry: &HistoryEntry| {
            entry.at == claim.at
                && entry.outcome == Outcome::Interrupted { attempts: claim.attempt }
        };
        let Some(at) = self.history.iter().rposition(is_interrupted) else { return false };
        self.history.remove(at);
        self.counts.missed = self.counts.missed.saturating_sub(1);
        true
    }

    /// Adds an entry to the history, and counts its occurrences.
    pub(crate) fn report(&mut self, entry: HistoryEntry) {
        match &entry.outcome {
            Outcome::Fired { .. } => self.counts.fired += 1,
            Outcome::Failed { .. } => self.counts.failed += 1,
            Outcome::Missed { count, .. } => self.counts.missed += count,
            Outcome::Interrupted { .. } => self.counts.missed += 1,
            Outcome::ClockSetBack { .. } => {}
        }
        self.history.push(entry);
        let surplus = self.history.len().saturating_sub(MAX_HISTORY);
        self.history.drain(..surplus);
    }
}

fn is_same(firing: &Claim, claim: &Claim) -> bool {
    (firing.at, firing.attempt, &firing.claimant) == (claim.at, claim.attempt, &claim.claimant)
}

fn next_attempt(firing: &Claim, now: Timestamp) -> Retry {
    let doublings = firing.attempt.saturating_sub(1).min(20);
    let delay = RETRY_DELAY.saturating_mul(1 << doublings).min(MAX_RETRY_DELAY);
    Retry {
        at: firing.at,
        attempt: firing.attempt.saturating_add(1),
        not_before: later(now, delay),
    }
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_sub(by).unwrap_or(Timestamp::MIN)
}
