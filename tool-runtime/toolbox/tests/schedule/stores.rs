//! The stores pass the conformance suite, and the suite finds stores that violate the contract.

use std::sync::Mutex;

use tool_runtime::async_trait;
use tool_runtime::store::{Sqlite, SqliteError};
use tool_toolbox::schedule::jiff::Timestamp;
use tool_toolbox::schedule::{
    Action, MemorySchedules, Schedule, ScheduleError, ScheduleQuery, ScheduleRecord, ScheduleStore,
    SqliteSchedules, Timing, conformance,
};

use super::fixture::{Folder, time};

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

#[tokio::test]
async fn altered_record_is_an_error_with_the_name() {
    let folder = Folder::new();
    let store = open(&folder).await;
    let schedule = Schedule::new(
        "mail",
        Timing::cron("@daily", "UTC").unwrap(),
        Action::prompt("ada", "Any mail?"),
        "ada",
    );
    let record = ScheduleRecord::new(schedule, time("2027-01-01T00:00:00Z")).unwrap();
    store.save(&record).await.unwrap();
    let file = Sqlite::open(folder.file()).await.unwrap();
    let tables = file.tables("test", &[]).await.unwrap();
    for (alteration, reason) in [
        ("UPDATE schedules SET record = replace(record, '@daily', '@daily\"')", "expected"),
        (
            "UPDATE schedules SET name = 'news', record = replace(record, '\"@daily\"\"', '\"@daily\"')",
            "schedule `mail`",
        ),
    ] {
        let altered: Result<usize, SqliteError> =
            tables.write(move |it| it.execute(alteration, ())).await;
        assert_eq!(altered.unwrap(), 1);
        let error = store.list(ScheduleQuery::all()).await.unwrap_err();
        assert!(matches!(error, ScheduleError::CorruptRecord { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}
