//! Schedules as records of a store.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use tool_core::records::{
    CorruptRecord, Expected, MAX_RECORD_BYTES, Record, RecordQuery, Records, StoreError,
};

use crate::list::{ScheduleList, ScheduleQuery};
use crate::record::ScheduleRecord;

/// The collection of the records.
const COLLECTION: &str = "schedules";

/// The largest size of a schedule as JSON. The rest of a record is for its state and history.
const MAX_SCHEDULE_BYTES: usize = MAX_RECORD_BYTES / 2;

/// Reads and changes the schedules in a store of [records](tool_core::records). Clones share them.
///
/// Each schedule is one record of the collection `schedules`: a [`ScheduleRecord`] as JSON, under
/// the key `PRINCIPAL/NAME`, in which `%25` and `%2F` stand for `%` and `/` of the principal. The
/// order of the record is the time at which a scheduler has to [examine](ScheduleRecord::wake_at)
/// it, in microseconds since 1970, so due schedules are found without reading the others.
///
/// ```
/// use tool_runtime::records::{MemoryRecords, Records};
/// use tool_runtime::schedule::{Action, Schedule, ScheduleRecord, Schedules, Timing};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryRecords::new();
/// let schedules = Schedules::new(store.clone());
/// let timing = Timing::once("2027-01-02T09:00:00Z".parse()?);
/// let schedule = Schedule::new("mail", timing, Action::prompt("Any mail?"), "ada");
/// schedules.save(&ScheduleRecord::new(schedule, "2027-01-01T12:00:00Z".parse()?)?).await?;
///
/// let record = store.load("schedules", "ada/mail").await?.unwrap();
/// assert_eq!(record.order, Some(1_798_880_400_000_000));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Schedules(Arc<dyn Records>);

impl Schedules {
    /// Creates the schedules of a store.
    pub fn new(store: impl Records + 'static) -> Self {
        Self(Arc::new(store))
    }

    /// Loads the schedule of this name of a principal.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the record can't be decoded, and the errors of
    /// [`Records::load`].
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::Schedules;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let schedules = Schedules::new(MemoryRecords::new());
    /// assert_eq!(schedules.load("ada", "mail").await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn load(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<ScheduleRecord>, StoreError> {
        let record = self.0.load(COLLECTION, &key(principal, name)).await?;
        Ok(record.as_ref().map(decode).transpose()?)
    }

    /// Saves a record if its revision is the stored one, and returns the new revision. A record
    /// with the revision 0 is created.
    ///
    /// If the record is too large for the store, the oldest entries of its history are dropped.
    ///
    /// # Errors
    /// - [`StoreError::Conflict`], [`StoreError::NotFound`] or [`StoreError::AlreadyExists`] if
    ///   another writer has changed, deleted or created the record.
    /// - [`StoreError::TooLarge`] if the schedule has more than 128 KiB as JSON.
    /// - The other errors of [`Records::save`].
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::{Action, Schedule, ScheduleRecord, Schedules, Timing};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let schedules = Schedules::new(MemoryRecords::new());
    /// let timing = Timing::cron("@daily", "UTC")?;
    /// let schedule = Schedule::new("mail", timing, Action::prompt("Any mail?"), "ada");
    /// let mut record = ScheduleRecord::new(schedule, "2027-01-01T12:00:00Z".parse()?)?;
    /// record.revision = schedules.save(&record).await?;
    /// record.pause();
    /// schedules.save(&record).await?;
    ///
    /// let error = schedules.save(&record).await.unwrap_err();
    /// assert!(error.is_conflict());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn save(&self, record: &ScheduleRecord) -> Result<u64, StoreError> {
        let key = key(&record.schedule.principal, &record.schedule.name);
        let expected = match record.revision {
            0 => Expected::Absent,
            revision => Expected::Revision(revision),
        };
        let (value, order) = (encode(&key, record)?, record.wake_at().map(microseconds));
        self.0.save(COLLECTION, &key, expected, &value, order).await
    }

    /// Deletes the schedule of this name of a principal if its record is as expected.
    ///
    /// # Errors
    /// Returns the errors of [`Records::delete`].
    ///
    /// ```
    /// use tool_runtime::records::{Expected, MemoryRecords};
    /// use tool_runtime::schedule::Schedules;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let schedules = Schedules::new(MemoryRecords::new());
    /// let error = schedules.delete("ada", "mail", Expected::Revision(7)).await.unwrap_err();
    /// assert_eq!(error.to_string(), "`ada/mail` is not stored, or was deleted by another writer");
    /// # }
    /// ```
    pub async fn delete(
        &self,
        principal: &str,
        name: &str,
        expected: Expected,
    ) -> Result<(), StoreError> {
        self.0.delete(COLLECTION, &key(principal, name), expected).await?;
        Ok(())
    }

    /// Lists schedules in the order of their keys.
    ///
    /// # Errors
    /// Returns the errors of [`Records::list`].
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::{ScheduleQuery, Schedules};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let schedules = Schedules::new(MemoryRecords::new());
    /// let of_ada = schedules.list(ScheduleQuery::all().principal("ada")).await?;
    /// assert!(of_ada.records.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list(&self, query: ScheduleQuery<'_>) -> Result<ScheduleList, StoreError> {
        let prefix = query.principal.map(|principal| key(principal, "")).unwrap_or_default();
        let records = RecordQuery::all().prefix(&prefix);
        let mut list = self.page(records.clone().after(query.after).limit(query.limit)).await?;
        let mut has_more = query.limit == Some(list.len());
        list.retain(query.state);
        // Reads more in place of the schedules in other states.
        while has_more
            && let Some(missing @ 1..) = query.limit.map(|limit| limit.saturating_sub(list.len()))
        {
            let page = self.page(records.clone().after(list.end.take()).limit(missing)).await?;
            has_more = page.len() == missing;
            list.end = list.append(page);
            list.retain(query.state);
        }
        Ok(list)
    }

    /// Lists the schedules that a scheduler has to examine by `time`, those with the earliest
    /// [time](ScheduleRecord::wake_at) first: at most `limit` records, and some that can't be
    /// decoded. The list has no [end](ScheduleList::end), because it is in another order than pages
    /// are.
    ///
    /// # Errors
    /// Returns the errors of [`Records::list`].
    ///
    /// ```
    /// use tool_runtime::records::MemoryRecords;
    /// use tool_runtime::schedule::{Schedules, jiff::Timestamp};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// let schedules = Schedules::new(MemoryRecords::new());
    /// assert_eq!(schedules.due(Timestamp::now(), 10).await?.records, []);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn due(&self, time: Timestamp, limit: usize) -> Result<ScheduleList, StoreError> {
        let query = RecordQuery::all().order_up_to(microseconds(time));
        let mut due = self.page(query.clone().limit(limit)).await?;
        let mut end = due.end.take();
        let mut has_more = due.len() == limit;
        while has_more && due.records.len() < limit {
            // Reads more than are missing, so that many corrupt records take few queries.
            let most = due.corrupt.len().max(limit);
            let page = self.page(query.clone().after(end).limit(most)).await?;
            has_more = page.len() == most;
            end = due.append(page);
        }
        due.records.truncate(limit);
        Ok(due)
    }

    /// Waits until a schedule of any process has changed since a list with this counter.
    pub(crate) async fn changed(&self, since: u64) -> Result<(), StoreError> {
        self.0.changed(COLLECTION, since).await?;
        Ok(())
    }

    async fn page(&self, query: RecordQuery<'_>) -> Result<ScheduleList, StoreError> {
        let page = self.0.list(COLLECTION, query.clone()).await?;
        let end = page.end(&query);
        let mut list = ScheduleList { counter: page.counter, end, ..ScheduleList::default() };
        list.corrupt = page.corrupt;
        for record in &page.records {
            match decode(record) {
                Ok(record) => list.records.push(record),
                Err(corrupt) => list.corrupt.push(corrupt),
            }
        }
        Ok(list)
    }
}

impl<R: Records + 'static> From<R> for Schedules {
    fn from(store: R) -> Self {
        Self::new(store)
    }
}

/// Returns the key of a schedule; with an empty name, the beginning of all keys of a principal.
pub(crate) fn key(principal: &str, name: &str) -> String {
    format!("{}/{name}", principal.replace('%', "%25").replace('/', "%2F"))
}

/// Returns the order of the records that wake at this time.
fn microseconds(time: Timestamp) -> i64 {
    time.as_microsecond()
}

fn encode(key: &str, record: &ScheduleRecord) -> Result<String, StoreError> {
    let encoded = serde_json::to_string(&record.schedule).map_err(StoreError::unavailable)?;
    if encoded.len() > MAX_SCHEDULE_BYTES {
        let (key, bytes, max_bytes) = (key.to_owned(), encoded.len(), MAX_SCHEDULE_BYTES);
        return Err(StoreError::TooLarge { key, bytes, max_bytes });
    }
    let mut record = Cow::Borrowed(record);
    loop {
        let encoded = serde_json::to_string(&record).map_err(StoreError::unavailable)?;
        if encoded.len() <= MAX_RECORD_BYTES || record.history.is_empty() {
            return Ok(encoded);
        }
        let surplus = record.history.len().div_ceil(2);
        record.to_mut().history.drain(..surplus);
    }
}

fn decode(stored: &Record) -> Result<ScheduleRecord, CorruptRecord> {
    let mut record: ScheduleRecord = stored.decode()?;
    let (principal, name) = (&record.schedule.principal, &record.schedule.name);
    if key(principal, name) != stored.key {
        return Err(stored.corrupt(format!("it contains the schedule `{name}` of `{principal}`")));
    }
    record.revision = stored.revision;
    Ok(record)
}
