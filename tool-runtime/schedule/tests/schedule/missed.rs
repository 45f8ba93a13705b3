//! Occurrences during which no scheduler ran, and changes of the clock.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tool_runtime::schedule::jiff::{SignedDuration, Timestamp};
use tool_runtime::schedule::{
    MAX_HISTORY, MissedPolicy, Outcome, ScheduleRecord, ScheduleState, Timing,
};

use super::fixture::{Clock, Log, create, executors, in_memory, load, time};

fn hourly() -> Timing {
    Timing::cron("0 * * * *", "UTC").unwrap()
}

/// Returns the times and the numbers of the missed occurrences in the history.
fn missed(record: &ScheduleRecord) -> Vec<(String, String, u64)> {
    let missed = record.history.iter().filter_map(|entry| match &entry.outcome {
        Outcome::Missed { last, count } => Some((entry.at.to_string(), last.to_string(), *count)),
        _ => None,
    });
    missed.collect()
}

#[tokio::test]
async fn missed_occurrences_fire_by_the_policy() {
    let hour = |hour: u8| format!("2027-01-01T{hour:02}:00:00Z");
    for (policy, now, expected_fired, expected_missed) in [
        (MissedPolicy::Skip, "2027-01-01T05:00:30Z", 5..6, Some((1, 4))),
        (MissedPolicy::Skip, "2027-01-01T05:30:00Z", 0..0, Some((1, 5))),
        (MissedPolicy::Skip, "2027-01-01T01:00:00Z", 1..2, None),
        (MissedPolicy::Once, "2027-01-01T05:30:00Z", 5..6, Some((1, 4))),
        (MissedPolicy::All { max_occurrences: 3 }, "2027-01-01T05:30:00Z", 3..6, Some((1, 2))),
        (MissedPolicy::All { max_occurrences: 9 }, "2027-01-01T05:30:00Z", 1..6, None),
        (MissedPolicy::All { max_occurrences: 0 }, "2027-01-01T02:30:00Z", 2..3, Some((1, 1))),
    ] {
        let (store, log) = (in_memory(), Log::default());
        let clock = Clock::at("2027-01-01T00:00:00Z");
        create(&store, clock.now(), hourly(), "note", |it| it.missed(policy)).await;
        clock.set(now);
        let count = clock.scheduler(&store, executors(&log)).fire_due().await.unwrap();
        let expected_fired: Vec<_> = expected_fired.map(hour).collect();
        assert_eq!((count, log.take()), (expected_fired.len(), expected_fired), "{policy:?} {now}");
        let record = load(&store).await;
        let expected_missed: Vec<_> = expected_missed
            .into_iter()
            .map(|(first, last)| (hour(first), hour(last), u64::from(last - first + 1)))
            .collect();
        assert_eq!(missed(&record), expected_missed, "{policy:?} {now}");
        // Nothing is left.
        assert_eq!(clock.scheduler(&store, executors(&log)).fire_due().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn years_of_missed_occurrences_are_counted_up_to_a_limit() {
    let (store, log) = (in_memory(), Log::default());
    let clock = Clock::at("2027-01-01T00:00:00Z");
    let each_second = Timing::cron("* * * * * *", "Europe/Oslo").unwrap();
    create(&store, clock.now(), each_second, "note", |it| it).await;
    clock.set("2047-01-01T00:00:00.5Z");
    clock.scheduler(&store, executors(&log)).fire_due().await.unwrap();
    assert_eq!(log.take(), ["2047-01-01T00:00:00Z"]);
    let record = load(&store).await;
    assert_eq!(record.counts.missed, 10_000);
    assert_eq!(missed(&record)[0].1, "2046-12-31T23:59:59.999999999Z");
}

#[tokio::test]
async fn single_occurrence_fires_late_or_is_reported_and_ends_the_schedule() {
    for (policy, expected) in [(MissedPolicy::Once, "fired: noted"), (MissedPolicy::Skip, "missed")]
    {
        let (store, log) = (in_memory(), Log::default());
        let clock = Clock::at("2027-01-01T00:00:00Z");
        let timing = Timing::once(time("2027-01-01T01:00:00Z"));
        create(&store, clock.now(), timing, "note", |it| it.missed(policy)).await;
        clock.set("2027-01-03T00:00:00Z");
        clock.scheduler(&store, executors(&log)).fire_due().await.unwrap();
        let record = load(&store).await;
        assert_eq!((record.state, record.next_at), (ScheduleState::Finished, None));
        assert_eq!(record.history.len(), 1);
        assert!(record.history[0].outcome.to_string().starts_with(expected));
    }
}

#[tokio::test]
async fn schedule_continues_after_a_wrong_clock_was_set_back() {
    let (store, log) = (in_memory(), Log::default());
    let clock = Clock::at("2027-01-01T00:00:00Z");
    create(&store, clock.now(), hourly(), "note", |it| it).await;
    clock.set("2041-01-01T00:30:00Z");
    let fire_due = async || clock.scheduler(&store, executors(&log)).fire_due().await;
    fire_due().await.unwrap();
    assert_eq!(log.take(), ["2041-01-01T00:00:00Z"]);
    clock.set("2027-01-01T00:10:00Z");
    fire_due().await.unwrap();
    assert_eq!(load(&store).await.next_at, Some(time("2027-01-01T01:00:00Z")));
    clock.set("2027-01-01T01:00:00Z");
    fire_due().await.unwrap();
    assert_eq!(log.take(), ["2027-01-01T01:00:00Z"]);
    // A small correction repeats nothing.
    clock.set("2027-01-01T00:59:59Z");
    fire_due().await.unwrap();
    clock.set("2027-01-01T01:00:01Z");
    fire_due().await.unwrap();
    assert_eq!(log.take(), Vec::<String>::new());
}

/// The steps of a clock: forward by seconds, or back.
fn steps() -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![
        6 => 0..7_200_i64,
        2 => 0..200_000_i64,
        1 => -80_000..0_i64,
    ];
    proptest::collection::vec(step, 1..30)
}

fn policies() -> impl Strategy<Value = MissedPolicy> {
    prop_oneof![
        Just(MissedPolicy::Skip),
        Just(MissedPolicy::Once),
        (1..20_u32).prop_map(|count| MissedPolicy::All { max_occurrences: count }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    #[test]
    fn each_occurrence_is_fired_once_or_reported_once(
        steps in steps(),
        policy in policies(),
        pattern in proptest::sample::select(&["0 * * * *", "*/20 * * * *", "30 2 * * *"][..]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check_accounts(&steps, policy, pattern));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..Default::default() })]

    #[test]
    #[ignore = "the long version of the test above"]
    fn each_occurrence_is_fired_once_or_reported_once_by_many_clocks(
        steps in steps(),
        policy in policies(),
        pattern in proptest::sample::select(&["0 * * * *", "*/20 * * * *", "30 2 * * *"][..]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check_accounts(&steps, policy, pattern));
    }
}

async fn check_accounts(steps: &[i64], policy: MissedPolicy, pattern: &str) {
    let (store, log) = (in_memory(), Log::default());
    let clock = Clock::at("2027-03-25T00:00:00Z");
    let start = clock.now();
    let timing = Timing::cron(pattern, "Europe/Oslo").unwrap();
    create(&store, start, timing.clone(), "note", |it| it.missed(policy)).await;
    let mut latest = start;
    let mut reported: BTreeMap<Timestamp, u32> = BTreeMap::new();
    let mut known = 0;
    for step in steps {
        let now = clock.now() + SignedDuration::from_secs(*step);
        // A clock that is set back by more than a day starts again.
        clock.set_time(now.max(latest - SignedDuration::from_hours(20)));
        latest = latest.max(now);
        clock.scheduler(&store, executors(&log)).fire_due().await.unwrap();
        // The history drops its oldest entries, so it is read after each step.
        let record = load(&store).await;
        let total = record.counts.fired + record.counts.failed + record.counts.missed;
        let entries = record.history.iter().filter(|entry| entry.recorded_at >= start);
        let mut fresh = 0;
        reported.clear();
        let due: Vec<_> = timing.after(start).unwrap().take_while(|at| *at <= latest).collect();
        for entry in entries {
            let last = match entry.outcome {
                Outcome::Missed { last, .. } => last,
                _ => entry.at,
            };
            for at in due.iter().filter(|at| (entry.at..=last).contains(at)) {
                *reported.entry(*at).or_default() += 1;
                fresh += 1;
            }
        }
        if record.history.len() < MAX_HISTORY {
            assert_eq!(fresh, total);
        }
        assert!(total >= known, "an outcome was lost");
        known = total;
    }
    let expected: Vec<_> = timing.after(start).unwrap().take_while(|at| *at <= latest).collect();
    assert_eq!(known, expected.len() as u64);
    if load(&store).await.history.len() < MAX_HISTORY {
        assert_eq!(reported.keys().copied().collect::<Vec<_>>(), expected);
        assert!(reported.values().all(|times| *times == 1), "{reported:?}");
    }
    let mut fired = log.take();
    let count = fired.len();
    fired.sort();
    fired.dedup();
    assert_eq!(fired.len(), count, "an occurrence was fired twice");
}
