use std::fmt;

use rmcp::ErrorData;
use rmcp::model::{
    PromptsCapability, ResourcesCapability, ServerCapabilities, ServerConfig, ToolsCapability,
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tool_core::{CancellationToken, Dispatcher, RegistryError};

use super::Limits;
use super::McpServer;
use super::Prompts;
use super::Resources;
use super::call::seal::Seals;
use super::definitions::ToolMeta;
use super::errors::busy;
use super::features::completion::Completer;
use super::features::tasks::TaskStore;

/// The state that all sessions of a server share.
pub(crate) struct Shared {
    pub(crate) config: ServerConfig,
    pub(crate) dispatcher: Result<Dispatcher, RegistryError>,
    pub(crate) resources: Resources,
    pub(crate) prompts: Prompts,
    pub(crate) completer: Option<Completer>,
    pub(crate) tasks: Option<TaskStore>,
    pub(crate) tool_meta: ToolMeta,
    pub(crate) limits: Limits,
    /// A permit for each running request.
    pub(crate) requests: Semaphore,
    pub(crate) seals: Seals,
    pub(crate) cancellation: CancellationToken,
    /// Makes the span of a request part of the trace of its client.
    #[cfg(feature = "tracing")]
    pub(crate) trace_parent: Option<TraceParent>,
}

/// Makes a span part of the trace that the metadata of a request names.
#[cfg(feature = "tracing")]
pub(crate) type TraceParent =
    Box<dyn Fn(&tracing::Span, &serde_json::Map<String, serde_json::Value>) + Send + Sync>;

impl Shared {
    /// Counts a request until the permit is dropped.
    pub(crate) fn admit(&self) -> Result<SemaphorePermit<'_>, ErrorData> {
        self.requests.try_acquire().map_err(|_| busy("too many requests at the same time"))
    }

    pub(crate) fn dispatcher(&self) -> Result<&Dispatcher, ErrorData> {
        let invalid = |error: &RegistryError| {
            ErrorData::internal_error(format!("invalid tools: {error}"), None)
        };
        self.dispatcher.as_ref().map_err(invalid)
    }
}

/// Describes what a server can do.
pub(crate) fn config(server: &McpServer) -> ServerConfig {
    let mut capabilities = ServerCapabilities::default();
    let mut tools = ToolsCapability::default();
    tools.list_changed = Some(true);
    capabilities.tools = Some(tools);
    capabilities.logging = Some(Default::default());
    capabilities.completions = server.completer.as_ref().map(|_| Default::default());
    capabilities.prompts = server.prompts.as_ref().map(|_| {
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = Some(true);
        prompts
    });
    capabilities.resources = server.resources.as_ref().map(|_| {
        let mut resources = ResourcesCapability::default();
        resources.list_changed = Some(true);
        resources.subscribe = Some(true);
        resources
    });
    if server.tasks.is_some() {
        let extensions = capabilities.extensions.get_or_insert_default();
        extensions.insert(rmcp::model::TASKS_EXTENSION_ID.to_owned(), Default::default());
    }
    ServerConfig::new(capabilities)
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
