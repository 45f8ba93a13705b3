//! The suite for records finds handles that do not see each other's writes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tool_conformance::records::{check, check_handles};
use tool_runtime::async_trait;
use tool_runtime::records::{
    Expected, MemoryRecords, Record, RecordList, RecordQuery, Records, StoreError,
};

use crate::assert_found;

/// A handle that keeps what it has loaded or listed first.
#[derive(Debug)]
struct Caching {
    store: MemoryRecords,
    loads: bool,
    lists: bool,
    expects: bool,
    loaded: Mutex<BTreeMap<String, Option<Record>>>,
    listed: Mutex<BTreeMap<String, RecordList>>,
}

#[async_trait]
impl Records for Caching {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        let record = self.store.load(collection, key).await?;
        if !self.loads {
            return Ok(record);
        }
        Ok(self.loaded.lock().unwrap().entry(collection.into()).or_insert(record).clone())
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        let expected = if self.expects { expected } else { Expected::Any };
        self.store.save(collection, key, expected, value, order).await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        self.store.delete(collection, key, expected).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        let list = self.store.list(collection, query).await?;
        if !self.lists {
            return Ok(list);
        }
        Ok(self.listed.lock().unwrap().entry(collection.into()).or_insert(list).clone())
    }
}

#[tokio::test]
async fn suite_finds_each_defect_of_two_handles() {
    let loads = "a handle loads what another handle saved";
    for (defects, rule) in [
        ([true, false, true], loads),
        ([false, true, true], "a handle lists what another handle saved"),
        ([false, false, false], "a write on a revision that another handle replaced is a conflict"),
    ] {
        let store = MemoryRecords::new();
        let handles = [store.clone(), store].map(|store| {
            let [loads, lists, expects] = defects;
            let (loaded, listed) = (Mutex::default(), Mutex::default());
            Caching { store, loads, lists, expects, loaded, listed }
        });
        let [first, second] = handles;
        assert_found(&check_handles(first, second).await, rule, &format!("{defects:?}"));
    }
    let found = check_handles(MemoryRecords::new(), MemoryRecords::new()).await;
    assert_found(&found, loads, "two stores");
}

#[test]
fn suite_outside_of_a_runtime_is_a_violation() {
    let mut check = std::pin::pin!(check(|| async { MemoryRecords::new() }));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(found) = check.as_mut().poll(&mut context) else { panic!() };
    assert_found(&found, "a suite runs in a runtime of tokio", "no runtime");
}
