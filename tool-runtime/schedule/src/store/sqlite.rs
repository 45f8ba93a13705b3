//! Schedule store in an SQLite file.

use jiff::Timestamp;
use tool_core::async_trait;
use tool_store::rusqlite::{self, OptionalExtension, Row, Transaction};
use tool_store::{OpenError, Sqlite, SqliteError, SqliteTables};

use super::stored_row::{StoredRow, as_integer, collect};
use super::{CorruptSchedule, ScheduleError, ScheduleQuery, ScheduleStore};
use crate::record::ScheduleRecord;

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

/// Schedule store in the file of an [`Sqlite`] store, beside sessions and other tables.
///
/// Several processes may use one file. A save that has returned is on the disk. Clones share one
/// connection.
///
/// ```
/// use tool_runtime::schedule::{ScheduleQuery, ScheduleStore, SqliteSchedules};
/// use tool_runtime::store::Sqlite;
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
    /// use tool_runtime::schedule::SqliteSchedules;
    /// use tool_runtime::store::Sqlite;
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

fn read_row(row: &Row<'_>) -> rusqlite::Result<StoredRow> {
    Ok(StoredRow {
        principal: row.get::<_, String>(0)?.into_bytes(),
        name: row.get::<_, String>(1)?.into_bytes(),
        revision: row.get(2)?,
        wake_at: row.get(3)?,
        record: row.get::<_, String>(4)?.into_bytes(),
    })
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
    transaction.prepare(query)?.query_map(parameters, read_row)?.collect()
}

/// Returns the text of a key that was read.
fn key_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl SqliteSchedules {
    /// Reads a page of a list.
    async fn page(
        &self,
        query: ScheduleQuery<'_>,
        last: Option<StoredRow>,
        limit: i64,
    ) -> Result<Vec<StoredRow>, ScheduleError> {
        let principal = query.principal.map(str::to_owned);
        let (after_principal, after) = match (&last, query.after) {
            (Some(row), _) => (Some(key_text(&row.principal)), Some(key_text(&row.name))),
            (None, Some((principal, name))) => (Some(principal.to_owned()), Some(name.to_owned())),
            (None, None) => (None, None),
        };
        let found = self.0.read(move |it| {
            let select = "SELECT principal, name, revision, wake_at, record FROM schedules
                WHERE (?1 IS NULL OR principal = ?1)
                AND (?2 IS NULL OR (principal, name) > (?2, ?3))
                ORDER BY principal, name LIMIT ?4";
            rows(it, select, (principal, after_principal, after, limit))
        });
        Ok(found.await?)
    }

    /// Reads a page of the records that are due.
    async fn due_page(
        &self,
        time: i64,
        last: Option<StoredRow>,
        limit: i64,
    ) -> Result<Vec<StoredRow>, ScheduleError> {
        let (wake_at, principal, name) = match &last {
            Some(row) => (row.wake_at, key_text(&row.principal), key_text(&row.name)),
            None => (Some(i64::MIN), String::new(), String::new()),
        };
        let found = self.0.read(move |it| {
            let select = "SELECT principal, name, revision, wake_at, record FROM schedules
                WHERE wake_at <= ?1 AND (wake_at, principal, name) > (?2, ?3, ?4)
                ORDER BY wake_at, principal, name LIMIT ?5";
            rows(it, select, (time, wake_at, principal, name, limit))
        });
        Ok(found.await?)
    }
}

#[async_trait]
impl ScheduleStore for SqliteSchedules {
    async fn load(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<ScheduleRecord>, ScheduleError> {
        let key = [principal.to_owned(), name.to_owned()];
        let query = "SELECT principal, name, revision, wake_at, record FROM schedules
            WHERE principal = ?1 AND name = ?2";
        let row = self.0.read(move |it| it.query_row(query, key, read_row).optional());
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
        let page = |last, limit| self.page(query, last, limit);
        collect(query.limit, page, StoredRow::intact).await
    }

    async fn list_corrupt(
        &self,
        query: ScheduleQuery<'_>,
    ) -> Result<Vec<CorruptSchedule>, ScheduleError> {
        let page = |last, limit| self.page(query, last, limit);
        collect(query.limit, page, StoredRow::corrupt).await
    }

    async fn due(
        &self,
        time: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, ScheduleError> {
        let page = |last, limit| self.due_page(time.as_microsecond(), last, limit);
        collect(limit, page, StoredRow::intact).await
    }
}
