//! Pinned definitions: the definitions of a server as they were approved.

pub(crate) mod diff;
pub(crate) mod file_pins;
pub(crate) mod pinning;
pub(crate) mod record_pins;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_core::{Fingerprint, async_trait};

/// The pinned definitions of the tools of one server, by their names.
pub type Pins = BTreeMap<String, PinnedDefinition>;

/// The definition of a tool as it was approved.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::mcp::PinnedDefinition;
///
/// let old = PinnedDefinition::new("add", json!({ "description": "Adds." }));
/// let new = PinnedDefinition::new("add", json!({ "description": "Adds and mails." }));
/// assert_ne!(old.fingerprint, new.fingerprint);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PinnedDefinition {
    /// The fingerprint of the definition.
    pub fingerprint: Fingerprint,
    /// The definition as the server sent it: description, schemas, annotations and title.
    pub definition: Value,
}

impl PinnedDefinition {
    /// Creates a pin of a definition as the server sent it.
    pub fn new(name: &str, definition: Value) -> Self {
        // The fingerprint of the core covers the parameters with all members.
        let whole = tool_core::ToolDefinition::new(name, "", definition.clone());
        Self { fingerprint: whole.fingerprint(), definition }
    }
}

/// A definition that is not offered until [`McpConnection::approve`](crate::McpConnection::approve)
/// accepts it.
///
/// ```
/// use tool_runtime::mcp::DefinitionChange;
///
/// fn show(change: &DefinitionChange) {
///     println!("{} of {} has changed:\n{}", change.tool, change.server, change.diff);
/// }
/// # let _ = show;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DefinitionChange {
    /// The name of the connection.
    pub server: String,
    /// The name of the tool on the server.
    pub tool: String,
    /// The reason why the definition needs an approval.
    pub kind: ChangeKind,
    /// The difference from the pinned definition, line by line, for a person. Deceptive characters
    /// are [visible](tool_core::message::visible).
    pub diff: String,
    /// The new definition of the tool.
    pub new: PinnedDefinition,
}

/// The reason why a definition needs an approval.
///
/// ```
/// use tool_runtime::mcp::ChangeKind;
///
/// let renamed = ChangeKind::Renamed { from: "add".into() };
/// assert_ne!(renamed, ChangeKind::Changed);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The definition differs from the pinned one.
    Changed,
    /// The definition of a removed tool appeared under a new name.
    Renamed {
        /// The previous name of the tool.
        from: String,
    },
    /// The tool is new, and the client [requires approvals](crate::McpClient::approve_new_tools) of
    /// new tools, or 10,000 definitions or 64 MiB of this server are pinned already.
    New,
}

/// Stores the pinned definitions of servers.
///
/// The name of a server is its command line as a JSON array, with its folder if one is set, or its
/// URL without the query. Secrets are left out. Only a server that is reached by streams has the
/// name of its connection.
///
/// The first definitions of a server are pinned without an approval. If the store fails, a new
/// connection fails, and an established one keeps its previous tools. A load or a save that takes
/// longer than the [time limit of a connection](crate::McpClient::connect_timeout) has failed: its
/// future is dropped.
///
/// # Contract
/// - A save replaces all pins of its server and none of others. It is durable before
///   [`save`](Self::save) returns, and is visible to all handles of the store.
/// - Names of servers and of tools can be any text. Names that differ in a byte are different.
/// - Pins of different servers that are saved at the same time are all stored.
/// - If the future of `save` is dropped, the save is done completely or not at all.
///
/// The suite `tool_conformance::pins` tests an implementation.
///
/// ```
/// use tool_runtime::mcp::{MemoryPins, PinStore, PinnedDefinition, Pins};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let store = MemoryPins::new();
/// assert_eq!(store.load("docs").await?, None);
/// let pin = PinnedDefinition::new("find", serde_json::json!({}));
/// store.save("docs", &Pins::from([("find".to_owned(), pin)])).await?;
/// assert_eq!(store.load("docs").await?.unwrap().len(), 1);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait PinStore: Send + Sync {
    /// Returns the pins of a server, or `None` if it is unknown.
    ///
    /// # Errors
    /// The store can't be read.
    async fn load(&self, server: &str) -> io::Result<Option<Pins>>;

    /// Replaces the pins of a server.
    ///
    /// # Errors
    /// The store can't be written.
    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()>;
}

/// Keeps pinned definitions in memory. Clones share them.
///
/// ```
/// use tool_runtime::mcp::{McpClient, MemoryPins};
///
/// let client = McpClient::stdio("my-server").pin_store(MemoryPins::new());
/// # let _ = client;
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryPins(Arc<Mutex<BTreeMap<String, Pins>>>);

impl MemoryPins {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl PinStore for MemoryPins {
    async fn load(&self, server: &str) -> io::Result<Option<Pins>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.get(server).cloned())
    }

    async fn save(&self, server: &str, pins: &Pins) -> io::Result<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(server.to_owned(), pins.clone());
        Ok(())
    }
}
