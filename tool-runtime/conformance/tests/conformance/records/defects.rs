//! The suite for records finds stores that violate the contract: one for each rule. The defects of
//! handles are found by the tests in `handles.rs`.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use tokio::task::yield_now;
use tool_conformance::records::check;
use tool_runtime::async_trait;
use tool_runtime::records::{
    Expected, MemoryRecords, Record, RecordList, RecordQuery, Records, StoreError, check_sizes,
};

use crate::assert_found;

/// A defect of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Defect {
    None,
    Panics,
    BeginsAtOne,
    SkipsMissingDeletions,
    SkipsEqualValues,
    ReturnsThePreviousRevision,
    SharesCounters,
    IgnoresExpectations,
    TakesAbsentForAny,
    ReportsOneError,
    WritesWhatItRefuses,
    IgnoresCase,
    TrimsKeys,
    CutsKeysAtZero,
    NormalizesKeys,
    IgnoresCaseOfCollections,
    TrimsValues,
    CutsValuesAtZero,
    FormatsValues,
    KeepsOldOrders,
    RoundsOrders,
    SortsByUtf16,
    SortsByCase,
    CutsLongValues,
    RefusesLongKeys,
    HasNoLimit,
    CountsCharacters,
    RefusesReadsOfLongKeys,
    RefusesListsOfLongCollections,
    MatchesPatterns,
    IgnoresCaseOfPrefixes,
    ListsThePositionAgain,
    IgnoresPositionsByOrder,
    ListsRecordsWithoutOrder,
    LeavesOutTheLastOrder,
    SortsEqualOrdersBackwards,
    ListsOneMore,
    TakesZeroForNoLimit,
    LimitsBeforeThePrefix,
    CountsTheList,
    ChangesTwo,
    LooksAndThenWrites,
    HasNoLock,
    ReturnsTheRevisionOfOthers,
    ListsInTwo,
    LoadsThePreviousValue,
    WritesInTwo,
    ChangedReturnsAtOnce,
    ChangedNeverReturns,
    ChangedSeesOtherCollections,
    ChangedCountsUp,
    KeepsWhatItLoaded,
    KeepsWhatItListed,
}

const RAISED: &str = "a write raises the counter, and has its new value as the revision";
const EXPECTED: &str = "a write is done only if the stored record is as expected";
const KEYS: &str = "keys that differ in a byte are different";
const VALUES: &str = "a value comes back byte for byte";
const ORDERS: &str = "the order of a record comes back unchanged, and is replaced with the record";
const BYTES: &str = "records are listed in the order of the bytes of their keys";
const STORED: &str = "names, keys and values of the largest sizes are stored";
const TOO_LARGE: &str = "a larger name, key or value is refused as too large, and changes nothing";
const NOT_FOUND: &str = "a read of a larger name or key finds nothing";
const PREFIX: &str = "a list has the records whose keys begin with the prefix";
const AFTER: &str = "a list begins after the position, whether or not a record is there";
const ORDER: &str =
    "a list by order has the records up to the order, the lowest first, then by key";
const LIMIT: &str = "a list has at most as many records as the limit, the first ones";
const ONE_WINNER: &str = "of concurrent writers that expect one revision, exactly one succeeds";
const WAITS: &str = "`changed` waits while the counter is not above the given one";

/// The defects, with the rule that the suite finds.
const DEFECTS: &[(Defect, &str)] = &[
    (Defect::Panics, "no operation panics"),
    (Defect::BeginsAtOne, "a collection without writes has the counter 0 and no records"),
    (Defect::SkipsMissingDeletions, RAISED),
    (Defect::SkipsEqualValues, RAISED),
    (Defect::ReturnsThePreviousRevision, RAISED),
    (Defect::SharesCounters, "collections share neither counters nor records"),
    (Defect::IgnoresExpectations, EXPECTED),
    (Defect::TakesAbsentForAny, EXPECTED),
    (Defect::ReportsOneError, EXPECTED),
    (Defect::WritesWhatItRefuses, "a refused write changes nothing"),
    (Defect::IgnoresCase, KEYS),
    (Defect::TrimsKeys, KEYS),
    (Defect::CutsKeysAtZero, KEYS),
    (Defect::NormalizesKeys, KEYS),
    (Defect::IgnoresCaseOfCollections, "names of collections that differ in a byte are different"),
    (Defect::TrimsValues, VALUES),
    (Defect::CutsValuesAtZero, VALUES),
    (Defect::FormatsValues, VALUES),
    (Defect::KeepsOldOrders, ORDERS),
    (Defect::RoundsOrders, ORDERS),
    (Defect::SortsByUtf16, BYTES),
    (Defect::SortsByCase, BYTES),
    (Defect::CutsLongValues, STORED),
    (Defect::RefusesLongKeys, STORED),
    (Defect::HasNoLimit, TOO_LARGE),
    (Defect::CountsCharacters, TOO_LARGE),
    (Defect::RefusesReadsOfLongKeys, NOT_FOUND),
    (Defect::RefusesListsOfLongCollections, NOT_FOUND),
    (Defect::MatchesPatterns, PREFIX),
    (Defect::IgnoresCaseOfPrefixes, PREFIX),
    (Defect::ListsThePositionAgain, AFTER),
    (Defect::IgnoresPositionsByOrder, AFTER),
    (Defect::ListsRecordsWithoutOrder, ORDER),
    (Defect::LeavesOutTheLastOrder, ORDER),
    (Defect::SortsEqualOrdersBackwards, ORDER),
    (Defect::ListsOneMore, LIMIT),
    (Defect::TakesZeroForNoLimit, LIMIT),
    (Defect::LimitsBeforeThePrefix, "the conditions of a query apply together"),
    (Defect::CountsTheList, "a list has the counter of the collection, whatever the query"),
    (Defect::ChangesTwo, "a write changes its record and the counter only"),
    (Defect::LooksAndThenWrites, ONE_WINNER),
    (
        Defect::LooksAndThenWrites,
        "no write is lost if its writer expects the revision that it has seen",
    ),
    (Defect::HasNoLock, ONE_WINNER),
    (
        Defect::WritesWhatItRefuses,
        "after concurrent writes, the record of the writer that succeeded is stored",
    ),
    (
        Defect::ReturnsTheRevisionOfOthers,
        "concurrent writes have different revisions, and the last one stays",
    ),
    (Defect::ListsInTwo, "a list shows all writes up to its counter, and none after it"),
    (Defect::LoadsThePreviousValue, "a write is visible as soon as its future has returned"),
    (Defect::WritesInTwo, "a write whose future is dropped is done completely or not at all"),
    (Defect::ChangedReturnsAtOnce, WAITS),
    (Defect::ChangedSeesOtherCollections, WAITS),
    (Defect::ChangedNeverReturns, "`changed` returns the new counter after a write"),
    (Defect::ChangedCountsUp, "`changed` returns the counter if it is above the given one"),
];

/// A store with one defect.
#[derive(Debug)]
pub(super) struct Defective {
    defect: Defect,
    store: MemoryRecords,
    /// Records before their last write, by their keys.
    previous: Mutex<BTreeMap<String, Option<Record>>>,
    /// The first record of each collection that was loaded.
    loaded: Mutex<BTreeMap<String, Option<Record>>>,
    /// The first list of each collection.
    listed: Mutex<BTreeMap<String, RecordList>>,
}

impl Defective {
    pub(super) fn on(store: MemoryRecords, defect: Defect) -> Self {
        let (previous, loaded, listed) = Default::default();
        Self { defect, store, previous, loaded, listed }
    }

    fn key(&self, key: &str) -> String {
        match self.defect {
            Defect::IgnoresCase => key.to_lowercase(),
            Defect::TrimsKeys => key.trim().to_owned(),
            Defect::CutsKeysAtZero => key.split('\0').next().unwrap_or_default().to_owned(),
            Defect::NormalizesKeys => key.replace("e\u{301}", "\u{e9}"),
            _ => key.to_owned(),
        }
    }

    fn collection(&self, name: &str) -> String {
        match self.defect {
            Defect::IgnoresCaseOfCollections => name.to_lowercase(),
            _ => name.to_owned(),
        }
    }

    fn value(&self, value: &str) -> String {
        match self.defect {
            Defect::TrimsValues => value.trim().to_owned(),
            Defect::CutsValuesAtZero => value.split('\0').next().unwrap_or_default().to_owned(),
            Defect::CutsLongValues => value.chars().take(65_535).collect(),
            Defect::FormatsValues => serde_json::from_str::<serde_json::Value>(value)
                .map_or_else(|_| value.to_owned(), |value| value.to_string()),
            _ => value.to_owned(),
        }
    }

    fn order(&self, order: Option<i64>, stored: Option<&Record>) -> Option<i64> {
        match self.defect {
            Defect::KeepsOldOrders => order.or_else(|| stored.and_then(|record| record.order)),
            Defect::RoundsOrders => order.map(|order| order as f64 as i64),
            _ => order,
        }
    }

    async fn counter(&self, collection: &str) -> Result<u64, StoreError> {
        Ok(self.store.list(collection, RecordQuery::all().limit(0)).await?.counter)
    }

    /// Returns the expectation of the write, after which the store writes.
    async fn expectation(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<Expected, StoreError> {
        let is_race = match self.defect {
            Defect::IgnoresExpectations => return Ok(Expected::Any),
            Defect::TakesAbsentForAny if expected == Expected::Absent => return Ok(Expected::Any),
            Defect::LooksAndThenWrites | Defect::HasNoLock => true,
            _ => false,
        };
        if !is_race {
            return Ok(expected);
        }
        let stored = self.store.load(collection, key).await?;
        expected.check(key, stored.map(|record| record.revision))?;
        if self.defect == Defect::LooksAndThenWrites {
            yield_now().await;
        } else {
            // As a file would, without a lock.
            (0..100).for_each(|_| std::thread::yield_now());
        }
        Ok(Expected::Any)
    }

    async fn finish(
        &self,
        collection: &str,
        written: Result<u64, StoreError>,
    ) -> Result<u64, StoreError> {
        match (self.defect, written) {
            (Defect::ReturnsThePreviousRevision, Ok(revision)) => Ok(revision - 1),
            (Defect::ReturnsTheRevisionOfOthers, Ok(_)) => {
                yield_now().await;
                self.counter(collection).await
            }
            (Defect::ReportsOneError, Err(StoreError::NotFound(key))) => {
                Err(StoreError::Conflict { key, expected: 0, actual: 0 })
            }
            (Defect::HasNoLimit, Err(StoreError::TooLarge { .. })) => Ok(1),
            (Defect::CountsCharacters, Err(StoreError::TooLarge { bytes, max_bytes, .. }))
                if bytes / 2 <= max_bytes =>
            {
                Ok(1)
            }
            (_, written) => written,
        }
    }
}

#[async_trait]
impl Records for Defective {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        assert!(self.defect != Defect::Panics, "not implemented");
        if self.defect == Defect::RefusesReadsOfLongKeys {
            check_sizes("", key, "")?;
        }
        if self.defect == Defect::LoadsThePreviousValue {
            let previous = self.previous.lock().unwrap().remove(&format!("{collection} {key}"));
            if let Some(previous) = previous {
                return Ok(previous);
            }
        }
        let mut record = self.store.load(&self.collection(collection), &self.key(key)).await?;
        if self.defect == Defect::KeepsWhatItLoaded {
            let mut loaded = self.loaded.lock().unwrap();
            record = loaded.entry(collection.into()).or_insert(record).clone();
        }
        Ok(record)
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        let (collection, key) = (&*self.collection(collection), &*self.key(key));
        let stored = self.store.load(collection, key).await?;
        let (value, order) = (&*self.value(value), self.order(order, stored.as_ref()));
        let name = format!("{collection} {key}");
        self.previous.lock().unwrap().insert(name, stored.clone());
        match (self.defect, stored) {
            (Defect::SkipsEqualValues, Some(stored))
                if (&*stored.value, stored.order) == (value, order)
                    && expected.check(key, Some(stored.revision)).is_ok() =>
            {
                return Ok(stored.revision);
            }
            (Defect::RefusesLongKeys, _) if key.len() > 255 => {
                let (key, bytes) = (key.to_owned(), key.len());
                return Err(StoreError::TooLarge { key, bytes, max_bytes: 255 });
            }
            (Defect::ChangesTwo, _) if key == "a" => {
                if let Some(other) = self.store.load(collection, "").await? {
                    let Record { value, order, .. } = other;
                    self.store.save(collection, "", Expected::Any, &value, order).await?;
                }
            }
            (Defect::WritesInTwo, _) => {
                self.store.save(collection, key, expected, value, None).await?;
                yield_now().await;
                return self.store.save(collection, key, Expected::Any, value, order).await;
            }
            _ => {}
        }
        let expected = self.expectation(collection, key, expected).await?;
        let saved = self.store.save(collection, key, expected, value, order).await;
        if self.defect == Defect::WritesWhatItRefuses
            && saved.as_ref().is_err_and(StoreError::is_conflict)
        {
            self.store.save(collection, key, Expected::Any, value, order).await?;
        }
        self.finish(collection, saved).await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        let (collection, key) = (&*self.collection(collection), &*self.key(key));
        let is_missing = self.store.load(collection, key).await?.is_none();
        if self.defect == Defect::SkipsMissingDeletions
            && is_missing
            && expected.check(key, None).is_ok()
        {
            return self.counter(collection).await;
        }
        let expected = self.expectation(collection, key, expected).await?;
        let deleted = self.store.delete(collection, key, expected).await;
        self.finish(collection, deleted).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        if self.defect == Defect::RefusesListsOfLongCollections {
            check_sizes(collection, "", "")?;
        }
        let collection = &*self.collection(collection);
        let mut inner_query = query.clone();
        match self.defect {
            Defect::MatchesPatterns => {
                inner_query.prefix = query.prefix.split(['%', '_']).next().unwrap_or_default();
            }
            Defect::IgnoresCaseOfPrefixes => inner_query.prefix = "",
            Defect::IgnoresPositionsByOrder if query.order_up_to.is_some() => {
                inner_query.after = None
            }
            Defect::ListsOneMore => inner_query.limit = query.limit.map(|limit| limit + 1),
            Defect::TakesZeroForNoLimit if query.limit == Some(0) => inner_query.limit = None,
            Defect::LimitsBeforeThePrefix if query.limit.is_some() => inner_query.prefix = "",
            Defect::ListsInTwo => {
                let counter = self.counter(collection).await?;
                // Writers that yield once each may all run after a single yield.
                for _ in 0..3 {
                    yield_now().await;
                }
                let list = self.store.list(collection, query).await?;
                return Ok(RecordList::new(counter, list.records));
            }
            _ => {}
        }
        let mut list = self.store.list(collection, inner_query.clone()).await?;
        let records = &mut list.records;
        match self.defect {
            Defect::BeginsAtOne => list.counter = list.counter.max(1),
            Defect::SharesCounters if collection == "two" => {
                list.counter += self.counter("one").await?;
            }
            Defect::SortsByUtf16 => {
                records.sort_by_cached_key(|it| it.key.encode_utf16().collect::<Vec<_>>());
            }
            Defect::SortsByCase => records.sort_by_cached_key(|it| it.key.to_lowercase()),
            Defect::IgnoresCaseOfPrefixes => {
                let prefix = query.prefix.to_lowercase();
                records.retain(|it| it.key.to_lowercase().starts_with(&prefix));
            }
            Defect::LimitsBeforeThePrefix => records.retain(|it| it.key.starts_with(query.prefix)),
            Defect::ListsThePositionAgain => {
                if let Some(after) = &query.after {
                    let record = self.store.load(collection, &after.key).await?;
                    records.splice(0..0, record);
                }
            }
            Defect::ListsRecordsWithoutOrder if query.order_up_to.is_some() => {
                let all = self.store.list(collection, RecordQuery::all()).await?.records;
                records.splice(0..0, all.into_iter().filter(|it| it.order.is_none()));
            }
            Defect::LeavesOutTheLastOrder => {
                if let Some(limit) = query.order_up_to {
                    records.retain(|it| it.order.is_some_and(|order| order < limit));
                }
            }
            Defect::SortsEqualOrdersBackwards if query.order_up_to.is_some() => {
                records.reverse();
                records.sort_by_key(|it| it.order);
            }
            Defect::CountsTheList if !query.prefix.is_empty() => {
                list.counter = u64::try_from(records.len()).unwrap();
            }
            Defect::KeepsWhatItListed => {
                let mut listed = self.listed.lock().unwrap();
                list = listed.entry(collection.into()).or_insert(list).clone();
            }
            _ => {}
        }
        Ok(list)
    }

    async fn changed(&self, collection: &str, since: u64) -> Result<u64, StoreError> {
        match self.defect {
            Defect::ChangedReturnsAtOnce => self.counter(collection).await,
            Defect::ChangedNeverReturns => pending().await,
            Defect::ChangedSeesOtherCollections => loop {
                let counter = self.counter(collection).await?;
                if counter > since || self.counter("other").await? > 0 {
                    return Ok(counter);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            },
            Defect::ChangedCountsUp => {
                self.store.changed(collection, since).await?;
                Ok(since + 1)
            }
            _ => self.store.changed(collection, since).await,
        }
    }
}

/// The clock of tokio is paused, because no store here waits for anything else.
#[tokio::test(start_paused = true)]
async fn suite_finds_each_defect_of_a_store() {
    let check =
        async |defect| check(|| async { Defective::on(MemoryRecords::new(), defect) }).await;
    assert_eq!(check(Defect::None).await, []);
    for (defect, rule) in DEFECTS {
        assert_found(&check(*defect).await, rule, &format!("{defect:?}"));
    }
}
