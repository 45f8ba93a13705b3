//! Schedule store in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tool_core::async_trait;

use super::{ScheduleError, ScheduleQuery, ScheduleStore};
use crate::record::ScheduleRecord;

/// Schedule store in memory, which ends with the process. Clones share the schedules.
///
/// ```
/// use tool_runtime::schedule::{MemorySchedules, ScheduleQuery, ScheduleStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::schedule::ScheduleError> {
/// let store = MemorySchedules::new();
/// assert!(store.list(ScheduleQuery::all()).await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemorySchedules(Arc<Mutex<Records>>);

#[derive(Debug, Default)]
struct Records {
    by_key: BTreeMap<Key, ScheduleRecord>,
    last_revision: u64,
}

/// The principal and the name of a record.
type Key = (String, String);

fn key(principal: &str, name: &str) -> Key {
    (principal.to_owned(), name.to_owned())
}

impl MemorySchedules {
    /// Creates a store without schedules.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records {
    fn revision(&self, key: &Key) -> u64 {
        self.by_key.get(key).map_or(0, |record| record.revision)
    }
}

#[async_trait]
impl ScheduleStore for MemorySchedules {
    async fn load(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<ScheduleRecord>, ScheduleError> {
        Ok(self.lock().by_key.get(&key(principal, name)).cloned())
    }

    async fn save(&self, record: &ScheduleRecord) -> Result<u64, ScheduleError> {
        let mut records = self.lock();
        let key = key(&record.schedule.principal, &record.schedule.name);
        if records.revision(&key) != record.revision {
            return Err(ScheduleError::conflict(&record.schedule.name, record.revision));
        }
        records.last_revision += 1;
        let revision = records.last_revision;
        records.by_key.insert(key, ScheduleRecord { revision, ..record.clone() });
        Ok(revision)
    }

    async fn delete(
        &self,
        principal: &str,
        name: &str,
        revision: u64,
    ) -> Result<(), ScheduleError> {
        let mut records = self.lock();
        let key = key(principal, name);
        if revision == 0 || records.revision(&key) != revision {
            return Err(ScheduleError::conflict(name, revision));
        }
        records.by_key.remove(&key);
        Ok(())
    }

    async fn list(&self, query: ScheduleQuery<'_>) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        let after = query.after.map(|(principal, name)| key(principal, name));
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let records = self.lock();
        let found = records.by_key.range((start, Bound::Unbounded)).map(|(_, record)| record);
        let is_listed = |record: &&ScheduleRecord| {
            query.principal.is_none_or(|principal| record.schedule.principal == principal)
        };
        Ok(found.filter(is_listed).take(query.limit).cloned().collect())
    }

    async fn due(
        &self,
        time: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        let records = self.lock();
        let mut due: Vec<_> = records
            .by_key
            .values()
            .filter_map(|record| Some((record.wake_at().filter(|at| *at <= time)?, record)))
            .collect();
        // Stable: equal ones stay in the order of their keys.
        due.sort_by_key(|(wakes_at, _)| *wakes_at);
        Ok(due.into_iter().take(limit).map(|(_, record)| record.clone()).collect())
    }
}
