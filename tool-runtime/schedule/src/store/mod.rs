//! The contract of schedule stores.

pub(crate) mod memory;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod stored_row;

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;
use tool_core::async_trait;

use crate::record::ScheduleRecord;

/// Storage backend for schedules.
///
/// A store keeps one record for each principal and name. It does not interpret records, except for
/// their principal, their [name](crate::Schedule::name), their revision, and the time at which a
/// scheduler has to [examine](ScheduleRecord::wake_at) them.
///
/// # Contract
/// - [`save`](Self::save) compares and sets: it writes the record only if the stored revision is
///   that of the record, or if there is no record of this principal and name and the revision is
///   0. Of concurrent writers of one revision, exactly one succeeds. Schedulers rely on it to claim
///   an occurrence.
/// - A record that was saved is durable before `save` returns, and is visible to all processes.
/// - A revision is never reused in a store, not even after its record was deleted.
/// - A record that can't be decoded is an error of [`load`](Self::load).
///   [`list`](Self::list) and [`due`](Self::due) leave it out, so that the others still fire, and
///   [`list_corrupt`](Self::list_corrupt) lists it.
/// - If the future of `save` or [`delete`](Self::delete) is dropped, the operation is done
///   completely or not at all.
///
/// [`conformance::check`](crate::conformance::check) tests an implementation. In SQL, `save` is one
/// `UPDATE … WHERE principal = ? AND name = ? AND revision = ?` or `INSERT … ON CONFLICT DO
/// NOTHING`, and the revision comes from a sequence.
///
/// ```
/// use tool_runtime::schedule::{
///     Action, MemorySchedules, Schedule, ScheduleError, ScheduleRecord, ScheduleStore, Timing,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemorySchedules::new();
/// let timing = Timing::cron("@daily", "UTC")?;
/// let schedule = Schedule::new("mail", timing, Action::prompt("ada", "Any mail?"), "ada");
/// let mut record = ScheduleRecord::new(schedule, "2027-01-01T12:00:00Z".parse()?)?;
/// record.revision = store.save(&record).await?;
///
/// let mut outdated = record.clone();
/// outdated.revision = 0;
/// assert!(matches!(store.save(&outdated).await, Err(ScheduleError::Conflict { .. })));
/// assert_eq!(store.load("ada", "mail").await?, Some(record));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait ScheduleStore: Send + Sync + Debug {
    /// Loads the schedule of this name of a principal.
    async fn load(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<ScheduleRecord>, ScheduleError>;

    /// Saves a record if its revision is the stored one, and returns the new revision. A record
    /// with the revision 0 is created.
    ///
    /// # Errors
    /// [`ScheduleError::Conflict`] if the stored revision is another one.
    async fn save(&self, record: &ScheduleRecord) -> Result<u64, ScheduleError>;

    /// Deletes the schedule of this name of a principal if its revision is the stored one.
    ///
    /// # Errors
    /// [`ScheduleError::Conflict`] if the stored revision is another one, or if there is no record.
    async fn delete(&self, principal: &str, name: &str, revision: u64)
    -> Result<(), ScheduleError>;

    /// Lists records in the order of their principals, and then of their names, compared as bytes.
    async fn list(&self, query: ScheduleQuery<'_>) -> Result<Vec<ScheduleRecord>, ScheduleError>;

    /// Lists the records that can't be decoded, in the order of [`list`](Self::list). Default:
    /// none, for stores that do not encode records.
    async fn list_corrupt(
        &self,
        _query: ScheduleQuery<'_>,
    ) -> Result<Vec<CorruptSchedule>, ScheduleError> {
        Ok(Vec::new())
    }

    /// Returns the records that a scheduler has to examine by `time`, those with the earliest
    /// [time](ScheduleRecord::wake_at) first, and of equal ones in the order of a list.
    async fn due(
        &self,
        time: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, ScheduleError>;
}

#[async_trait]
impl<S: ScheduleStore + ?Sized> ScheduleStore for Arc<S> {
    async fn load(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<ScheduleRecord>, ScheduleError> {
        self.as_ref().load(principal, name).await
    }

    async fn save(&self, record: &ScheduleRecord) -> Result<u64, ScheduleError> {
        self.as_ref().save(record).await
    }

    async fn delete(
        &self,
        principal: &str,
        name: &str,
        revision: u64,
    ) -> Result<(), ScheduleError> {
        self.as_ref().delete(principal, name, revision).await
    }

    async fn list(&self, query: ScheduleQuery<'_>) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        self.as_ref().list(query).await
    }

    async fn list_corrupt(
        &self,
        query: ScheduleQuery<'_>,
    ) -> Result<Vec<CorruptSchedule>, ScheduleError> {
        self.as_ref().list_corrupt(query).await
    }

    async fn due(
        &self,
        time: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        self.as_ref().due(time, limit).await
    }
}

/// The records to list: of one principal or all, page by page.
///
/// ```
/// use tool_runtime::schedule::ScheduleQuery;
///
/// let first_page = ScheduleQuery::all().principal("ada").limit(50);
/// let next_page = first_page.after("ada", "mail");
/// assert_eq!(next_page.after, Some(("ada", "mail")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleQuery<'q> {
    /// The principal whose schedules are listed; `None` lists those of all.
    pub principal: Option<&'q str>,
    /// The principal and the name of the record after which the page starts.
    pub after: Option<(&'q str, &'q str)>,
    /// The maximum number of records of the page.
    pub limit: usize,
}

impl<'q> ScheduleQuery<'q> {
    /// Creates a query for all records.
    pub fn all() -> Self {
        Self { principal: None, after: None, limit: usize::MAX }
    }

    /// Lists the schedules of one principal only.
    #[must_use]
    pub fn principal(self, principal: &'q str) -> Self {
        Self { principal: Some(principal), ..self }
    }

    /// Starts the page after the record of this principal and name.
    #[must_use]
    pub fn after(self, principal: &'q str, name: &'q str) -> Self {
        Self { after: Some((principal, name)), ..self }
    }

    /// Sets the maximum number of records of the page.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

/// A stored record that can't be decoded: another program has altered it, or a newer version of
/// the program has written it. It does not fire.
///
/// ```
/// use tool_runtime::schedule::CorruptSchedule;
///
/// let corrupt = CorruptSchedule::new("ada", "mail", 7, "unknown variant `solar`");
/// assert_eq!((corrupt.name.as_str(), corrupt.revision), ("mail", 7));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorruptSchedule {
    /// The principal of the schedule.
    pub principal: String,
    /// The name of the schedule.
    pub name: String,
    /// The stored revision, with which the record can be [deleted](ScheduleStore::delete).
    pub revision: u64,
    /// The reason why the record can't be decoded.
    pub reason: String,
}

impl CorruptSchedule {
    /// Creates the report of a record that a store can't decode.
    pub fn new(
        principal: impl Into<String>,
        name: impl Into<String>,
        revision: u64,
        reason: impl Into<String>,
    ) -> Self {
        let (principal, name, reason) = (principal.into(), name.into(), reason.into());
        Self { principal, name, revision, reason }
    }
}

/// The reason why a schedule store failed.
///
/// ```
/// use tool_runtime::schedule::ScheduleError;
///
/// let error = ScheduleError::unavailable("the disk is full");
/// assert_eq!(error.to_string(), "schedule store unavailable: the disk is full");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The stored record has another revision, or does not exist.
    #[error("schedule `{name}` is no longer at revision {revision}: load it and repeat the change")]
    Conflict {
        /// The name of the schedule.
        name: String,
        /// The revision that the write was based on.
        revision: u64,
    },
    /// The stored record can't be decoded: a newer version of the program has written it, or it was
    /// damaged.
    #[error(
        "record of schedule `{name}` can't be decoded: {reason}; if a newer version of the program \
         wrote it, use that version, otherwise delete the schedule and create it again"
    )]
    CorruptRecord {
        /// The name of the schedule.
        name: String,
        /// The reason why the record can't be decoded.
        reason: String,
    },
    /// The store can't be reached, or has failed. A write may have been done.
    #[error("schedule store unavailable: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
}

impl ScheduleError {
    /// Creates the error of a store that can't be reached.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }

    pub(crate) fn conflict(name: &str, revision: u64) -> Self {
        Self::Conflict { name: name.to_owned(), revision }
    }

    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }
}
