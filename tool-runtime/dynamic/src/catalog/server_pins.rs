//! Pinned definitions of servers. They belong to a server and not to an entry: a model can remove a
//! connection and add the same server under another name.
//!
//! Each server has a record of the kind `pins` beside those of the entries, whose name is the
//! digest of the server: its command line can be longer than a name in a database.

use serde::{Deserialize, Serialize};
use tool_mcp::Pins;

use super::error::CatalogError;
use super::operations::{Catalog, MAX_ATTEMPTS, MAX_ENTRIES, PINS};
use super::store::CatalogRecord;

/// The maximum number of all records, entries and pins.
const MAX_RECORDS: usize = 2 * MAX_ENTRIES;

/// The pins of a server as they are stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPins {
    server: String,
    pins: Pins,
}

impl Catalog {
    /// Returns the pinned definitions of a server.
    pub(crate) async fn pins(&self, server: &str) -> Result<Option<Pins>, CatalogError> {
        let name = record_name(server);
        let Some(record) = self.store().load(PINS, &name).await? else { return Ok(None) };
        let stored = serde_json::from_str::<StoredPins>(&record.content);
        let stored = stored.map_err(|error| CatalogError::CorruptRecord {
            kind: PINS.to_owned(),
            name,
            reason: error.to_string(),
        })?;
        Ok(Some(stored.pins))
    }

    /// Replaces the pinned definitions of a server, if they differ.
    pub(crate) async fn save_pins(&self, server: &str, pins: &Pins) -> Result<(), CatalogError> {
        let (name, stored) =
            (record_name(server), StoredPins { server: server.to_owned(), pins: pins.clone() });
        let content = serde_json::to_string(&stored)
            .map_err(|error| CatalogError::unavailable(error.to_string()))?;
        for _ in 0..MAX_ATTEMPTS {
            let revision = match self.store().load(PINS, &name).await? {
                Some(record) if record.content == content => return Ok(()),
                Some(record) => record.revision,
                None => {
                    let count = self.store().count().await?;
                    if count >= MAX_RECORDS {
                        return Err(CatalogError::Full { count, limit: MAX_RECORDS });
                    }
                    0
                }
            };
            let record = CatalogRecord::new(PINS, &name, &content).at_revision(revision);
            match self.store().save(&record).await {
                Err(CatalogError::Conflict { .. }) => {}
                saved => return saved.map(drop),
            }
        }
        Err(CatalogError::conflict(PINS, &name, 0))
    }

    /// Forgets the pinned definitions of a server, which is named as in a
    /// [`PinStore`](tool_mcp::PinStore). The next connection to it pins what it lists then.
    ///
    /// # Errors
    /// [`CatalogError::Unavailable`] if the store can't be reached, and
    /// [`CatalogError::Conflict`] if another process changes the pins.
    ///
    /// ```
    /// use tool_dynamic::Catalog;
    /// use tool_dynamic::catalog::MemoryCatalog;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryCatalog::new());
    /// catalog.forget_pins("https://example.com/mcp").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn forget_pins(&self, server: &str) -> Result<(), CatalogError> {
        let name = record_name(server);
        match self.store().load(PINS, &name).await? {
            Some(record) => self.store().delete(PINS, &name, record.revision).await.map(drop),
            None => Ok(()),
        }
    }
}

fn record_name(server: &str) -> String {
    let digest = hmac_sha256::Hash::hash(server.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
