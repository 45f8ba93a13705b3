//! Store for pinned definitions in a PostgreSQL database.

use std::io;

use tool_core::async_trait;
use tool_store::{ConnectError, Postgres, PostgresError, PostgresTables};

use crate::client::pins::{PinStore, Pins};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE tool_mcp_pins (
        -- Bytes, because texts of PostgreSQL can't contain the character NUL.
        server BYTEA PRIMARY KEY,
        -- JSON.
        pins BYTEA NOT NULL
    );
"];

/// Keeps pinned definitions in the database of a [`Postgres`] store, next to sessions and other
/// tables.
///
/// Any number of processes and machines may use one database: an approval on one machine applies to
/// all. Clones share the pool of the store.
///
/// ```no_run
/// use tool_runtime::mcp::{McpClient, PostgresPins};
/// use tool_runtime::store::Postgres;
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// let client = McpClient::stdio("my-server").pin_store(PostgresPins::open(&store).await?);
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresPins(PostgresTables);

impl PostgresPins {
    /// Opens the table of pins, and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Postgres::tables`].
    ///
    /// ```no_run
    /// use tool_runtime::mcp::{PinStore, PostgresPins};
    /// use tool_runtime::store::Postgres;
    ///
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let pins = PostgresPins::open(&store).await?.load("docs").await?;
    /// # drop(pins);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(store: &Postgres) -> Result<Self, ConnectError> {
        Ok(Self(store.tables("tool_mcp_pins", MIGRATIONS).await?))
    }

    async fn row(&self, server: &str) -> Result<Option<Vec<u8>>, PostgresError> {
        let client = self.0.client().await?;
        let select = "SELECT pins FROM tool_mcp_pins WHERE server = $1";
        let select = client.prepare_cached(select).await?;
        let row = client.query_opt(&select, &[&server.as_bytes()]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    async fn upsert(&self, server: &str, pins: &[u8]) -> Result<(), PostgresError> {
        let client = self.0.client().await?;
        let upsert = "INSERT INTO tool_mcp_pins (server, pins) VALUES ($1, $2) \
                      ON CONFLICT (server) DO UPDATE SET pins = EXCLUDED.pins";
        let upsert = client.prepare_cached(upsert).await?;
        client.execute(&upsert, &[&server.as_bytes(), &pins]).await?;
        Ok(())
    }
}

#[async_trait]
impl PinStore for PostgresPins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        match self.row(server).await.map_err(io::Error::other)? {
            Some(pins) => Ok(Some(serde_json::from_slice(&pins)?)),
            None => Ok(None),
        }
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        let pins = serde_json::to_vec(pins)?;
        self.upsert(server, &pins).await.map_err(io::Error::other)
    }
}
