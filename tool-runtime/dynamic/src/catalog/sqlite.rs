//! Catalog store in an SQLite file.

use tool_core::async_trait;
use tool_store::rusqlite::{self, OptionalExtension, Row, Transaction};
use tool_store::{OpenError, Sqlite, SqliteError, SqliteTables};

use super::error::CatalogError;
use super::store::{CatalogRecord, CatalogRecords, CatalogStore};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE catalog (
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        revision INTEGER NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;
    -- Revisions are never reused. A deletion has one, too.
    CREATE TABLE catalog_revision (last INTEGER NOT NULL) STRICT;
    INSERT INTO catalog_revision VALUES (0);
"];

/// Catalog store in the file of an [`Sqlite`] store, beside sessions and other tables.
///
/// Several processes may use one file. They see each other's changes within a quarter of a second.
/// A write that has returned is on the disk. Clones share one connection.
///
/// ```
/// use tool_runtime::dynamic::Catalog;
/// use tool_runtime::dynamic::catalog::SqliteCatalog;
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("catalog-{}.db", std::process::id()));
/// let file = Sqlite::open(&path).await?;
/// let catalog = Catalog::new(SqliteCatalog::open(&file).await?);
/// assert!(catalog.contents().await?.entries.is_empty());
/// # std::fs::remove_file(&path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SqliteCatalog(SqliteTables);

impl SqliteCatalog {
    /// Opens the tables of a catalog, and creates them if they do not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Sqlite::tables`].
    ///
    /// ```
    /// use tool_runtime::dynamic::catalog::SqliteCatalog;
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::store::OpenError> {
    /// let store = SqliteCatalog::open(&Sqlite::in_memory()?).await?;
    /// # drop(store);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(file: &Sqlite) -> Result<Self, OpenError> {
        Ok(Self(file.tables("catalog", MIGRATIONS).await?))
    }
}

fn read_record(row: &Row<'_>) -> rusqlite::Result<CatalogRecord> {
    let record = CatalogRecord::new(
        row.get::<_, String>(0)?,
        row.get::<_, String>(1)?,
        row.get::<_, String>(2)?,
    );
    Ok(record.at_revision(unsigned(row.get(3)?)))
}

fn last_revision(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    transaction.query_row("SELECT last FROM catalog_revision", (), |row| row.get(0)).map(unsigned)
}

/// Returns the revision of this write.
fn next_revision(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    let next = "UPDATE catalog_revision SET last = last + 1 RETURNING last";
    transaction.query_row(next, (), |row| row.get(0)).map(unsigned)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A write either changes one row, or nothing: then its revision is not used.
fn written(
    transaction: &Transaction<'_>,
    change: impl FnOnce(i64) -> rusqlite::Result<usize>,
) -> rusqlite::Result<Option<u64>> {
    let next = last_revision(transaction)?.saturating_add(1);
    if change(signed(next))? == 0 {
        return Ok(None);
    }
    next_revision(transaction).map(Some)
}

impl From<SqliteError> for CatalogError {
    fn from(error: SqliteError) -> Self {
        Self::unavailable(error)
    }
}

#[async_trait]
impl CatalogStore for SqliteCatalog {
    async fn load(&self, kind: &str, name: &str) -> Result<Option<CatalogRecord>, CatalogError> {
        let key = [kind.to_owned(), name.to_owned()];
        let select = "SELECT kind, name, content, revision FROM catalog
            WHERE kind = ?1 AND name = ?2";
        let row = self.0.read(move |it| it.query_row(select, key, read_record).optional());
        Ok(row.await?)
    }

    async fn save(&self, record: &CatalogRecord) -> Result<u64, CatalogError> {
        let CatalogRecord { kind, name, content, revision } = record.clone();
        let saved = self.0.write(move |it| {
            written(it, |next| {
                if revision == 0 {
                    let insert = "INSERT INTO catalog (kind, name, content, revision)
                        VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
                    return it.execute(insert, (kind, name, content, next));
                }
                let update = "UPDATE catalog SET content = ?3, revision = ?4
                    WHERE kind = ?1 AND name = ?2 AND revision = ?5";
                it.execute(update, (kind, name, content, next, signed(revision)))
            })
        });
        let conflict = || CatalogError::conflict(&record.kind, &record.name, record.revision);
        saved.await?.ok_or_else(conflict)
    }

    async fn delete(&self, kind: &str, name: &str, revision: u64) -> Result<u64, CatalogError> {
        let key = (kind.to_owned(), name.to_owned(), signed(revision));
        let deleted = self.0.write(move |it| {
            let delete = "DELETE FROM catalog WHERE kind = ?1 AND name = ?2 AND revision = ?3";
            written(it, |_| it.execute(delete, key))
        });
        deleted.await?.ok_or_else(|| CatalogError::conflict(kind, name, revision))
    }

    async fn list(&self) -> Result<CatalogRecords, CatalogError> {
        let listed = self.0.read(|it| {
            let select = "SELECT kind, name, content, revision FROM catalog ORDER BY kind, name";
            let mut select = it.prepare(select)?;
            let records = select.query_map((), read_record)?.collect::<Result<_, _>>()?;
            Ok(CatalogRecords::new(last_revision(it)?, records))
        });
        Ok(listed.await?)
    }

    async fn count(&self) -> Result<usize, CatalogError> {
        let count = self.0.read(|it| {
            it.query_row("SELECT count(*) FROM catalog", (), |row| row.get::<_, i64>(0))
        });
        Ok(usize::try_from(count.await?).unwrap_or(usize::MAX))
    }

    async fn revision(&self) -> Result<u64, CatalogError> {
        Ok(self.0.read(last_revision).await?)
    }
}
