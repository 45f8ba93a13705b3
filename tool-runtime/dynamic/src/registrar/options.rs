//! The options of a registrar.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tool_mcp::McpClient;

use super::event::EventHook;
use crate::backend::ToolBackend;
use crate::secrets::{EnvironmentSecrets, SecretStore};
use crate::spec::BodyLanguage;

/// Changes the options of the client for the connection of this name.
type Configure = dyn Fn(&str, McpClient) -> McpClient + Send + Sync;

pub(super) struct Options {
    pub(super) backends: BTreeMap<BodyLanguage, Arc<dyn ToolBackend>>,
    /// The names that no tool and no connection can have.
    pub(super) reserved: BTreeSet<String>,
    pub(super) secrets: Arc<dyn SecretStore>,
    pub(super) configure: Option<Arc<Configure>>,
    pub(super) events: EventHook,
    pub(super) attempt_timeout: Duration,
    pub(super) first_delay: Duration,
    pub(super) longest_delay: Duration,
    /// Whether models are offered the tools of entries that are unavailable.
    pub(super) offers_unavailable: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backends: BTreeMap::new(),
            reserved: BTreeSet::new(),
            secrets: Arc::new(EnvironmentSecrets::new("TOOL_SECRET_")),
            configure: None,
            events: EventHook::default(),
            attempt_timeout: Duration::from_secs(120),
            first_delay: Duration::from_millis(500),
            longest_delay: Duration::from_secs(60),
            offers_unavailable: false,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("backends", &self.backends.keys())
            .field("secrets", &self.secrets)
            .field("events", &self.events)
            .field("attempt_timeout", &self.attempt_timeout)
            .finish_non_exhaustive()
    }
}
