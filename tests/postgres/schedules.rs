//! The store for schedules: its contract, altered records, and schedulers that are killed.

#[path = "../../tool-runtime/schedule/tests/schedule/crashes.rs"]
mod crashes;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use tool_runtime::agent::session::{SessionStore, SessionWrite};
use tool_runtime::schedule::{
    Action, PostgresSchedules, Schedule, ScheduleError, ScheduleQuery, ScheduleRecord,
    ScheduleStore, Timing, conformance, jiff,
};
use tool_runtime::store::Postgres;

use super::{client, named_schema, schema};

async fn open(config: &str) -> PostgresSchedules {
    PostgresSchedules::open(&Postgres::connect(config).await.unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_conform_to_the_contract() {
    conformance::check(|| async { open(&schema().await).await }).await.unwrap();
    let config = schema().await;
    conformance::check_handles(open(&config).await, open(&config).await).await.unwrap();
    let store = open(&schema().await).await;
    conformance::check_handles(store.clone(), store).await.unwrap();
}

#[tokio::test]
async fn schedules_share_a_schema_with_sessions() {
    let config = schema().await;
    let store = Postgres::connect(&config).await.unwrap();
    store.save("ada", SessionWrite::create()).await.unwrap();
    let schedules = PostgresSchedules::open(&store).await.unwrap();
    save(&schedules, "a").await;
    assert!(store.load("ada").await.unwrap().is_some());
    assert!(open(&config).await.load("ada", "a").await.unwrap().is_some());
}

async fn save(store: &PostgresSchedules, name: &str) {
    let action = Action::prompt("ada", "Any mail?");
    let schedule = Schedule::new(name, Timing::cron("@daily", "UTC").unwrap(), action, "ada");
    let now = jiff::Timestamp::from_second(0).unwrap();
    store.save(&ScheduleRecord::new(schedule, now).unwrap()).await.unwrap();
}

#[tokio::test]
async fn altered_schedule_is_left_out_and_reported() {
    let config = schema().await;
    let store = open(&config).await;
    for name in ["a", "b", "c", "d"] {
        save(&store, name).await;
    }
    let client = client(&config).await;
    for alteration in [
        "UPDATE tool_schedules SET record = '[]' WHERE name = 'a'",
        "UPDATE tool_schedules SET name = '\\xff' WHERE name = 'b'",
    ] {
        assert_eq!(client.execute(alteration, &[]).await.unwrap(), 1);
    }
    let error = store.load("ada", "a").await.unwrap_err();
    assert!(matches!(error, ScheduleError::CorruptRecord { .. }), "{error}");
    let names = |records: Vec<ScheduleRecord>| {
        records.into_iter().map(|it| it.schedule.name).collect::<Vec<_>>()
    };
    for limit in [1, 2, 10] {
        let expected = &["c", "d"][..limit.min(2)];
        let query = ScheduleQuery::all().limit(limit);
        assert_eq!(names(store.list(query).await.unwrap()), expected);
        let due = store.due(jiff::Timestamp::MAX, limit).await.unwrap();
        assert_eq!(names(due), expected);
    }
    let corrupt = store.list_corrupt(ScheduleQuery::all()).await.unwrap();
    let corrupt: Vec<_> = corrupt.iter().map(|it| (&*it.name, &*it.reason)).collect();
    let moved = "it contains the schedule `b` of `ada`";
    assert_eq!(corrupt[1], ("\u{fffd}", moved));
    assert_eq!((corrupt.len(), corrupt[0].0), (2, "a"));
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
async fn open_store(folder: &Path) -> PostgresSchedules {
    open(&named_schema(&folder.file_name().unwrap().to_string_lossy()).await).await
}
