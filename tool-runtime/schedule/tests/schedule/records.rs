//! The records of the fixtures, with which stores of each version are filled.

use serde_json::json;
use tool_runtime::schedule::jiff::Timestamp;
use tool_runtime::schedule::{
    Action, MissedPolicy, Schedule, ScheduleQuery, ScheduleRecord, ScheduleState, ScheduleStore,
    Timing,
};

/// Returns records with every kind of content, in the order of a list.
fn records() -> Vec<ScheduleRecord> {
    let now: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
    let cron = || Timing::cron("30 9 * * 1-5", "Europe/Oslo").unwrap();
    let record = |name: &str, timing: Timing, action: Action| {
        ScheduleRecord::new(Schedule::new(name, timing, action, "ada"), now).unwrap()
    };

    let mut active = record("active", cron(), Action::call("pay", json!({ "to": ["Bob", 1.5] })));
    active.schedule = active.schedule.missed(MissedPolicy::All { max: 7 }).max_retries(3);
    (active.counts.fired, active.counts.failed, active.counts.missed) = (5, 1, 3);
    let at = "2027-01-02T08:30:00Z";
    active.history = serde_json::from_value(json!([
        { "at": at, "recorded_at": at,
            "outcome": { "kind": "fired", "attempts": 1, "summary": "Paid." } },
        { "at": at, "recorded_at": at,
            "outcome": { "kind": "failed", "attempts": 4, "error": "No money." } },
        { "at": at, "recorded_at": at, "outcome": { "kind": "missed", "last": at, "count": 2 } },
        { "at": at, "recorded_at": at, "outcome": { "kind": "interrupted", "attempts": 1 } },
        { "at": at, "recorded_at": at, "outcome": { "kind": "clock_set_back", "from": at } },
    ]))
    .unwrap();

    let interval = Timing::every(std::time::Duration::from_secs(900), now).unwrap();
    let mut firing = record("firing", interval, Action::prompt("ada", "Any \"mail\"?\0"));
    firing.firing = serde_json::from_value(json!({
        "at": "2027-01-01T00:15:00Z", "attempt": 1, "lease_until": "2027-01-01T00:16:00Z",
        "claimant": "0123", "is_repeatable": false,
    }))
    .unwrap();

    let once = Timing::at("2027-06-01T09:00:00", "Asia/Tokyo").unwrap();
    let mut paused = record("paused", once, Action::message(Some("ada".into()), "Ünïcode 🦀"));
    paused.pause();

    let mut retry = record("retry", Timing::once(Timestamp::MAX), Action::message(None, ""));
    retry.retry = serde_json::from_value(json!({
        "at": "2027-01-01T00:00:00Z", "attempt": 2, "not_before": "2027-01-01T00:00:30Z",
    }))
    .unwrap();
    retry.failures = 1;

    let mut stopped = record("stopped", cron(), Action::prompt("ada", "Hi"));
    stopped.schedule.missed = MissedPolicy::Skip;
    stopped.state = ScheduleState::Failed { reason: "10 firings failed in succession".into() };
    vec![active, firing, paused, retry, stopped]
}

/// Saves the records in a store without schedules.
pub(crate) async fn fill(store: &impl ScheduleStore) {
    for record in records() {
        store.save(&record).await.unwrap();
    }
}

/// Checks that a store has the records, and continues them.
pub(crate) async fn check(store: &impl ScheduleStore) {
    let mut expected = records();
    for (revision, record) in (1..).zip(&mut expected) {
        record.revision = revision;
    }
    assert_eq!(store.list(ScheduleQuery::all()).await.unwrap(), expected);
    assert_eq!(store.list_corrupt(ScheduleQuery::all()).await.unwrap(), []);
    let due = store.due("2027-01-01T00:16:00Z".parse().unwrap(), 10).await.unwrap();
    let due: Vec<_> = due.iter().map(|record| record.schedule.name.as_str()).collect();
    assert_eq!(due, ["retry", "firing"]);
    let mut paused = store.load("ada", "paused").await.unwrap().unwrap();
    paused.resume("2027-01-01T00:00:00Z".parse().unwrap()).unwrap();
    assert!(store.save(&paused).await.unwrap() > 5);
    let due = store.due("2027-06-01T00:00:00Z".parse().unwrap(), 10).await.unwrap();
    assert_eq!(due.len(), 4);
    store.delete("ada", "active", 1).await.unwrap();
}
