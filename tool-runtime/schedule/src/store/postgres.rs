//! Store for schedules in a PostgreSQL database.

use jiff::Timestamp;
use tool_core::async_trait;
use tool_store::tokio_postgres::{self, Row};
use tool_store::{ConnectError, Postgres, PostgresError, PostgresTables};

use super::stored_row::{StoredRow, as_integer, collect};
use super::{CorruptSchedule, ScheduleError, ScheduleQuery, ScheduleStore};
use crate::record::ScheduleRecord;

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    -- Revisions are never reused, not even after a schedule was deleted.
    CREATE SEQUENCE tool_schedules_revision;
    CREATE TABLE tool_schedules (
        -- Names are bytes: texts of PostgreSQL can't contain the character NUL, and their order is
        -- that of a language.
        principal BYTEA NOT NULL,
        name BYTEA NOT NULL,
        revision BIGINT NOT NULL,
        -- Microseconds since 1970.
        wake_at BIGINT,
        -- JSON.
        record BYTEA NOT NULL,
        PRIMARY KEY (principal, name)
    );
    CREATE INDEX tool_schedules_by_wake ON tool_schedules (wake_at, principal, name)
        WHERE wake_at IS NOT NULL;
"];

const SELECT: &str = "SELECT principal, name, revision, wake_at, record FROM tool_schedules";

/// Store for schedules in the database of a [`Postgres`] store, beside sessions and other tables.
///
/// Any number of processes and machines may use one database. Clones share the pool of the store.
///
/// ```no_run
/// use tool_runtime::schedule::{PostgresSchedules, ScheduleQuery, ScheduleStore};
/// use tool_runtime::store::Postgres;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// let schedules = PostgresSchedules::open(&store).await?;
/// assert!(schedules.list(ScheduleQuery::all()).await?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresSchedules(PostgresTables);

impl PostgresSchedules {
    /// Opens the tables of schedules, and creates them if they do not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Postgres::tables`].
    ///
    /// ```no_run
    /// use tool_runtime::schedule::PostgresSchedules;
    /// use tool_runtime::store::{ConnectError, Postgres};
    ///
    /// # async fn f() -> Result<(), ConnectError> {
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let schedules = PostgresSchedules::open(&store).await?;
    /// # drop(schedules);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(store: &Postgres) -> Result<Self, ConnectError> {
        Ok(Self(store.tables("tool_schedules", MIGRATIONS).await?))
    }

    /// Reads a page of a list.
    async fn page(
        &self,
        query: ScheduleQuery<'_>,
        last: Option<StoredRow>,
        limit: i64,
    ) -> Result<Vec<StoredRow>, ScheduleError> {
        let client = self.0.client().await?;
        let select = format!(
            "{SELECT}
            WHERE ($1::bytea IS NULL OR principal = $1)
            AND ($2::bytea IS NULL OR (principal, name) > ($2, $3::bytea))
            ORDER BY principal, name LIMIT $4"
        );
        let select = client.prepare_cached(&select).await.map_err(PostgresError::from)?;
        let principal = query.principal.map(str::as_bytes);
        let after = match &last {
            Some(row) => Some((row.principal.as_slice(), row.name.as_slice())),
            None => query.after.map(|(principal, name)| (principal.as_bytes(), name.as_bytes())),
        };
        let (after_principal, after) = (after.map(|it| it.0), after.map(|it| it.1));
        let rows = client.query(&select, &[&principal, &after_principal, &after, &limit]).await;
        rows_of(rows)
    }

    /// Reads a page of the records that are due.
    async fn due_page(
        &self,
        time: i64,
        last: Option<StoredRow>,
        limit: i64,
    ) -> Result<Vec<StoredRow>, ScheduleError> {
        let client = self.0.client().await?;
        let select = format!(
            "{SELECT}
            WHERE wake_at <= $1 AND (wake_at, principal, name) > ($2, $3, $4)
            ORDER BY wake_at, principal, name LIMIT $5"
        );
        let select = client.prepare_cached(&select).await.map_err(PostgresError::from)?;
        let (wake_at, principal, name): (_, &[u8], &[u8]) = match &last {
            Some(row) => (row.wake_at.unwrap_or(i64::MIN), &row.principal, &row.name),
            None => (i64::MIN, &[], &[]),
        };
        let rows = client.query(&select, &[&time, &wake_at, &principal, &name, &limit]).await;
        rows_of(rows)
    }
}

fn read_row(row: &Row) -> Result<StoredRow, tokio_postgres::Error> {
    Ok(StoredRow {
        principal: row.try_get(0)?,
        name: row.try_get(1)?,
        revision: row.try_get(2)?,
        wake_at: row.try_get(3)?,
        record: row.try_get(4)?,
    })
}

fn rows_of(rows: Result<Vec<Row>, tokio_postgres::Error>) -> Result<Vec<StoredRow>, ScheduleError> {
    let rows = rows.and_then(|rows| rows.iter().map(read_row).collect());
    Ok(rows.map_err(PostgresError::from)?)
}

impl From<PostgresError> for ScheduleError {
    fn from(error: PostgresError) -> Self {
        Self::unavailable(error)
    }
}

#[async_trait]
impl ScheduleStore for PostgresSchedules {
    async fn load(
        &self,
        principal: &str,
        name: &str,
    ) -> Result<Option<ScheduleRecord>, ScheduleError> {
        let client = self.0.client().await?;
        let select = format!("{SELECT} WHERE principal = $1 AND name = $2");
        let select = client.prepare_cached(&select).await.map_err(PostgresError::from)?;
        let rows = client.query(&select, &[&principal.as_bytes(), &name.as_bytes()]).await;
        rows_of(rows)?.pop().map(StoredRow::decode).transpose()
    }

    async fn save(&self, record: &ScheduleRecord) -> Result<u64, ScheduleError> {
        let text = serde_json::to_vec(record).map_err(ScheduleError::unavailable)?;
        let key = (record.schedule.principal.as_bytes(), record.schedule.name.as_bytes());
        let wake_at = record.wake_at().map(Timestamp::as_microsecond);
        let client = self.0.client().await?;
        // One statement each, so that a save is done completely or not at all.
        let row = if record.revision == 0 {
            let insert = "INSERT INTO tool_schedules (principal, name, revision, wake_at, record) \
                          VALUES ($1, $2, nextval('tool_schedules_revision'), $3, $4) \
                          ON CONFLICT DO NOTHING RETURNING revision";
            let insert = client.prepare_cached(insert).await.map_err(PostgresError::from)?;
            client.query_opt(&insert, &[&key.0, &key.1, &wake_at, &text]).await
        } else {
            let update = "UPDATE tool_schedules SET \
                          revision = nextval('tool_schedules_revision'), wake_at = $3, record = $4 \
                          WHERE principal = $1 AND name = $2 AND revision = $5 RETURNING revision";
            let update = client.prepare_cached(update).await.map_err(PostgresError::from)?;
            let revision: i64 = as_integer(record.revision);
            client.query_opt(&update, &[&key.0, &key.1, &wake_at, &text, &revision]).await
        };
        let row = row.map_err(PostgresError::from)?;
        let revision = row.map(|row| row.try_get::<_, i64>(0)).transpose();
        let revision = revision.map_err(PostgresError::from)?.map(i64::cast_unsigned);
        revision.ok_or_else(|| ScheduleError::conflict(&record.schedule.name, record.revision))
    }

    async fn delete(
        &self,
        principal: &str,
        name: &str,
        revision: u64,
    ) -> Result<(), ScheduleError> {
        let client = self.0.client().await?;
        let delete = "DELETE FROM tool_schedules \
                      WHERE principal = $1 AND name = $2 AND revision = $3";
        let delete = client.prepare_cached(delete).await.map_err(PostgresError::from)?;
        let stored: i64 = as_integer(revision);
        let key = (principal.as_bytes(), name.as_bytes());
        let count = client.execute(&delete, &[&key.0, &key.1, &stored]).await;
        match count.map_err(PostgresError::from)? {
            0 => Err(ScheduleError::conflict(name, revision)),
            _ => Ok(()),
        }
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
