use async_trait::async_trait;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, Transaction, params_from_iter};
use tool_core::records::{
    Expected, Record, RecordList, RecordQuery, Records, StoreError, check_sizes,
};

use super::error::OpenError;
use super::tables::{SqliteError, SqliteTables};
use crate::records::{
    COUNTER, DELETE, LOAD, NEXT, Parameter, REVISION, RecordRow, SAVE, Select, list,
};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    -- Never falls: the value of a write is its revision.
    CREATE TABLE tool_record_counters (
        collection BLOB PRIMARY KEY,
        counter INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE tool_records (
        -- Bytes, because the order of texts ends at a NUL.
        collection BLOB NOT NULL,
        key BLOB NOT NULL,
        revision INTEGER NOT NULL,
        sort_order INTEGER,
        value TEXT NOT NULL,
        PRIMARY KEY (collection, key)
    ) STRICT;
    CREATE INDEX tool_records_by_order ON tool_records (collection, sort_order, key)
        WHERE sort_order IS NOT NULL;
"];

/// Small records in the file of a [`Sqlite`](super::Sqlite) store, from
/// [`Sqlite::records`](super::Sqlite::records).
///
/// Several processes may use one file. They see each other's changes within a quarter of a second.
/// A write that has returned is on the disk. Clones share one connection.
///
/// ```
/// use tool_runtime::records::{Expected, Records};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Sqlite::in_memory()?.records().await?;
/// store.save("notes", "ada", Expected::Absent, "Buy milk", None).await?;
/// assert_eq!(store.load("notes", "ada").await?.unwrap().value, "Buy milk");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SqliteRecords(SqliteTables);

impl SqliteRecords {
    pub(super) async fn open(file: &super::Sqlite) -> Result<Self, OpenError> {
        Ok(Self(file.tables("tool_records", MIGRATIONS).await?))
    }

    /// Changes a record if it is as expected, and returns the revision of the change.
    async fn change(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        change: impl FnOnce(&Transaction<'_>, (Vec<u8>, Vec<u8>), i64) -> rusqlite::Result<usize>
        + Send
        + 'static,
    ) -> Result<u64, StoreError> {
        let (collection, key) = (collection.to_owned(), key.to_owned());
        let changed = self.0.write(move |it| {
            let name = (collection.into_bytes(), key.clone().into_bytes());
            let revision = it.query_row(REVISION, (&name.0, &name.1), |row| row.get::<_, i64>(0));
            let stored = revision.optional()?;
            if let Err(error) = expected.check(&key, stored.map(i64::cast_unsigned)) {
                return Ok(Err(error));
            }
            let next: i64 = it.query_row(NEXT, [&name.0], |row| row.get(0))?;
            change(it, name, next)?;
            Ok(Ok(next.cast_unsigned()))
        });
        changed.await?
    }
}

impl From<SqliteError> for StoreError {
    fn from(error: SqliteError) -> Self {
        Self::unavailable(error)
    }
}

/// A text may not be UTF-8.
fn read(row: &Row<'_>) -> rusqlite::Result<RecordRow> {
    let bytes = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_bytes()?.to_owned());
    Ok(RecordRow { key: bytes(0)?, revision: row.get(1)?, order: row.get(2)?, value: bytes(3)? })
}

#[async_trait]
impl Records for SqliteRecords {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        let name = (collection.as_bytes().to_owned(), key.as_bytes().to_owned());
        let row = self.0.read(|it| it.query_row(LOAD, name, read).optional());
        Ok(row.await?.map(RecordRow::decode).transpose()?)
    }

    async fn save(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: &str,
        order: Option<i64>,
    ) -> Result<u64, StoreError> {
        check_sizes(collection, key, value)?;
        let value = value.to_owned();
        self.change(collection, key, expected, move |it, (collection, key), revision| {
            it.execute(SAVE, (collection, key, revision, order, value))
        })
        .await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        check_sizes(collection, key, "")?;
        self.change(collection, key, expected, |it, name, _| it.execute(DELETE, name)).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        let Select { text, parameters } = Select::new(collection, &query);
        let collection = collection.as_bytes().to_owned();
        let listed = self.0.read(move |it| {
            let parameters = parameters.into_iter().map(|parameter| match parameter {
                Parameter::Bytes(bytes) => Value::Blob(bytes),
                Parameter::Integer(integer) => Value::Integer(integer),
            });
            let mut select = it.prepare(&text)?;
            let rows = select.query_map(params_from_iter(parameters), read)?;
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            let counter = it.query_row(COUNTER, [collection], |row| row.get(0));
            Ok((counter.optional()?.unwrap_or_default(), rows))
        });
        let (counter, rows) = listed.await?;
        Ok(list(counter, rows))
    }
}
