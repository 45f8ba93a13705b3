//! Store for catalogs in a PostgreSQL database.

use tool_core::async_trait;
use tool_store::tokio_postgres::types::ToSql;
use tool_store::tokio_postgres::{self, IsolationLevel, Row};
use tool_store::{ConnectError, Postgres, PostgresError, PostgresTables};

use super::error::CatalogError;
use super::store::{CatalogRecord, CatalogRecords, CatalogStore};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    -- Texts are bytes: those of PostgreSQL can't contain the character NUL, and their order is that
    -- of a language.
    CREATE TABLE tool_catalog (
        kind BYTEA NOT NULL,
        name BYTEA NOT NULL,
        revision BIGINT NOT NULL,
        content BYTEA NOT NULL,
        PRIMARY KEY (kind, name)
    );
    -- Revisions are never reused. A deletion has one, too. One row.
    CREATE TABLE tool_catalog_revision (last BIGINT NOT NULL);
    INSERT INTO tool_catalog_revision VALUES (0);
"];

const LAST_REVISION: &str = "SELECT last FROM tool_catalog_revision";

/// Store for catalogs in the database of a [`Postgres`] store, beside sessions and other tables.
///
/// Any number of processes and machines may use one database. They see each other's changes within
/// a quarter of a second. Clones share the pool.
///
/// If the connection is lost during a commit, the write may be stored although an error is
/// returned.
///
/// ```no_run
/// use tool_runtime::dynamic::Catalog;
/// use tool_runtime::dynamic::catalog::PostgresCatalog;
/// use tool_runtime::store::Postgres;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// let catalog = Catalog::new(PostgresCatalog::open(&store).await?);
/// assert!(catalog.contents().await?.entries.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresCatalog {
    tables: PostgresTables,
}

impl PostgresCatalog {
    /// Opens the tables of a catalog, and creates them if they do not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Postgres::tables`].
    ///
    /// ```no_run
    /// use tool_runtime::dynamic::catalog::PostgresCatalog;
    /// use tool_runtime::store::{ConnectError, Postgres};
    ///
    /// # async fn f() -> Result<(), ConnectError> {
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let catalog = PostgresCatalog::open(&store).await?;
    /// # drop(catalog);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(store: &Postgres) -> Result<Self, ConnectError> {
        let tables = store.tables("tool_catalog", MIGRATIONS).await?;
        Ok(Self { tables })
    }

    /// Runs a statement, whose first parameter is the revision of this write. Returns `None`, and
    /// writes nothing, if the statement changes no row.
    async fn write(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<u64>, PostgresError> {
        let mut client = self.tables.client().await?;
        let transaction = client.transaction().await?;
        // First, because its lock orders the writes.
        let increment = "UPDATE tool_catalog_revision SET last = last + 1 RETURNING last";
        let increment = transaction.prepare_cached(increment).await?;
        let revision: i64 = transaction.query_one(&increment, &[]).await?.try_get(0)?;
        let statement = transaction.prepare_cached(statement).await?;
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&revision];
        parameters.extend(values);
        if transaction.execute(&statement, &parameters).await? == 0 {
            transaction.rollback().await?;
            return Ok(None);
        }
        transaction.commit().await?;
        Ok(Some(revision.cast_unsigned()))
    }

    async fn last_revision(&self) -> Result<u64, PostgresError> {
        let client = self.tables.client().await?;
        let last = client.prepare_cached(LAST_REVISION).await?;
        Ok(client.query_one(&last, &[]).await?.try_get::<_, i64>(0)?.cast_unsigned())
    }

    async fn record_count(&self) -> Result<i64, PostgresError> {
        let client = self.tables.client().await?;
        let count = client.prepare_cached("SELECT count(*) FROM tool_catalog").await?;
        Ok(client.query_one(&count, &[]).await?.try_get(0)?)
    }

    async fn row(&self, kind: &str, name: &str) -> Result<Option<Row>, PostgresError> {
        let client = self.tables.client().await?;
        let select = "SELECT kind, name, content, revision FROM tool_catalog \
                      WHERE kind = $1 AND name = $2";
        let select = client.prepare_cached(select).await?;
        Ok(client.query_opt(&select, &[&kind.as_bytes(), &name.as_bytes()]).await?)
    }

    /// Reads all rows of one moment, with the revision of the last write.
    async fn rows(&self) -> Result<(u64, Vec<Row>), PostgresError> {
        let mut client = self.tables.client().await?;
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await?;
        let last: i64 = transaction.query_one(LAST_REVISION, &[]).await?.try_get(0)?;
        let select = "SELECT kind, name, content, revision FROM tool_catalog ORDER BY kind, name";
        Ok((last.cast_unsigned(), transaction.query(select, &[]).await?))
    }
}

type Columns = (Vec<u8>, Vec<u8>, Vec<u8>, i64);

fn read_columns(row: &Row) -> Result<Columns, tokio_postgres::Error> {
    Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?))
}

fn read_record(row: &Row) -> Result<CatalogRecord, CatalogError> {
    let (kind, name, content, revision) = read_columns(row).map_err(PostgresError::from)?;
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (kind, name) = (lossy(&kind), lossy(&name));
    match String::from_utf8(content) {
        Ok(content) => {
            Ok(CatalogRecord::new(kind, name, content).at_revision(revision.cast_unsigned()))
        }
        Err(error) => Err(CatalogError::CorruptRecord { kind, name, reason: error.to_string() }),
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl From<PostgresError> for CatalogError {
    fn from(error: PostgresError) -> Self {
        Self::unavailable(error)
    }
}

#[async_trait]
impl CatalogStore for PostgresCatalog {
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError> {
        self.row(kind, name).await?.as_ref().map(read_record).transpose()
    }

    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError> {
        let (kind, name) = (record.kind.as_bytes(), record.name.as_bytes());
        let content = record.content.as_bytes();
        let written = if record.revision == 0 {
            let insert = "INSERT INTO tool_catalog (revision, kind, name, content) \
                          VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
            self.write(insert, &[&kind, &name, &content]).await
        } else {
            let update = "UPDATE tool_catalog SET revision = $1, content = $4 \
                          WHERE kind = $2 AND name = $3 AND revision = $5";
            self.write(update, &[&kind, &name, &content, &signed(record.revision)]).await
        };
        let conflict = || CatalogError::conflict(&record.kind, &record.name, record.revision);
        written?.ok_or_else(conflict)
    }

    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError> {
        let delete = "DELETE FROM tool_catalog \
                      WHERE kind = $2 AND name = $3 AND revision = $4 AND revision < $1";
        let deleted =
            self.write(delete, &[&kind.as_bytes(), &name.as_bytes(), &signed(revision)]).await;
        deleted?.ok_or_else(|| CatalogError::conflict(kind, name, revision))
    }

    async fn list(&self) -> Result<CatalogRecords, CatalogError> {
        let (revision, rows) = self.rows().await?;
        let records = rows.iter().map(read_record).collect::<Result<_, _>>()?;
        Ok(CatalogRecords::new(revision, records))
    }

    async fn count(&self) -> Result<usize, CatalogError> {
        Ok(usize::try_from(self.record_count().await?).unwrap_or(usize::MAX))
    }

    async fn revision(&self) -> Result<u64, CatalogError> {
        Ok(self.last_revision().await?)
    }
}
