//! Store for schedules in an SQLite file.

use jiff::Timestamp;
use tool_runtime::async_trait;
use tool_runtime::store::rusqlite::{self, OptionalExtension, Row, Transaction};
use tool_runtime::store::{OpenError, Sqlite, SqliteError, SqliteTables};

use super::record::ScheduleRecord;
use super::store::{ScheduleError, ScheduleQuery, ScheduleStore};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE schedules (
        principal TEXT NOT NULL,
        name TEXT NOT NULL,
        revision INTEGER NOT NULL,
        -- Microseconds since 1970.
        wake_at INTEGER,
        record TEXT NOT NULL,
        PRIMARY KEY (principal, name)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX schedules_by_wake ON schedules (wake_at, principal, name)
        WHERE wake_at IS NOT NULL;
    -- Revisions are never reused, not even after a schedule was deleted.
    CREATE TABLE schedules_revision (last INTEGER NOT NULL) STRICT;
    INSERT INTO schedules_revision VALUES (0);
"];

/// Store for schedules in the file of an [`Sqlite`] store, beside sessions and other tables.
///
/// Several processes may use one file. A save that has returned is on the disk. Clones share one
/// connection.
///
/// ```
/// use tool_runtime::store::Sqlite;
/// use tool_toolbox::schedule::{ScheduleQuery, ScheduleStore, SqliteSchedules};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("schedules-{}.db", std::process::id()));
/// let file = Sqlite::open(&path).await?;
/// let schedules = SqliteSchedules::open(&file).await?;
/// assert!(schedules.list(ScheduleQuery::all()).await?.is_empty());
/// # std::fs::remove_file(&path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SqliteSchedules(SqliteTables);

impl SqliteSchedules {
    /// Opens the tables of schedules, and creates them if they do not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Sqlite::tables`].
    ///
    /// ```
    /// use tool_runtime::store::Sqlite;
    /// use tool_toolbox::schedule::SqliteSchedules;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::store::OpenError> {
    /// let schedules = SqliteSchedules::open(&Sqlite::in_memory()?).await?;
    /// # drop(schedules);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(file: &Sqlite) -> Result<Self, OpenError> {
        Ok(Self(file.tables("schedules", MIGRATIONS).await?))
    }
}

/// A record as it is stored.
struct StoredRow {
    principal: String,
    name: String,
    revision: i64,
    record: String,
}

impl StoredRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            principal: row.get(0)?,
            name: row.get(1)?,
            revision: row.get(2)?,
            record: row.get(3)?,
        })
    }

    fn decode(self) -> Result<ScheduleRecord, ScheduleError> {
        let corrupt = |name: &str, reason: String| ScheduleError::CorruptRecord {
            name: name.to_owned(),
            reason,
        };
        let mut record: ScheduleRecord = serde_json::from_str(&self.record)
            .map_err(|error| corrupt(&self.name, error.to_string()))?;
        let key = (&record.schedule.principal, &record.schedule.name);
        if key != (&self.principal, &self.name) {
            let reason = format!("it is of the schedule `{}` of `{}`", key.1, key.0);
            return Err(corrupt(&self.name, reason));
        }
        record.revision = u64::try_from(self.revision).unwrap_or_default();
        Ok(record)
    }
}

impl From<SqliteError> for ScheduleError {
    fn from(error: SqliteError) -> Self {
        Self::unavailable(error)
    }
}

fn next_revision(transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
    let increment = "UPDATE schedules_revision SET last = last + 1 RETURNING last";
    transaction.query_row(increment, (), |row| row.get(0))
}

fn rows(
    transaction: &Transaction<'_>,
    query: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<StoredRow>> {
    transaction.prepare(query)?.query_map(parameters, StoredRow::read)?.collect()
}

fn as_integer(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

#[async_trait]
impl ScheduleStore for SqliteSchedules {
    async fn load(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<ScheduleRecord>, ScheduleError> {
        let key = [principal.to_owned(), name.to_owned()];
        let query = "SELECT principal, name, revision, record FROM schedules
            WHERE principal = ?1 AND name = ?2";
        let row = self.0.read(move |it| it.query_row(query, key, StoredRow::read).optional());
        row.await?.map(StoredRow::decode).transpose()
    }

    async fn save(&self, record: &ScheduleRecord) -> Result<u64, ScheduleError> {
        let text = serde_json::to_string(record).map_err(ScheduleError::unavailable)?;
        let (name, principal) = (record.schedule.name.clone(), record.schedule.principal.clone());
        let wake_at = record.wake_at().map(Timestamp::as_microsecond);
        let revision = as_integer(record.revision);
        let saved = self.0.write(move |it| {
            let next = next_revision(it)?;
            let changes = if revision == 0 {
                let insert = "INSERT INTO schedules (name, principal, revision, wake_at, record)
                    VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
                it.prepare(insert)?.execute((name, principal, next, wake_at, text))?
            } else {
                let update = "UPDATE schedules
                    SET revision = ?3, wake_at = ?4, record = ?5
                    WHERE name = ?1 AND principal = ?2 AND revision = ?6";
                let values = (name, principal, next, wake_at, text, revision);
                it.prepare(update)?.execute(values)?
            };
            Ok((changes == 1).then_some(next))
        });
        let revision = saved.await?.and_then(|revision| u64::try_from(revision).ok());
        revision.ok_or_else(|| ScheduleError::conflict(&record.schedule.name, record.revision))
    }

    async fn delete(
        &self,
        principal: &str,
        name: &str,
        revision: u64,
    ) -> Result<(), ScheduleError> {
        let key = (principal.to_owned(), name.to_owned(), as_integer(revision));
        let delete = "DELETE FROM schedules WHERE principal = ?1 AND name = ?2 AND revision = ?3";
        let changes = self.0.write(move |it| it.execute(delete, key)).await?;
        if changes == 1 { Ok(()) } else { Err(ScheduleError::conflict(name, revision)) }
    }

    async fn list(&self, query: ScheduleQuery<'_>) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        let principal = query.principal.map(str::to_owned);
        let (after_principal, after) = match query.after {
            Some((principal, name)) => (Some(principal.to_owned()), Some(name.to_owned())),
            None => (None, None),
        };
        let limit = as_integer(query.limit);
        let found = self.0.read(move |it| {
            let select = "SELECT principal, name, revision, record FROM schedules
                WHERE (?1 IS NULL OR principal = ?1)
                AND (?2 IS NULL OR (principal, name) > (?2, ?3))
                ORDER BY principal, name LIMIT ?4";
            rows(it, select, (principal, after_principal, after, limit))
        });
        found.await?.into_iter().map(StoredRow::decode).collect()
    }

    async fn due(
        &self,
        time: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        let (time, limit) = (time.as_microsecond(), as_integer(limit));
        let found = self.0.read(move |it| {
            let select = "SELECT principal, name, revision, record FROM schedules
                WHERE wake_at <= ?1 ORDER BY wake_at, principal, name LIMIT ?2";
            rows(it, select, (time, limit))
        });
        found.await?.into_iter().map(StoredRow::decode).collect()
    }
}
