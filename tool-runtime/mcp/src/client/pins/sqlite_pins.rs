//! Store for pinned definitions in an SQLite file.

use std::io;

use tool_core::async_trait;
use tool_store::rusqlite::OptionalExtension;
use tool_store::{OpenError, Sqlite, SqliteTables};

use crate::client::pins::{PinStore, Pins};

/// The migrations of the tables. Append to them; never change one.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE mcp_pins (
        server TEXT PRIMARY KEY,
        -- JSON.
        pins TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
"];

/// Keeps pinned definitions in the file of an [`Sqlite`] store, next to sessions and other tables.
///
/// Several processes may use one file. Clones share one connection.
///
/// ```
/// use tool_runtime::mcp::{McpClient, SqlitePins};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = std::env::temp_dir().join(format!("mcp-pins-{}.db", std::process::id()));
/// let file = Sqlite::open(&path).await?;
/// let client = McpClient::stdio("my-server").pin_store(SqlitePins::open(&file).await?);
/// # drop((client, file));
/// # std::fs::remove_file(&path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SqlitePins(SqliteTables);

impl SqlitePins {
    /// Opens the table of pins, and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Sqlite::tables`].
    ///
    /// ```
    /// use tool_runtime::mcp::{PinStore, SqlitePins};
    /// use tool_runtime::store::Sqlite;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pins = SqlitePins::open(&Sqlite::in_memory()?).await?;
    /// assert_eq!(pins.load("docs").await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn open(file: &Sqlite) -> Result<Self, OpenError> {
        Ok(Self(file.tables("mcp_pins", MIGRATIONS).await?))
    }
}

#[async_trait]
impl PinStore for SqlitePins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        let server = server.to_owned();
        let found = self.0.read(move |it| {
            let select = "SELECT pins FROM mcp_pins WHERE server = ?1";
            it.query_row(select, [server], |row| row.get::<_, String>(0)).optional()
        });
        match found.await.map_err(io::Error::other)? {
            Some(pins) => Ok(Some(serde_json::from_str(&pins)?)),
            None => Ok(None),
        }
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        let row = [server.to_owned(), serde_json::to_string(pins)?];
        let saved = self.0.write(move |it| {
            let upsert = "INSERT INTO mcp_pins (server, pins) VALUES (?1, ?2)
                ON CONFLICT (server) DO UPDATE SET pins = excluded.pins";
            it.execute(upsert, row)
        });
        saved.await.map(drop).map_err(io::Error::other)
    }
}
