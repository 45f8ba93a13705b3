//! The state of entries in this process.

use std::fmt;

use crate::catalog::EntryId;

/// The state of an entry in this process.
///
/// ```
/// use tool_runtime::dynamic::EntryState;
///
/// let failed = EntryState::Unavailable { reason: "cargo was not found".into() };
/// assert!(!failed.is_active());
/// assert_eq!(failed.to_string(), "unavailable: cargo was not found");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryState {
    /// The first attempt is in progress.
    Starting,
    /// The entry is in effect: its tools can be called.
    Active,
    /// The entry can't take effect now. Calls of its known tools return `TOOL_UNAVAILABLE`.
    Unavailable {
        /// The cause, for operators.
        reason: String,
    },
}

impl EntryState {
    /// Returns `true` if the entry is in effect.
    pub fn is_active(&self) -> bool {
        *self == Self::Active
    }
}

impl fmt::Display for EntryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("starting"),
            Self::Active => f.write_str("active"),
            Self::Unavailable { reason } => write!(f, "unavailable: {reason}"),
        }
    }
}

/// An entry with its state in this process.
///
/// ```
/// use tool_runtime::dynamic::{Catalog, EntryState, Registrar};
/// use tool_runtime::records::MemoryRecords;
/// use tool_runtime::{Registry, ToolPreference};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::dynamic::RegistrarError> {
/// let registry = Registry::new();
/// let catalog = Catalog::new(MemoryRecords::new());
/// let registrar = Registrar::builder(catalog).start(&registry).await?;
/// let status = registrar.create("find", ToolPreference::default().hidden()).await?;
/// assert_eq!((status.version, status.state), (1, EntryState::Active));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryStatus {
    /// The kind and the name of the entry.
    pub id: EntryId,
    /// The version that is in effect, or will be.
    pub version: u64,
    /// The state of the entry.
    pub state: EntryState,
    /// The names by which models call the tools of the entry, sorted.
    pub tools: Vec<String>,
}
