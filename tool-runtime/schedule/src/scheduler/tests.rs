//! Tests of the decisions, which need no store and no clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::delay::delay;
use super::plan::{AttemptResult, Rules};
use crate::definition::{Action, MissedPolicy, Schedule};
use crate::record::{ScheduleRecord, ScheduleState};
use crate::timing::Timing;

const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

const RULES: Rules = Rules {
    lease: SignedDuration::from_secs(60),
    grace: SignedDuration::from_secs(60),
    max_failures: None,
};

fn record(seconds: u64, missed: MissedPolicy) -> ScheduleRecord {
    let interval = Duration::from_secs(seconds);
    let timing = Timing::every(interval, START + SignedDuration::from_secs(1)).unwrap();
    let schedule = Schedule::new("notes", timing, Action::call("note", "{}"), "ada");
    ScheduleRecord::new(schedule.missed(missed), START).unwrap()
}

fn result(is_success: bool) -> AttemptResult {
    if is_success {
        AttemptResult::Fired { summary: "noted".into() }
    } else {
        AttemptResult::Failed { error: "the desk is locked".into(), is_retryable: false }
    }
}

/// Fires the next occurrence as soon as the record allows it, and returns the time.
fn fire(record: &mut ScheduleRecord, is_success: bool, rules: Rules) -> Timestamp {
    let now = record.wake_at().unwrap();
    let claim = record.claim(now, rules, "me", false).expect("an occurrence is due");
    record.finish(&claim, result(is_success), now, rules);
    now
}

#[test]
fn delay_doubles_up_to_an_hour() {
    for (failures, seconds) in
        [(1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600), (9, 3600), (u32::MAX, 3600)]
    {
        assert_eq!(delay(failures), SignedDuration::from_secs(seconds), "{failures}");
    }
}

#[test]
fn schedule_of_each_second_fires_less_often_while_it_fails() {
    let mut record = record(1, MissedPolicy::Once);
    let times: Vec<_> = [false, false, false, true, true, false, true]
        .map(|is_success| fire(&mut record, is_success, RULES))
        .map(|at| at.duration_since(START).as_secs())
        .into();
    assert_eq!(times, [1, 31, 91, 211, 212, 213, 243]);
    let counts = record.counts;
    assert_eq!((counts.fired, counts.failed), (3, 4));
    // All occurrences that were due: none is dropped.
    assert_eq!(counts.fired + counts.failed + counts.missed, 243);
}

#[test]
fn failures_do_not_delay_longer_intervals() {
    let mut record = record(7200, MissedPolicy::Once);
    let times = [false; 12].map(|it| fire(&mut record, it, RULES).duration_since(START));
    let expected: Vec<_> = (0..12).map(|it| SignedDuration::from_secs(1 + 7200 * it)).collect();
    assert_eq!(times[..], expected);
    assert_eq!(record.counts.missed, 0);
}

#[test]
fn failures_stop_a_schedule_only_if_there_is_a_limit() {
    for (max_failures, state, reason) in [
        (None, ScheduleState::Active, None),
        (Some(21), ScheduleState::Active, None),
        (Some(20), ScheduleState::Failed, Some("20 occurrences failed in succession")),
    ] {
        let rules = Rules { max_failures, ..RULES };
        let mut record = record(1, MissedPolicy::Once);
        for _ in 0..20 {
            fire(&mut record, false, rules);
        }
        let found = (record.state, record.stop_reason.as_deref());
        assert_eq!(found, (state, reason), "{max_failures:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn delayed_occurrences_are_fired_or_missed(
        seconds in 1_u64..7_200,
        results in proptest::collection::vec(any::<bool>(), 1..40),
        policy in prop_oneof![
            Just(MissedPolicy::Skip),
            Just(MissedPolicy::Once),
            Just(MissedPolicy::All { max_occurrences: 5 }),
        ],
    ) {
        let mut record = record(seconds, policy);
        let (mut now, mut earliest) = (START, START);
        for is_success in results {
            now = record.wake_at().unwrap().max(now);
            prop_assert!(now >= earliest, "{now} is before {earliest}");
            let Some(claim) = record.claim(now, RULES, "me", false) else {
                // The policy does not fire what is late.
                prop_assert_eq!(policy, MissedPolicy::Skip);
                continue;
            };
            let failures = record.failures;
            record.finish(&claim, result(is_success), now, RULES);
            prop_assert_eq!(record.failures, if is_success { 0 } else { failures + 1 });
            earliest = if is_success { now } else { now + delay(record.failures) };
            let due = record.schedule.timing.after(START).unwrap();
            let due = due.take_while(|at| *at <= record.handled_until).count() as u64;
            let counts = record.counts;
            prop_assert_eq!(counts.fired + counts.failed + counts.missed, due);
            prop_assert_eq!(record.state, ScheduleState::Active);
        }
    }
}
