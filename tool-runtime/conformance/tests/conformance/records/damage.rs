//! Records that can't be read: stores keep the contract, and the suite finds those that do not.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use tool_conformance::records::check_corrupt;
use tool_runtime::async_trait;
use tool_runtime::records::{
    CorruptRecord, Expected, FileRecords, MemoryRecords, Record, RecordList, RecordQuery, Records,
    StoreError,
};
use tool_runtime::store::{Sqlite, SqliteRecords};

use crate::{Folder, assert_found};

#[tokio::test]
async fn damaged_lines_of_files_conform() {
    let folder = Folder::new();
    let open = || async {
        let _ = fs::remove_dir_all(&folder.0);
        FileRecords::open(&folder.0).await.unwrap()
    };
    // A value that is no text, one that is not closed, and a line that is cut.
    for (end, damaged) in
        [("\"2\"}", "2}"), ("\"2\"}", "\"2}"), ("\"value\":\"2\"}", ""), (",\"value\":\"2\"}", "}")]
    {
        let damage = async |_: &FileRecords, collection: &str, key: &str| {
            let file = folder.0.join(format!("{collection}.jsonl"));
            let text = fs::read_to_string(&file).unwrap();
            let changed = text.split_inclusive('\n').map(|line| {
                let is_of_key = line.contains(&format!("\"key\":\"{key}\""));
                if is_of_key { line.replace(end, damaged) } else { line.to_owned() }
            });
            let changed: String = changed.collect();
            assert_ne!(changed, text);
            fs::write(&file, changed).unwrap();
        };
        assert_eq!(check_corrupt(open, damage).await, [], "{damaged}");
    }
}

#[tokio::test]
async fn damaged_rows_of_sqlite_conform() {
    let folder = Folder::new();
    let path = Mutex::new(folder.next());
    let open = || async {
        let next = folder.next();
        path.lock().unwrap().clone_from(&next);
        Sqlite::open(next).await.unwrap().records().await.unwrap()
    };
    let damage = async |_: &SqliteRecords, collection: &str, key: &str| {
        let database = path.lock().unwrap().clone();
        let connection = tool_runtime::store::rusqlite::Connection::open(database).unwrap();
        let names = (collection.as_bytes(), key.as_bytes());
        let update = "UPDATE tool_records SET value = CAST(x'ff' AS TEXT) \
                      WHERE collection = ?1 AND key = ?2";
        assert_eq!(connection.execute(update, names).unwrap(), 1);
    };
    assert_eq!(check_corrupt(open, damage).await, []);
}

/// A defect of a store whose records can be damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    None,
    LoadsNothing,
    LoadsTheBytes,
    FailsForAll,
    ListsNothing,
    ListsWithoutRevision,
    ListsInEachPage,
    TakesItForMissing,
    IsNeverReplaced,
    IsNeverDeleted,
    IsRepairedByOtherWrites,
}

/// A store with one defect, and the keys of damaged records.
#[derive(Clone, Debug)]
struct Damageable(Defect, MemoryRecords, Arc<Mutex<BTreeMap<String, CorruptRecord>>>);

impl Damageable {
    fn corrupt(&self, key: &str) -> Option<CorruptRecord> {
        self.2.lock().unwrap().get(key).cloned()
    }

    async fn damage(&self, collection: &str, key: &str) {
        let record = self.1.load(collection, key).await.unwrap().unwrap();
        self.2.lock().unwrap().insert(key.to_owned(), record.corrupt("damaged"));
    }

    /// Returns the expectation with which the write is done, unless it is refused.
    fn write(&self, key: &str, expected: Expected, is_save: bool) -> Result<Expected, StoreError> {
        let Some(corrupt) = self.corrupt(key) else {
            if self.0 == Defect::IsRepairedByOtherWrites {
                self.2.lock().unwrap().clear();
            }
            return Ok(expected);
        };
        match self.0 {
            Defect::TakesItForMissing => expected.check(key, None)?,
            _ => expected.check(key, Some(corrupt.revision))?,
        }
        match self.0 {
            Defect::IsNeverReplaced if is_save => return Err(corrupt.into()),
            Defect::IsNeverDeleted if !is_save => return Err(corrupt.into()),
            _ => {}
        }
        self.2.lock().unwrap().remove(key);
        Ok(Expected::Any)
    }
}

#[async_trait]
impl Records for Damageable {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        let damaged = self.2.lock().unwrap().values().next().cloned();
        match (self.0, self.corrupt(key), damaged) {
            (Defect::LoadsNothing, Some(_), _) => Ok(None),
            (Defect::LoadsTheBytes, ..) | (_, None, None) => self.1.load(collection, key).await,
            (_, Some(corrupt), _) | (Defect::FailsForAll, _, Some(corrupt)) => Err(corrupt.into()),
            _ => self.1.load(collection, key).await,
        }
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        let expected = self.write(key, expected, true)?;
        self.1.save(collection, key, expected, value, order).await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        let expected = self.write(key, expected, false)?;
        self.1.delete(collection, key, expected).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        let mut list = self.1.list(collection, query.clone()).await?;
        let (damaged, readable) =
            list.records.into_iter().partition(|record| self.corrupt(&record.key).is_some());
        list.records = readable;
        let damaged: Vec<Record> = damaged;
        list.corrupt = damaged.iter().filter_map(|record| self.corrupt(&record.key)).collect();
        match self.0 {
            Defect::ListsNothing => list.corrupt.clear(),
            Defect::ListsWithoutRevision => {
                list.corrupt.iter_mut().for_each(|corrupt| corrupt.revision = 0);
            }
            Defect::ListsInEachPage if query.limit != Some(0) => {
                list.corrupt = self.2.lock().unwrap().values().cloned().collect();
            }
            _ => {}
        }
        Ok(list)
    }
}

#[tokio::test]
async fn suite_finds_each_defect_with_damaged_records() {
    let check = async |defect| {
        let open = || async { Damageable(defect, MemoryRecords::new(), Arc::default()) };
        let damage = async |store: &Damageable, collection: &str, key: &str| {
            store.damage(collection, key).await;
        };
        check_corrupt(open, damage).await
    };
    assert_eq!(check(Defect::None).await, []);
    let loaded = "loading a damaged record is the error `Corrupt` with its key";
    let others = "a damaged record affects no other";
    let listed = "a damaged record is listed as corrupt, with its revision and order";
    for (defect, rule) in [
        (Defect::LoadsNothing, loaded),
        (Defect::LoadsTheBytes, loaded),
        (Defect::FailsForAll, others),
        (Defect::ListsNothing, listed),
        (Defect::ListsWithoutRevision, listed),
        (Defect::ListsInEachPage, listed),
        (Defect::TakesItForMissing, "a damaged record exists: only what is expected replaces it"),
        (
            Defect::IsNeverReplaced,
            "a damaged record is replaced by its revision or by `Expected::Any`",
        ),
        (
            Defect::IsNeverDeleted,
            "a damaged record is deleted by its revision or by `Expected::Any`",
        ),
        (Defect::IsRepairedByOtherWrites, others),
    ] {
        assert_found(&check(defect).await, rule, &format!("{defect:?}"));
    }
}
