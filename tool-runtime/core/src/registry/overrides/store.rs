//! The contract of stores for descriptions and preferences.

use std::error::Error;
use std::fmt::Debug;

use async_trait::async_trait;

use super::ToolOverrides;
use crate::tool::ToolPreference;

/// Storage backend for descriptions and preferences of tools.
///
/// # Contract
/// - A store without changes has the version 0. Each change increments the version, also one that
///   removes nothing, in the transaction of the change.
/// - [`load`](Self::load) returns everything of one version. An entry that can't be decoded is
///   [reported](ToolOverrides::corrupt), so that the others apply.
/// - A change that has returned is visible to all processes, and ends their
///   [`wait_for_change`](Self::wait_for_change) within seconds.
///
/// [`conformance::check`](super::conformance::check) tests an implementation.
///
/// ```
/// use tool_runtime::registry::overrides::{MemoryOverrides, OverrideError, OverrideStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), OverrideError> {
/// let store = MemoryOverrides::new();
/// assert_eq!(store.set_description("now", Some("Returns the time.")).await?, 1);
/// store.wait_for_change(0).await?;
/// assert_eq!(store.load().await?.descriptions["now"], "Returns the time.");
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait OverrideStore: Send + Sync + Debug {
    /// Loads all descriptions and preferences, with their version.
    ///
    /// # Errors
    /// Returns [`Unavailable`](OverrideError::Unavailable) if the store can't be reached.
    async fn load(&self) -> Result<ToolOverrides, OverrideError>;

    /// Sets the description of a name, or removes it, and returns the new version.
    ///
    /// # Errors
    /// Returns [`Unavailable`](OverrideError::Unavailable) if the store can't be reached.
    async fn set_description(
        &self,
        name: &str,
        description: Option<&str>,
    ) -> Result<u64, OverrideError>;

    /// Sets the preference of a full name, or removes it, and returns the new version.
    ///
    /// # Errors
    /// Returns [`Unavailable`](OverrideError::Unavailable) if the store can't be reached.
    async fn set_preference(
        &self,
        name: &str,
        preference: Option<&ToolPreference>,
    ) -> Result<u64, OverrideError>;

    /// Waits until the store has another version than this one.
    ///
    /// # Errors
    /// Returns [`Unavailable`](OverrideError::Unavailable) if the store can't be reached.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    async fn wait_for_change(&self, version: u64) -> Result<(), OverrideError>;
}

/// The error of a store for descriptions and preferences.
///
/// ```
/// use tool_runtime::registry::overrides::OverrideError;
///
/// let error = OverrideError::unavailable("the disk is full");
/// assert_eq!(error.to_string(), "override store unavailable: the disk is full");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// The store can't be reached, or has failed.
    #[error("override store unavailable: {0}")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
}

impl OverrideError {
    /// Creates the error of a store that can't be reached.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable(source.into())
    }
}
