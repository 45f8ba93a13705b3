use std::io;
use std::sync::Arc;

use hmac_sha256::Hash;
use serde::{Deserialize, Serialize};
use tool_core::async_trait;
use tool_core::records::{CorruptRecord, Expected, LargeRecords, Records, StoreError};

use crate::client::pins::{PinStore, Pins};

/// The collection of the pins of clients.
const COLLECTION: &str = "mcp_pins";

/// Keeps pinned definitions in any store of [records](tool_core::records). Clones share it.
///
/// With the store of a database, any number of processes and machines share the pins: an approval
/// on one of them applies to all. The pins of a server are JSON of
/// [any size](tool_core::records::LargeRecords) in the collection `mcp_pins`. Their key is the
/// SHA-256 digest of the name of the server, which can be longer than a key.
///
/// ```
/// use tool_runtime::mcp::{McpClient, RecordPins};
/// use tool_runtime::records::FileRecords;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
/// # let folder = std::env::temp_dir().join(format!("mcp-pins-{}", std::process::id()));
/// let pins = RecordPins::new(FileRecords::open(&folder).await?);
/// let client = McpClient::stdio("my-server").pin_store(pins);
/// # drop(client);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RecordPins {
    records: LargeRecords,
}

/// The pins of a server as they are stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPins {
    /// The name of the server, for people, because the key is a digest.
    server: String,
    pins: Pins,
}

impl RecordPins {
    /// Keeps pins in the collection `mcp_pins` of a store.
    pub fn new(store: impl Records + 'static) -> Self {
        Self::in_collection(Arc::new(store), COLLECTION)
    }

    /// Keeps pins in a collection of this name, apart from those of others.
    pub fn in_collection(store: Arc<dyn Records>, collection: &str) -> Self {
        Self { records: LargeRecords::new(store, collection) }
    }

    /// Counts the servers whose definitions are pinned.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use tool_runtime::mcp::RecordPins;
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// assert_eq!(RecordPins::new(MemoryRecords::new()).count().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn count(&self) -> Result<usize, StoreError> {
        self.records.count().await
    }

    /// Deletes the pins of a server. The next connection to it pins what it lists then.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use tool_runtime::mcp::{PinStore, Pins, RecordPins};
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pins = RecordPins::new(MemoryRecords::new());
    /// pins.save("https://example.com/mcp", &Pins::new()).await?;
    /// pins.delete("https://example.com/mcp").await?;
    /// assert_eq!(pins.load("https://example.com/mcp").await?, None);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete(&self, server: &str) -> Result<(), StoreError> {
        self.records.delete(&key(server), Expected::Any).await?;
        Ok(())
    }

    /// Deletes the records that unfinished saves of killed processes have left, and returns their
    /// number.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    ///
    /// ```
    /// use tool_runtime::mcp::RecordPins;
    /// use tool_runtime::records::MemoryRecords;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::records::StoreError> {
    /// assert_eq!(RecordPins::new(MemoryRecords::new()).delete_unused_parts().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete_unused_parts(&self) -> Result<usize, StoreError> {
        self.records.delete_unused_parts().await
    }
}

fn key(server: &str) -> String {
    Hash::hash(server.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[async_trait]
impl PinStore for RecordPins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        let record = self.records.load(&key(server)).await.map_err(io::Error::other)?;
        let Some(record) = record else { return Ok(None) };
        let corrupt = |corrupt: CorruptRecord| io::Error::other(StoreError::from(corrupt));
        let stored: StoredPins = record.decode().map_err(corrupt)?;
        Ok(Some(stored.pins))
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        let stored = StoredPins { server: server.to_owned(), pins: pins.clone() };
        let text = serde_json::to_string(&stored)?;
        let saved = self.records.save(&key(server), Expected::Any, &text).await;
        saved.map(drop).map_err(io::Error::other)
    }
}
