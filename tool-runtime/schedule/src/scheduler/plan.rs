//! Decides what a scheduler does with a record: claims of occurrences, and their outcomes.
//!
//! Times come as arguments, and nothing is read or written: a scheduler saves the changed record
//! before it fires.

use jiff::{SignedDuration, Timestamp};

use super::delay::{LONGEST, delay, later};
use crate::outcome::{HistoryEntry, MAX_HISTORY, Outcome};
use crate::record::{Claim, Retry, ScheduleRecord, ScheduleState};

/// A clock that is set back by more than this restarts the schedule from the new time.
const MAX_CLOCK_ERROR: SignedDuration = SignedDuration::from_hours(24);

/// The settings of a scheduler that decisions depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) lease: SignedDuration,
    pub(crate) grace: SignedDuration,
    /// `None` for no limit.
    pub(crate) max_failures: Option<u32>,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    Fired {
        summary: String,
    },
    Failed {
        error: String,
        is_retryable: bool,
    },
    /// The principal has no executor, which stops the schedule.
    NoExecutor,
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
            // A retry is saved, and so emitted, before it is claimed.
            if self.retry.is_some() {
                return None;
            }
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
            if let AttemptResult::Failed { error, is_retryable: true } = &result
                && self.state == ScheduleState::Active
                && claim.attempt <= self.schedule.max_retries
            {
                self.retry = Some(next_attempt(claim, error.clone(), now));
                return;
            }
        } else if !self.remove_interrupted(claim) {
            return;
        }
        let attempts = claim.attempt;
        let mut has_executor = true;
        let outcome = match result {
            AttemptResult::Fired { summary } => Outcome::Fired { attempts, summary },
            AttemptResult::Failed { error, .. } => Outcome::Failed { attempts, error },
            AttemptResult::NoExecutor => {
                has_executor = false;
                Outcome::Failed { attempts, error: self.without_executor() }
            }
        };
        if let Outcome::Failed { .. } = outcome {
            self.failures = self.failures.saturating_add(1);
            self.backoff_until = Some(later(now, delay(self.failures)));
        } else {
            self.forget_failures();
        }
        self.report(HistoryEntry::new(claim.at, now, outcome));
        if self.state != ScheduleState::Active {
            return;
        }
        if !has_executor {
            let advice =
                "return one from the function of `Scheduler::new`, and resume the schedule";
            self.fail(format!("{}: {advice}", self.without_executor()));
        } else if self.next_at.is_none() && self.firing.is_none() && self.retry.is_none() {
            self.state = ScheduleState::Finished;
        } else if rules.max_failures.is_some_and(|most| self.failures >= most) {
            self.fail(format!("{} occurrences failed in succession", self.failures));
        }
    }

    fn without_executor(&self) -> String {
        format!("the principal `{}` has no executor", self.schedule.principal)
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
            let error = "the scheduler ended while it fired the occurrence".to_owned();
            self.retry = Some(Retry { not_before: now, ..next_attempt(firing, error, now) });
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
        let latest = later(now, LONGEST);
        if let Some(retry) = &mut self.retry {
            retry.not_before = retry.not_before.min(latest);
        }
        self.backoff_until = self.backoff_until.min(Some(latest));
        self.set_next();
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

fn next_attempt(firing: &Claim, error: String, now: Timestamp) -> Retry {
    Retry {
        at: firing.at,
        attempt: firing.attempt.saturating_add(1),
        not_before: later(now, delay(firing.attempt)),
        error,
    }
}
