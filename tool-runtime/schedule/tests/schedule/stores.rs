//! The stores pass the conformance suite, and the suite finds stores that violate the contract.

use std::sync::Mutex;

use serde_json::json;
use tool_runtime::dispatch::Permissions;
use tool_runtime::schedule::ScheduleTools;
use tool_runtime::schedule::jiff::Timestamp;
use tool_runtime::schedule::{
    Action, MemorySchedules, Schedule, ScheduleError, ScheduleQuery, ScheduleRecord, ScheduleStore,
    SqliteSchedules, Timing, conformance,
};
use tool_runtime::store::{Sqlite, SqliteError};
use tool_runtime::{Dispatcher, Permission, Policy, Registry, ToolCall, async_trait, tools};

use super::fixture::{Clock, Folder, Log, executors, time};

async fn open(folder: &Folder) -> SqliteSchedules {
    SqliteSchedules::open(&Sqlite::open(folder.file()).await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn stores_conform_to_the_contract() {
    conformance::check(|| async { MemorySchedules::new() }).await.unwrap();
    conformance::check(|| async {
        SqliteSchedules::open(&Sqlite::in_memory().unwrap()).await.unwrap()
    })
    .await
    .unwrap();
    let folders = Mutex::new(Vec::new());
    conformance::check(|| async {
        let folder = Folder::new();
        let store = open(&folder).await;
        folders.lock().unwrap().push(folder);
        store
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_of_one_store_conform_to_the_contract() {
    let memory = MemorySchedules::new();
    conformance::check_handles(memory.clone(), memory).await.unwrap();
    let folder = Folder::new();
    conformance::check_handles(open(&folder).await, open(&folder).await).await.unwrap();
}

/// A defect of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    IgnoresRevisions,
    CreatesTwice,
    DeletesAnyRevision,
    ReusesRevisions,
    ForgetsHistory,
    ListsAllPrincipals,
    IgnoresLimits,
    WakesPaused,
}

const DEFECTS: [Defect; 8] = [
    Defect::IgnoresRevisions,
    Defect::CreatesTwice,
    Defect::DeletesAnyRevision,
    Defect::ReusesRevisions,
    Defect::ForgetsHistory,
    Defect::ListsAllPrincipals,
    Defect::IgnoresLimits,
    Defect::WakesPaused,
];

#[derive(Debug)]
struct Defective(MemorySchedules, Defect);

#[async_trait]
impl ScheduleStore for Defective {
    async fn load(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<ScheduleRecord>, ScheduleError> {
        let mut record = self.0.load(principal, name).await?;
        if let Some(record) = &mut record
            && self.1 == Defect::ForgetsHistory
        {
            record.history.clear();
        }
        Ok(record)
    }

    async fn save(&self, record: &ScheduleRecord) -> Result<u64, ScheduleError> {
        let mut record = record.clone();
        let key = (&record.schedule.principal, &record.schedule.name);
        let stored = self.0.load(key.0, key.1).await?.map_or(0, |stored| stored.revision);
        let overwrites = match self.1 {
            Defect::IgnoresRevisions => record.revision > 0,
            Defect::CreatesTwice => record.revision == 0,
            _ => false,
        };
        if overwrites {
            record.revision = stored;
        }
        if self.1 == Defect::ReusesRevisions {
            let all = self.0.list(ScheduleQuery::all()).await?;
            if all.is_empty() {
                // Starts to count again.
                let fresh = MemorySchedules::new();
                return fresh.save(&record).await;
            }
        }
        self.0.save(&record).await
    }

    async fn delete(
        &self,
        principal: &str,
        name: &str,
        revision: u64,
    ) -> Result<(), ScheduleError> {
        let stored = self.0.load(principal, name).await?.map_or(0, |stored| stored.revision);
        let deletes_any = self.1 == Defect::DeletesAnyRevision && revision > 0;
        self.0.delete(principal, name, if deletes_any { stored } else { revision }).await
    }

    async fn list(&self, query: ScheduleQuery<'_>) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        let mut query = query;
        match self.1 {
            Defect::ListsAllPrincipals => query.principal = None,
            Defect::IgnoresLimits => query.limit = usize::MAX,
            _ => {}
        }
        self.0.list(query).await
    }

    async fn due(
        &self,
        time: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        let mut due = self.0.due(time, limit).await?;
        if self.1 == Defect::WakesPaused {
            let all = self.0.list(ScheduleQuery::all()).await?;
            due.extend(all.into_iter().filter(|record| record.wake_at().is_none()));
        }
        Ok(due)
    }
}

#[tokio::test]
async fn suite_finds_each_defect() {
    for defect in DEFECTS {
        let found =
            conformance::check(|| async { Defective(MemorySchedules::new(), defect) }).await;
        assert!(found.is_err(), "{defect:?}");
    }
}

#[tokio::test]
async fn handles_of_two_stores_violate_the_contract() {
    let found = conformance::check_handles(MemorySchedules::new(), MemorySchedules::new()).await;
    assert!(found.unwrap_err().to_string().contains("a handle sees at once"));
}

/// Saves schedules that fire each day, and alters the records of some.
async fn open_with_altered_records(folder: &Folder) -> SqliteSchedules {
    let store = open(folder).await;
    for name in ["a", "b", "c", "d"] {
        let action = Action::call("note", json!({}));
        let schedule = Schedule::new(name, Timing::cron("@daily", "UTC").unwrap(), action, "ada");
        let record = ScheduleRecord::new(schedule, time("2027-01-01T00:00:00Z")).unwrap();
        store.save(&record).await.unwrap();
    }
    let file = Sqlite::open(folder.file()).await.unwrap();
    let tables = file.tables("test", &[]).await.unwrap();
    for alteration in [
        // As a newer version of the program may write it.
        "UPDATE schedules SET record = replace(record, 'cron', 'solar') WHERE name = 'a'",
        "UPDATE schedules SET name = 'b2' WHERE name = 'b'",
    ] {
        let altered: Result<usize, SqliteError> =
            tables.write(move |it| it.execute(alteration, ())).await;
        assert_eq!(altered.unwrap(), 1);
    }
    store
}

#[tokio::test]
async fn altered_record_is_an_error_with_the_name() {
    let folder = Folder::new();
    let store = open_with_altered_records(&folder).await;
    for (name, reason) in [("a", "unknown variant `solar`"), ("b2", "schedule `b` of `ada`")] {
        let error = store.load("ada", name).await.unwrap_err();
        assert!(matches!(error, ScheduleError::CorruptRecord { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn altered_record_neither_fires_nor_stops_the_others() {
    let folder = Folder::new();
    let (store, log) = (open_with_altered_records(&folder).await, Log::default());
    let clock = Clock::at("2027-01-02T00:00:01Z");
    // One at a time: the altered records are the first ones that are due.
    let scheduler = clock.scheduler().max_concurrent(1);
    assert_eq!(scheduler.fire_due(executors(&log), store.clone()).await.unwrap(), 2);
    assert_eq!(log.take().len(), 2);
    let names = async |query: ScheduleQuery<'_>| {
        let (intact, corrupt) = (store.list(query).await.unwrap(), store.list_corrupt(query).await);
        let intact: Vec<_> = intact.into_iter().map(|it| it.schedule.name).collect();
        let corrupt: Vec<_> = corrupt.unwrap().into_iter().map(|it| it.name).collect();
        (intact.join(" "), corrupt.join(" "))
    };
    let all = ScheduleQuery::all();
    for (query, intact, corrupt) in [
        (all, "c d", "a b2"),
        (all.limit(1), "c", "a"),
        (all.principal("ada").after("ada", "a"), "c d", "b2"),
        (all.after("ada", "c"), "d", ""),
        (all.principal("bob"), "", ""),
    ] {
        assert_eq!(names(query).await, (intact.into(), corrupt.into()), "{query:?}");
    }
}

#[tokio::test]
async fn altered_record_is_listed_and_deleted_by_the_tools() {
    let folder = Folder::new();
    let store = open_with_altered_records(&folder).await;
    let registry = Registry::try_from(tools![..ScheduleTools::new(store.clone(), "ada")]).unwrap();
    let allowed = ["schedule_create", "schedule_update", "schedule_delete"]
        .into_iter()
        .fold(Permissions::default(), |it, name| it.tool(name, Permission::Allow));
    let dispatcher = Dispatcher::new(registry).policy(Policy::new().permissions(allowed));
    let call = async |tool: &str, arguments: serde_json::Value| {
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
    let corrupt = store.list_corrupt(ScheduleQuery::all()).await.unwrap();
    assert_eq!(corrupt.len(), 1);
}
