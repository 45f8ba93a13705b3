//! Pinned definitions of servers. They belong to a server and not to an entry: a model can remove a
//! connection and add the same server under another name.
//!
//! Each server has a record, whose key is the digest of the server: its command line can be longer
//! than a key.

use serde::{Deserialize, Serialize};
use tool_core::records::{Expected, StoreError};
use tool_mcp::Pins;

use super::error::CatalogError;
use super::operations::{Catalog, MAX_ENTRIES};

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
        let Some(record) = self.pinned().load(&key(server)).await? else { return Ok(None) };
        let stored = record.decode::<StoredPins>().map_err(StoreError::from)?;
        Ok(Some(stored.pins))
    }

    /// Replaces the pinned definitions of a server.
    pub(crate) async fn save_pins(&self, server: &str, pins: &Pins) -> Result<(), CatalogError> {
        let (key, stored) =
            (key(server), StoredPins { server: server.to_owned(), pins: pins.clone() });
        let text = serde_json::to_string(&stored).map_err(StoreError::unavailable)?;
        match self.pinned().load(&key).await? {
            Some(record) if record.value == text => return Ok(()),
            Some(_) => {}
            None => {
                let count = self.pinned().count().await?;
                if count >= MAX_ENTRIES {
                    return Err(CatalogError::Full { count, limit: MAX_ENTRIES });
                }
            }
        }
        self.pinned().save(&key, Expected::Any, &text).await?;
        Ok(())
    }

    /// Forgets the pinned definitions of a server, which is named as in a
    /// [`PinStore`](tool_mcp::PinStore). The next connection to it pins what it lists then.
    ///
    /// # Errors
    /// [`CatalogError::Store`] if the store can't be reached.
    ///
    /// ```
    /// use tool_runtime::dynamic::Catalog;
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::dynamic::CatalogError> {
    /// let catalog = Catalog::new(MemoryRecords::new());
    /// catalog.forget_pins("https://example.com/mcp").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn forget_pins(&self, server: &str) -> Result<(), CatalogError> {
        self.pinned().delete(&key(server), Expected::Any).await?;
        Ok(())
    }
}

fn key(server: &str) -> String {
    let digest = hmac_sha256::Hash::hash(server.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
