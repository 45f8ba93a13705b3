//! Schedules as records: what is stored, listed and due, and records that can't be decoded.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tool_runtime::dispatch::Permissions;
use tool_runtime::records::{
    Expected, MAX_RECORD_BYTES, MemoryRecords, Record, Records, StoreError,
};
use tool_runtime::schedule::jiff::Timestamp;
use tool_runtime::schedule::{
    Action, Executor, Outcome, Schedule, ScheduleEvent, ScheduleQuery, ScheduleRecord,
    ScheduleState, ScheduleTools, Scheduler, Schedules, Timing,
};
use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, tools};

use super::fixture::{Clock, Log, executors, in_memory, time};
use super::intercepted::{Intercepted, Operation};

const START: &str = "2027-01-01T00:00:00Z";

/// The time at which the schedules below are due.
const DUE: &str = "2027-01-02T00:00:01Z";

/// Creates a schedule that fires each day.
fn daily(name: &str, principal: &str) -> ScheduleRecord {
    let action = Action::call("note", json!({}));
    let schedule = Schedule::new(name, Timing::cron("@daily", "UTC").unwrap(), action, principal);
    ScheduleRecord::new(schedule, time(START)).unwrap()
}

fn names(records: &[ScheduleRecord]) -> Vec<&str> {
    records.iter().map(|record| record.schedule.name.as_str()).collect()
}

/// Decodes a record with every kind of content.
fn full() -> ScheduleRecord {
    let at = "2027-01-01T09:00:00.123456789Z";
    let outcome = |outcome: Value| json!({ "at": at, "recorded_at": at, "outcome": outcome });
    let record = json!({
        "schedule": {
            "name": "\0 \u{202e} 🦀 \"'",
            "timing": Timing::At { time: "2027-01-01T09:00".parse().unwrap(), zone: "UTC".into() },
            "action": Action::call("tool", json!({ "a": [1.5, null], "": { "b": u64::MAX } })),
            "principal": "ada",
            "missed": { "kind": "all", "max_occurrences": 7 },
            "max_retries": u32::MAX,
        },
        "state": { "kind": "failed" },
        "stop_reason": "no\nreason",
        "created_at": at,
        "handled_until": Timestamp::MIN,
        "next_at": Timestamp::MAX,
        "firing": {
            "at": at, "attempt": 1, "lease_until": at, "claimant": "me", "is_repeatable": true
        },
        "retry": { "at": at, "attempt": 2, "not_before": at },
        "failures": 9,
        "counts": { "fired": 1, "failed": 2, "missed": u64::MAX },
        "history": [
            outcome(json!({ "kind": "fired", "attempts": 1, "summary": "done" })),
            outcome(json!({ "kind": "failed", "attempts": 3, "error": "error" })),
            outcome(json!({ "kind": "missed", "last": at, "count": u64::MAX })),
            outcome(json!({ "kind": "interrupted", "attempts": 2 })),
            outcome(json!({ "kind": "clock_set_back", "from": at })),
        ],
    });
    serde_json::from_value(record).unwrap()
}

#[tokio::test]
async fn record_is_stored_unchanged() {
    let schedules = in_memory();
    let mut record = full();
    record.revision = schedules.save(&record).await.unwrap();
    let loaded = schedules.load("ada", &record.schedule.name).await.unwrap();
    assert_eq!(loaded.as_ref(), Some(&record));
    assert_eq!(schedules.due(Timestamp::MAX, 1).await.unwrap().records, [record]);
}

#[tokio::test]
async fn list_has_the_schedules_in_one_state_page_by_page() {
    let schedules = in_memory();
    for number in 0..20 {
        let mut record = daily(&format!("{number:02}"), "ada");
        if number % 7 == 6 {
            record.pause();
        }
        schedules.save(&record).await.unwrap();
    }
    let paused = ScheduleQuery::all().principal("ada").state(ScheduleState::Paused);
    assert_eq!(names(&schedules.list(paused.clone()).await.unwrap().records), ["06", "13"]);
    for (limit, pages) in
        [(1, &[&["06"][..], &["13"], &[]][..]), (2, &[&["06", "13"], &[]]), (3, &[&["06", "13"]])]
    {
        let mut query = paused.clone().limit(limit);
        for (number, expected) in pages.iter().enumerate() {
            let page = schedules.list(query.clone()).await.unwrap();
            assert_eq!(names(&page.records), *expected, "page {number} of {limit}");
            query = query.after(page.end);
        }
        assert_eq!(query.after, None, "{limit}");
    }
    let failed = ScheduleQuery::all().state(ScheduleState::Failed).limit(5);
    assert_eq!(schedules.list(failed).await.unwrap().records, []);
}

#[tokio::test]
async fn write_is_refused_unless_its_revision_is_the_stored_one() {
    let schedules = in_memory();
    let created = daily("mail", "ada");
    let mut record = created.clone();
    record.revision = 7;
    assert!(matches!(schedules.save(&record).await, Err(StoreError::NotFound(_))));
    record.revision = schedules.save(&created).await.unwrap();
    assert!(matches!(schedules.save(&created).await, Err(StoreError::AlreadyExists(_))));
    let outdated = record.clone();
    record.revision = schedules.save(&record).await.unwrap();
    assert!(matches!(schedules.save(&outdated).await, Err(StoreError::Conflict { .. })));
    let delete =
        async |revision| schedules.delete("ada", "mail", Expected::Revision(revision)).await;
    assert!(matches!(delete(outdated.revision).await, Err(StoreError::Conflict { .. })));
    delete(record.revision).await.unwrap();
    assert_eq!(schedules.load("ada", "mail").await.unwrap(), None);
}

#[tokio::test]
async fn list_has_the_schedules_of_one_principal_only() {
    let schedules = in_memory();
    // In the order of their keys.
    let keys = [
        ("a", "%"),
        ("a", "/"),
        ("a", "b"),
        ("a", "b/c"),
        ("a%252F", "x"),
        ("a%2F", "b"),
        ("a%", "2Fb"),
        ("a/", "b"),
        ("ab", "c"),
    ];
    for (principal, name) in keys {
        schedules.save(&daily(name, principal)).await.unwrap();
    }
    for (principal, _) in keys {
        let expected: Vec<_> =
            keys.into_iter().filter(|it| it.0 == principal).map(|it| it.1).collect();
        let list = schedules.list(ScheduleQuery::all().principal(principal)).await.unwrap();
        assert_eq!(names(&list.records), expected, "{principal}");
    }
    let mut pages = Vec::new();
    let mut query = ScheduleQuery::all().limit(2);
    loop {
        let page = schedules.list(query.clone()).await.unwrap();
        pages.extend(page.records);
        let Some(end) = page.end else { break };
        query = query.after(end);
    }
    assert_eq!(pages, schedules.list(ScheduleQuery::all()).await.unwrap().records);
    assert_eq!(pages.len(), keys.len());
}

#[tokio::test]
async fn due_schedules_are_listed_by_wake_time() {
    let store = MemoryRecords::new();
    let schedules = Schedules::new(store.clone());
    for (name, next_at) in [("late", 300), ("b", 100), ("a", 100), ("early", 50), ("past", -5)] {
        let mut record = daily(name, "ada");
        record.next_at = Some(Timestamp::from_second(next_at).unwrap());
        schedules.save(&record).await.unwrap();
    }
    let mut paused = daily("paused", "ada");
    paused.pause();
    schedules.save(&paused).await.unwrap();
    // Damaged ones take no place of others.
    for number in 0..5 {
        let key = format!("ada/damaged {number}");
        store.save("schedules", &key, Expected::Absent, "{}", Some(number)).await.unwrap();
    }
    for (second, limit, expected, corrupt) in [
        (-6, 10, &[][..], 0),
        (50, 10, &["past", "early"], 5),
        (299, 10, &["past", "early", "a", "b"], 5),
        (300, 10, &["past", "early", "a", "b", "late"], 5),
        (300, 5, &["past", "early", "a", "b", "late"], 5),
        (300, 3, &["past", "early", "a"], 5),
        (300, 2, &["past", "early"], 5),
        (300, 1, &["past"], 0),
        (300, 0, &[], 0),
    ] {
        let due = schedules.due(Timestamp::from_second(second).unwrap(), limit).await.unwrap();
        assert_eq!(names(&due.records), expected, "{second} {limit}");
        assert_eq!(due.corrupt.len(), corrupt, "{second} {limit}");
        assert_eq!(due.end, None, "{second} {limit}");
    }
}

#[tokio::test]
async fn oldest_history_is_dropped_before_a_record_is_too_large() {
    let store = MemoryRecords::new();
    let schedules = Schedules::new(store.clone());
    let mut record = full();
    let Outcome::Fired { summary, .. } = &mut record.history[0].outcome else { panic!("fired") };
    *summary = "\0".repeat(MAX_RECORD_BYTES);
    schedules.save(&record).await.unwrap();
    let loaded = schedules.load("ada", &record.schedule.name).await.unwrap().unwrap();
    assert_eq!(loaded.history, record.history[3..]);
    assert_eq!(loaded.counts, record.counts);

    record.schedule.action = Action::prompt("x".repeat(MAX_RECORD_BYTES / 2)).session("ada");
    record.revision = loaded.revision;
    let error = schedules.save(&record).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { max_bytes: 131_072, .. }), "{error}");
}

/// Saves schedules of `ada` that fire each day, and alters the records of some.
async fn altered_records() -> MemoryRecords {
    let store = MemoryRecords::new();
    let schedules = Schedules::new(store.clone());
    for name in ["a", "b", "c", "d"] {
        schedules.save(&daily(name, "ada")).await.unwrap();
    }
    for (from, to, wrong, right) in [
        // As a newer version of the program may write it.
        ("ada/a", "ada/a", "solar", "cron"),
        ("ada/b", "ada/b2", "", ""),
    ] {
        let Record { value, order, .. } = store.load("schedules", from).await.unwrap().unwrap();
        store.delete("schedules", from, Expected::Any).await.unwrap();
        let value = if right.is_empty() { value } else { value.replace(right, wrong) };
        store.save("schedules", to, Expected::Any, &value, order).await.unwrap();
    }
    store
}

#[tokio::test]
async fn altered_record_is_an_error_with_the_name() {
    let schedules = Schedules::new(altered_records().await);
    for (name, reason) in [("a", "unknown variant `solar`"), ("b2", "schedule `b` of `ada`")] {
        let error = schedules.load("ada", name).await.unwrap_err();
        let StoreError::Corrupt { key, reason: found } = &error else { panic!("{error}") };
        assert_eq!(*key, format!("ada/{name}"));
        assert!(found.contains(reason), "{error}");
    }
}

#[tokio::test]
async fn altered_record_is_listed_and_does_not_stop_the_others() {
    let (schedules, log) = (Schedules::new(altered_records().await), Log::default());
    // One at a time: the altered records are the first ones that are due.
    let scheduler = Clock::at(DUE).scheduler(&schedules, executors(&log)).max_concurrent(1);
    let error = scheduler.fire_due().await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { ref key, .. } if key == "ada/a"), "{error}");
    assert_eq!(log.take().len(), 2);
    for (query, intact, corrupt) in [
        (ScheduleQuery::all(), &["c", "d"][..], &["ada/a", "ada/b2"][..]),
        (ScheduleQuery::all().limit(1), &[], &["ada/a"]),
        (ScheduleQuery::all().limit(3), &["c"], &["ada/a", "ada/b2"]),
        (ScheduleQuery::all().principal("bob"), &[], &[]),
    ] {
        let list = schedules.list(query.clone()).await.unwrap();
        assert_eq!(names(&list.records), intact, "{query:?}");
        let keys: Vec<_> = list.corrupt.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, corrupt, "{query:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn running_scheduler_reports_each_altered_record_once() {
    let (store, log) = (altered_records().await, Log::default());
    let paused = daily("paused", "ada");
    let value = serde_json::to_string(&paused).unwrap();
    // Nothing is due here, so only the sweep finds it.
    let key = "ada/another";
    store.save("schedules", key, Expected::Absent, &value, None).await.unwrap();
    let errors = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&errors);
    let scheduler = Clock::at(DUE)
        .scheduler(&Schedules::new(store.clone()), executors(&log))
        .on_event(move |event| {
            if matches!(event, ScheduleEvent::Corrupt { .. }) {
                reported.lock().unwrap().push(event.to_string());
            }
        });
    let run = scheduler.run_until(sleep(Duration::from_secs(3600)));
    let altered = async {
        sleep(Duration::from_secs(60)).await;
        let keys: Vec<_> = std::mem::take(&mut *errors.lock().unwrap());
        assert_eq!(keys.len(), 3, "{keys:?}");
        assert_eq!(log.take().len(), 2);
        store.save("schedules", key, Expected::Any, "{", Some(0)).await.unwrap();
    };
    tokio::join!(run, altered).0.unwrap();
    let errors = errors.lock().unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("the record of `ada/another` can't be read: EOF"), "{errors:?}");
}

#[tokio::test(start_paused = true)]
async fn scheduler_reports_failures_of_the_store_and_ends_after_ten() {
    for (failures, is_running) in [(9, true), (10, false)] {
        let left = AtomicU32::new(failures);
        let store = Intercepted::new(MemoryRecords::new(), move |operation, _| {
            let take = |left: u32| left.checked_sub(1);
            let fails = operation == Operation::List
                && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
            let error = || StoreError::unavailable("the disk is full");
            async move { if fails { Err(error()) } else { Ok(()) } }
        });
        let count = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&count);
        let scheduler =
            Scheduler::new(store, |_: &str| Some(Executor::new())).on_event(move |event| {
                assert_eq!(event.to_string(), "store unavailable: the disk is full");
                counter.fetch_add(1, Ordering::Relaxed);
            });
        let ended = scheduler.run_until(sleep(Duration::from_secs(3600))).await;
        assert_eq!((ended.is_ok(), count.load(Ordering::Relaxed)), (is_running, failures));
    }
}

#[tokio::test]
async fn altered_record_is_listed_and_deleted_by_the_tools() {
    let schedules = Schedules::new(altered_records().await);
    let tools = ScheduleTools::new(schedules.clone(), "ada");
    let registry = Registry::try_from(tools![..tools]).unwrap();
    let allowed = ["schedule_create", "schedule_update", "schedule_delete"]
        .into_iter()
        .fold(Permissions::default(), |it, name| it.tool(name, Permission::Allow));
    let dispatcher = Dispatcher::new(registry).policy(Policy::new().permissions(allowed));
    let call = async |tool: &str, arguments: Value| {
        let calls = vec![ToolCall::new("1", tool, arguments)];
        dispatcher.dispatch(calls).await.remove(0).result.text
    };
    let listed = call("schedule_list", json!({})).await;
    let rows: Vec<_> = listed.lines().map(|line| line.split(" | times").next().unwrap()).collect();
    assert!(
        rows[0].starts_with("name: a | state: unreadable: unknown variant `solar`"),
        "{listed}"
    );
    assert!(rows[1].starts_with("name: b2 | state: unreadable: it contains the schedule `b`"));
    assert_eq!(rows[2..], ["name: c | state: active", "name: d | state: active"]);
    let create = json!({ "name": "a", "every": "1h", "message": "Hi" });
    let refused = call("schedule_create", create).await;
    assert_eq!(refused, "`name`: `a` exists already; use another name.");
    let refused = call("schedule_update", json!({ "name": "a", "paused": true })).await;
    let advice =
        "it is damaged, or a newer version of the program wrote it. Ask before you delete it.";
    assert_eq!(refused, format!("The schedule `a` can't be read: {advice}"));
    let deleted = call("schedule_delete", json!({ "name": "a" })).await;
    assert_eq!(deleted, "Deleted the schedule `a`.");
    let refused = call("schedule_delete", json!({ "name": "a" })).await;
    assert_eq!(refused, "There is no schedule `a`: the schedules are `c`, `d`.");
    assert_eq!(schedules.list(ScheduleQuery::all()).await.unwrap().corrupt.len(), 1);
}
