use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

use super::{OverrideError, OverrideStore, ToolOverrides};
use crate::tool::ToolPreference;

/// A store for descriptions and preferences in memory. Clones share them.
///
/// ```
/// use tool_runtime::registry::overrides::{MemoryOverrides, OverrideStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryOverrides::new();
/// store.clone().set_description("now", Some("Returns the time.")).await?;
/// assert_eq!(store.load().await?.version, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MemoryOverrides(Arc<watch::Sender<ToolOverrides>>);

impl MemoryOverrides {
    /// Creates a store without overrides.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(ToolOverrides::default())))
    }

    fn change(&self, change: impl FnOnce(&mut ToolOverrides)) -> u64 {
        let mut version = 0;
        self.0.send_modify(|overrides| {
            change(overrides);
            overrides.version += 1;
            version = overrides.version;
        });
        version
    }
}

impl Default for MemoryOverrides {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl OverrideStore for MemoryOverrides {
    async fn load(&self) -> Result<ToolOverrides, OverrideError> {
        Ok(self.0.borrow().clone())
    }

    async fn set_description(
        &self,
        name: &str,
        description: Option<&str>,
    ) -> Result<u64, OverrideError> {
        Ok(self.change(|overrides| match description {
            Some(text) => {
                drop(overrides.descriptions.insert(name.to_owned(), text.to_owned()));
            }
            None => drop(overrides.descriptions.remove(name)),
        }))
    }

    async fn set_preference(
        &self,
        name: &str,
        preference: Option<&ToolPreference>,
    ) -> Result<u64, OverrideError> {
        Ok(self.change(|overrides| match preference {
            Some(preference) => {
                drop(overrides.preferences.insert(name.to_owned(), preference.clone()));
            }
            None => drop(overrides.preferences.remove(name)),
        }))
    }

    async fn wait_for_change(&self, version: u64) -> Result<(), OverrideError> {
        let mut changes = self.0.subscribe();
        let changed = changes.wait_for(|overrides| overrides.version != version).await;
        changed.map(drop).map_err(OverrideError::unavailable)
    }
}
