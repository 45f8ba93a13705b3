use async_trait::async_trait;
use deadpool_postgres::Transaction;
use tokio_postgres::types::ToSql;
use tokio_postgres::{IsolationLevel, Row};
use tool_core::records::{
    Expected, Record, RecordList, RecordQuery, Records, StoreError, check_sizes,
};

use super::Postgres;
use super::changes::Changes;
use super::error::ConnectError;
use super::tables::{PostgresError, PostgresTables};
use crate::records::{
    COUNTER, DELETE, LOAD, NEXT, Parameter, REVISION, RecordRow, SAVE, Select, list,
};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    -- Never falls: the value of a write is its revision.
    CREATE TABLE tool_record_counters (
        collection BYTEA PRIMARY KEY,
        counter BIGINT NOT NULL
    );
    CREATE TABLE tool_records (
        -- Bytes, because texts can't contain NUL, and because their order is that of a language.
        collection BYTEA NOT NULL,
        key BYTEA NOT NULL,
        revision BIGINT NOT NULL,
        sort_order BIGINT,
        value BYTEA NOT NULL,
        PRIMARY KEY (collection, key)
    );
    CREATE INDEX tool_records_by_order ON tool_records (collection, sort_order, key)
        WHERE sort_order IS NOT NULL;
"];

/// The channel of the notifications, which all schemas of a database share.
const CHANNEL: &str = "tool_records";

/// Small records in the database of a [`Postgres`] store, from [`Postgres::records`].
///
/// Any number of processes and machines may use one database. A write notifies all of them. A store
/// on a [pool of the program](Postgres::from_pool) can't listen, and looks once a second. Clones
/// share the pool and one connection for notifications. The writes of one collection follow each
/// other.
///
/// If the connection is lost during a commit, the write may be stored although an error is
/// returned.
///
/// ```no_run
/// use tool_runtime::records::{Expected, Records};
/// use tool_runtime::store::Postgres;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// let records = store.records().await?;
/// records.save("notes", "ada", Expected::Absent, "Buy milk", None).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresRecords {
    tables: PostgresTables,
    changes: Changes,
}

type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

impl PostgresRecords {
    pub(super) async fn open(store: &Postgres) -> Result<Self, ConnectError> {
        let tables = store.tables("tool_records", MIGRATIONS).await?;
        Ok(Self { tables, changes: Changes::open(store, CHANNEL).await? })
    }

    /// Changes a record if it is as expected, and returns the revision of the change.
    async fn change(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
        value: Option<(&str, Option<i64>)>,
    ) -> Result<u64, StoreError> {
        let mut client = self.tables.client().await?;
        let transaction = client.transaction().await.map_err(PostgresError::from)?;
        let (name, text) = (collection.as_bytes(), key);
        let key = key.as_bytes();
        // First, because its lock orders the writes. Undone if the record is not as expected.
        let revision = first(&transaction, NEXT, &[&name]).await?.unwrap_or_default();
        let stored = first(&transaction, REVISION, &[&name, &key]).await?;
        expected.check(text, stored.map(i64::cast_unsigned))?;
        match value {
            Some((value, order)) => {
                let value = value.as_bytes();
                execute(&transaction, SAVE, &[&name, &key, &revision, &order, &value]).await?;
            }
            None => execute(&transaction, DELETE, &[&name, &key]).await?,
        }
        execute(&transaction, "SELECT pg_notify($1, '')", &[&CHANNEL]).await?;
        transaction.commit().await.map_err(PostgresError::from)?;
        Ok(revision.cast_unsigned())
    }

    async fn row(&self, collection: &str, key: &str) -> Result<Option<RecordRow>, PostgresError> {
        let client = self.tables.client().await?;
        let load = client.prepare_cached(LOAD).await?;
        let row = client.query_opt(&load, &[&collection.as_bytes(), &key.as_bytes()]).await?;
        Ok(row.as_ref().map(read).transpose()?)
    }

    /// Reads rows of one moment, with the counter.
    async fn rows(
        &self,
        collection: &str,
        select: Select,
    ) -> Result<(i64, Vec<RecordRow>), PostgresError> {
        let mut client = self.tables.client().await?;
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await?;
        let counter = first(&transaction, COUNTER, &[&collection.as_bytes()]).await?;
        let text = transaction.prepare_cached(&select.text).await?;
        let parameters: Vec<&(dyn ToSql + Sync)> = select
            .parameters
            .iter()
            .map(|parameter| match parameter {
                Parameter::Bytes(bytes) => bytes as &(dyn ToSql + Sync),
                Parameter::Integer(integer) => integer,
            })
            .collect();
        let rows = transaction.query(&text, &parameters).await?;
        Ok((counter.unwrap_or_default(), rows.iter().map(read).collect::<Result<_, _>>()?))
    }

    async fn counter(&self, collection: &str) -> Result<u64, PostgresError> {
        let client = self.tables.client().await?;
        let counter = client.prepare_cached(COUNTER).await?;
        let row = client.query_opt(&counter, &[&collection.as_bytes()]).await?;
        let counter = row.map(|row| row.try_get::<_, i64>(0)).transpose()?;
        Ok(counter.unwrap_or_default().cast_unsigned())
    }
}

/// Returns the first column of the only row.
async fn first(
    transaction: &Transaction<'_>,
    statement: &str,
    values: Values<'_>,
) -> Result<Option<i64>, PostgresError> {
    let statement = transaction.prepare_cached(statement).await?;
    let row = transaction.query_opt(&statement, values).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

async fn execute(
    transaction: &Transaction<'_>,
    statement: &str,
    values: Values<'_>,
) -> Result<(), PostgresError> {
    let statement = transaction.prepare_cached(statement).await?;
    transaction.execute(&statement, values).await?;
    Ok(())
}

fn read(row: &Row) -> Result<RecordRow, tokio_postgres::Error> {
    Ok(RecordRow {
        key: row.try_get(0)?,
        revision: row.try_get(1)?,
        order: row.try_get(2)?,
        value: row.try_get(3)?,
    })
}

impl From<PostgresError> for StoreError {
    fn from(error: PostgresError) -> Self {
        Self::unavailable(error)
    }
}

#[async_trait]
impl Records for PostgresRecords {
    async fn load(&self, collection: &str, key: &str) -> Result<Option<Record>, StoreError> {
        Ok(self.row(collection, key).await?.map(RecordRow::decode).transpose()?)
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
        self.change(collection, key, expected, Some((value, order))).await
    }

    async fn delete(
        &self,
        collection: &str,
        key: &str,
        expected: Expected,
    ) -> Result<u64, StoreError> {
        check_sizes(collection, key, "")?;
        self.change(collection, key, expected, None).await
    }

    async fn list(
        &self,
        collection: &str,
        query: RecordQuery<'_>,
    ) -> Result<RecordList, StoreError> {
        let (counter, rows) = self.rows(collection, Select::new(collection, &query)).await?;
        Ok(list(counter, rows))
    }

    async fn changed(&self, collection: &str, since: u64) -> Result<u64, StoreError> {
        let mut changes = self.changes.clone();
        loop {
            let counter = self.counter(collection).await?;
            if counter > since {
                return Ok(counter);
            }
            changes.wait().await;
        }
    }
}
