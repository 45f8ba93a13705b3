//! Descriptions and preferences of tools in a PostgreSQL database.

use async_trait::async_trait;
use deadpool_postgres::Transaction;
use tokio_postgres::IsolationLevel;
use tokio_postgres::types::ToSql;

use super::Postgres;
use super::changes::PostgresChanges;
use super::error::ConnectError;
use super::tables::{PostgresError, PostgresTables};
use tool_core::__workspace::StoredEntries;
use tool_core::ToolPreference;
use tool_core::registry::overrides::{OverrideError, OverrideStore, ToolOverrides};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    -- Texts are bytes, because those of PostgreSQL can't contain the character NUL.
    CREATE TABLE tool_descriptions (name BYTEA PRIMARY KEY, description BYTEA NOT NULL);
    CREATE TABLE tool_preferences (
        name BYTEA PRIMARY KEY,
        -- JSON.
        preference BYTEA NOT NULL
    );
    -- The number of changes: one row.
    CREATE TABLE tool_overrides_version (version BIGINT NOT NULL);
    INSERT INTO tool_overrides_version VALUES (0);
"];

/// The channel of the notifications, which all schemas of a database share.
const CHANNEL: &str = "tool_overrides";

/// Store for descriptions and preferences of tools in the database of a [`Postgres`] store.
///
/// A change notifies all processes. A store on a [pool of the program](Postgres::from_pool) can't
/// listen, and looks once a second. Clones share one connection for notifications.
///
/// ```no_run
/// use tool_runtime::registry::overrides::SharedOverrides;
/// use tool_runtime::store::Postgres;
/// use tool_runtime::Registry;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// let overrides = SharedOverrides::open(store.overrides().await?).await?;
/// let registry = overrides.apply(Registry::new());
/// # drop(registry);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresOverrides {
    tables: PostgresTables,
    changes: PostgresChanges,
}

impl PostgresOverrides {
    pub(super) async fn open(store: &Postgres) -> Result<Self, ConnectError> {
        let tables = store.tables("tool_overrides", MIGRATIONS).await?;
        Ok(Self { tables, changes: store.changes(CHANNEL).await? })
    }

    /// Runs a statement, increments the version and notifies all processes.
    async fn change(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, PostgresError> {
        let mut client = self.tables.client().await?;
        let transaction = client.transaction().await?;
        // First, because its lock orders the changes.
        let increment = "UPDATE tool_overrides_version SET version = version + 1 RETURNING version";
        let version: i64 = transaction.query_one(increment, &[]).await?.try_get(0)?;
        transaction.execute(statement, values).await?;
        self.changes.notify(&transaction).await?;
        transaction.commit().await?;
        Ok(version.cast_unsigned())
    }

    async fn version(&self) -> Result<u64, PostgresError> {
        let client = self.tables.client().await?;
        let version = client.prepare_cached("SELECT version FROM tool_overrides_version").await?;
        Ok(client.query_one(&version, &[]).await?.try_get::<_, i64>(0)?.cast_unsigned())
    }
}

async fn entries(
    transaction: &Transaction<'_>,
    query: &str,
) -> Result<StoredEntries, PostgresError> {
    let rows = transaction.query(query, &[]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

#[async_trait]
impl OverrideStore for PostgresOverrides {
    async fn load(&self) -> Result<ToolOverrides, OverrideError> {
        let mut client = self.tables.client().await?;
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await
            .map_err(PostgresError::from)?;
        let version = transaction.query_one("SELECT version FROM tool_overrides_version", &[]);
        let version = version.await.and_then(|row| row.try_get::<_, i64>(0));
        let version = version.map_err(PostgresError::from)?.cast_unsigned();
        let select = "SELECT name, description FROM tool_descriptions";
        let descriptions = entries(&transaction, select).await?;
        let select = "SELECT name, preference FROM tool_preferences";
        let preferences = entries(&transaction, select).await?;
        Ok(ToolOverrides::decode(version, descriptions, preferences))
    }

    async fn set_description(
        &self,
        name: &str,
        description: Option<&str>,
    ) -> Result<u64, OverrideError> {
        let name = name.as_bytes();
        let changed = match description.map(str::as_bytes) {
            Some(text) => {
                let upsert = "INSERT INTO tool_descriptions VALUES ($1, $2) \
                              ON CONFLICT (name) DO UPDATE SET description = EXCLUDED.description";
                self.change(upsert, &[&name, &text]).await
            }
            None => self.change("DELETE FROM tool_descriptions WHERE name = $1", &[&name]).await,
        };
        Ok(changed?)
    }

    async fn set_preference(
        &self,
        name: &str,
        preference: Option<&ToolPreference>,
    ) -> Result<u64, OverrideError> {
        let name = name.as_bytes();
        let text = preference.map(serde_json::to_vec).transpose();
        let changed = match text.map_err(OverrideError::unavailable)? {
            Some(text) => {
                let upsert = "INSERT INTO tool_preferences VALUES ($1, $2) \
                              ON CONFLICT (name) DO UPDATE SET preference = EXCLUDED.preference";
                self.change(upsert, &[&name, &text]).await
            }
            None => self.change("DELETE FROM tool_preferences WHERE name = $1", &[&name]).await,
        };
        Ok(changed?)
    }

    async fn wait_for_change(&self, version: u64) -> Result<(), OverrideError> {
        while self.version().await? == version {
            self.changes.wait().await;
        }
        Ok(())
    }
}

impl From<PostgresError> for OverrideError {
    fn from(error: PostgresError) -> Self {
        Self::unavailable(error)
    }
}
