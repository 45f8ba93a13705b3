//! Schedules in the database, and schedulers that are killed.

#[path = "../../tool-runtime/schedule/tests/schedule/crashes.rs"]
mod crashes;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

use tool_runtime::agent::session::{SessionStore, SessionWrite};
use tool_runtime::records::StoreError;
use tool_runtime::schedule::jiff::{SignedDuration, Timestamp};
use tool_runtime::schedule::{
    Action, Executor, Schedule, ScheduleQuery, ScheduleRecord, Scheduler, Schedules, Timing,
};
use tool_runtime::store::Postgres;

use super::{client, named_schema, schema};

async fn open(config: &str) -> Schedules {
    Schedules::new(Postgres::connect(config).await.unwrap().records().await.unwrap())
}

#[tokio::test]
async fn schedules_share_a_schema_with_sessions() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    store.save("ada", SessionWrite::create()).await.unwrap();
    let schedules = Schedules::new(store.records().await.unwrap());
    save(&schedules, "a").await;
    assert!(store.load("ada").await.unwrap().is_some());
    assert!(open(&config).await.load("ada", "a").await.unwrap().is_some());
}

async fn save(schedules: &Schedules, name: &str) {
    let action = Action::prompt("Any mail?").session("ada");
    let schedule = Schedule::new(name, Timing::cron("@daily", "UTC").unwrap(), action, "ada");
    let now = Timestamp::from_second(0).unwrap();
    schedules.save(&ScheduleRecord::new(schedule, now).unwrap()).await.unwrap();
}

#[tokio::test]
async fn altered_schedule_is_listed_beside_the_others() {
    let config = schema().await;
    let schedules = open(&config).await;
    for name in ["a", "b", "c", "d"] {
        save(&schedules, name).await;
    }
    let client = client(&config).await;
    for alteration in [
        "UPDATE tool_records SET value = '[]' WHERE key = 'ada/a'",
        "UPDATE tool_records SET key = '\\x6164612fff' WHERE key = 'ada/b'",
    ] {
        assert_eq!(client.execute(alteration, &[]).await.unwrap(), 1);
    }
    let error = schedules.load("ada", "a").await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    let names = |records: &[ScheduleRecord]| {
        records.iter().map(|it| it.schedule.name.clone()).collect::<Vec<_>>()
    };
    for limit in [1, 2, 10] {
        let due = schedules.due(Timestamp::MAX, limit).await.unwrap();
        assert_eq!(names(&due.records), ["c", "d"][..limit.min(2)]);
    }
    let list = schedules.list(ScheduleQuery::all().principal("ada")).await.unwrap();
    assert_eq!(names(&list.records), ["c", "d"]);
    let mut corrupt: Vec<_> = list.corrupt.iter().map(|it| &*it.key).collect();
    corrupt.sort_unstable();
    assert_eq!(corrupt, ["ada/a", "ada/\u{fffd}"]);
}

#[tokio::test]
async fn schedule_of_another_process_fires_at_its_time() {
    let config = schema().await;
    let (schedules, other) = (open(&config).await, open(&config).await);
    let scheduler = Scheduler::new(schedules.clone(), |_: &str| Some(Executor::new()))
        .poll_interval(Duration::from_secs(3600));
    let run = tokio::spawn(async move { scheduler.run().await });
    let fire_each = async {
        for name in ["a", "b", "c", "d"] {
            let now = Timestamp::now();
            let timing = Timing::once(now + SignedDuration::from_millis(200));
            let schedule = Schedule::new(name, timing, Action::message("Hello"), "ada");
            other.save(&ScheduleRecord::new(schedule, now).unwrap()).await.unwrap();
            while schedules.load("ada", name).await.unwrap().unwrap().history.is_empty() {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), fire_each).await.unwrap();
    run.abort();
}

/// A temporary folder, whose name is that of a schema.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = env::temp_dir().join(format!("schedules_{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens the store of the test that kills processes.
async fn open_store(folder: &Path) -> Schedules {
    open(&named_schema(&folder.file_name().unwrap().to_string_lossy()).await).await
}
