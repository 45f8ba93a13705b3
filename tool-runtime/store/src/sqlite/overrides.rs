//! Descriptions and preferences of tools in an SQLite file.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Row, Transaction};
use tokio::time::sleep;

use super::error::OpenError;
use super::tables::{SqliteError, SqliteTables};
use tool_core::__workspace::StoredEntries;
use tool_core::ToolPreference;
use tool_core::registry::overrides::{OverrideError, OverrideStore, ToolOverrides};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE tool_descriptions (
        name TEXT PRIMARY KEY,
        description TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE tool_preferences (
        name TEXT PRIMARY KEY,
        -- JSON.
        preference TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- The number of changes: one row.
    CREATE TABLE tool_overrides_version (version INTEGER NOT NULL) STRICT;
    INSERT INTO tool_overrides_version VALUES (0);
"];

/// The time between two looks at the version. SQLite does not report changes by other processes.
const INTERVAL: Duration = Duration::from_millis(250);

/// Store for descriptions and preferences of tools in the file of a [`Sqlite`](super::Sqlite)
/// store.
///
/// Several processes may use one file. Each finds a change by another one within a quarter of a
/// second. Clones share one connection.
///
/// ```
/// use tool_runtime::registry::overrides::{OverrideStore, SharedOverrides};
/// use tool_runtime::store::Sqlite;
/// use tool_runtime::Registry;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Sqlite::in_memory()?.overrides().await?;
/// store.set_description("now", Some("Returns the time.")).await?;
/// let registry = SharedOverrides::open(store).await?.apply(Registry::new());
/// # drop(registry);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SqliteOverrides(SqliteTables);

impl SqliteOverrides {
    pub(super) async fn open(file: &super::Sqlite) -> Result<Self, OpenError> {
        Ok(Self(file.tables("tool_overrides", MIGRATIONS).await?))
    }

    async fn change(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<usize> + Send + 'static,
    ) -> Result<u64, OverrideError> {
        let version = self.0.write(|it| {
            change(it)?;
            let increment =
                "UPDATE tool_overrides_version SET version = version + 1 RETURNING version";
            it.query_row(increment, (), |row| row.get::<_, i64>(0))
        });
        Ok(version.await?.cast_unsigned())
    }

    async fn version(&self) -> Result<u64, OverrideError> {
        let version = self.0.read(version);
        Ok(version.await?)
    }
}

fn version(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    let version = "SELECT version FROM tool_overrides_version";
    transaction.query_row(version, (), |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()))
}

fn entries(transaction: &Transaction<'_>, query: &str) -> rusqlite::Result<StoredEntries> {
    // A text may not be UTF-8.
    let entry = |row: &Row<'_>| {
        Ok((row.get_ref(0)?.as_bytes()?.to_owned(), row.get_ref(1)?.as_bytes()?.to_owned()))
    };
    transaction.prepare(query)?.query_map((), entry)?.collect()
}

#[async_trait]
impl OverrideStore for SqliteOverrides {
    async fn load(&self) -> Result<ToolOverrides, OverrideError> {
        let all = self.0.read(|it| {
            let descriptions = entries(it, "SELECT name, description FROM tool_descriptions")?;
            let preferences = entries(it, "SELECT name, preference FROM tool_preferences")?;
            Ok((version(it)?, descriptions, preferences))
        });
        let (version, descriptions, preferences) = all.await?;
        Ok(ToolOverrides::decode(version, descriptions, preferences))
    }

    async fn set_description(
        &self,
        name: &str,
        description: Option<&str>,
    ) -> Result<u64, OverrideError> {
        let (name, description) = (name.to_owned(), description.map(str::to_owned));
        self.change(move |it| match description {
            Some(text) => {
                it.execute("REPLACE INTO tool_descriptions VALUES (?1, ?2)", (name, text))
            }
            None => it.execute("DELETE FROM tool_descriptions WHERE name = ?1", [name]),
        })
        .await
    }

    async fn set_preference(
        &self,
        name: &str,
        preference: Option<&ToolPreference>,
    ) -> Result<u64, OverrideError> {
        let text = preference.map(serde_json::to_string).transpose();
        let (name, text) = (name.to_owned(), text.map_err(OverrideError::unavailable)?);
        self.change(move |it| match text {
            Some(text) => it.execute("REPLACE INTO tool_preferences VALUES (?1, ?2)", (name, text)),
            None => it.execute("DELETE FROM tool_preferences WHERE name = ?1", [name]),
        })
        .await
    }

    async fn wait_for_change(&self, version: u64) -> Result<(), OverrideError> {
        while self.version().await? == version {
            sleep(INTERVAL).await;
        }
        Ok(())
    }
}

impl From<SqliteError> for OverrideError {
    fn from(error: SqliteError) -> Self {
        Self::unavailable(error)
    }
}
