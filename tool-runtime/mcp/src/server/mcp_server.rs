//! The builder of a server.

use std::fmt;
use std::sync::Arc;

use rmcp::model::Implementation;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tool_core::{CancellationToken, Dispatcher, RegistryError};

use super::call::seal::Seals;
use super::connection::stream;
use super::definitions::ToolMeta;
use super::features::completion::Completer;
use super::features::tasks::TaskStore;
#[cfg(feature = "server")]
use super::http::HttpSettings;
use super::shared::{Shared, config};
use super::{CompletionRequest, IntoDispatcher, Limits, Prompts, Resources, ServeError, Tasks};

/// Serves tools, resources and prompts to MCP clients.
///
/// ```no_run
/// use tool_runtime::mcp::McpServer;
/// use tool_runtime::{tool, tools};
///
/// /// Returns the weather of a city.
/// #[tool(effect = "read")]
/// async fn forecast(city: String) -> String {
///     format!("{city}: 4 degrees, rain")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::mcp::server::ServeError> {
/// McpServer::new(tools![forecast]).name("weather").serve_stdio().await
/// # }
/// ```
#[must_use = "a server does nothing until it serves"]
pub struct McpServer {
    pub(super) dispatcher: Result<Dispatcher, RegistryError>,
    pub(super) info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) resources: Option<Resources>,
    pub(super) prompts: Option<Prompts>,
    pub(super) completer: Option<Completer>,
    pub(super) tasks: Option<Tasks>,
    pub(super) tool_meta: ToolMeta,
    pub(super) limits: Limits,
    pub(super) seal_key: Option<[u8; 32]>,
    pub(super) cancellation: CancellationToken,
    #[cfg(feature = "tracing")]
    pub(super) trace_parent: Option<super::shared::TraceParent>,
    #[cfg(feature = "server")]
    pub(super) http: HttpSettings,
}

impl McpServer {
    /// Creates a server of tools, of a registry, or of a dispatcher with its policy.
    ///
    /// Invalid tools are reported when the server starts to serve.
    pub fn new(tools: impl IntoDispatcher) -> Self {
        Self {
            dispatcher: tools.into_dispatcher(),
            info: Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
            instructions: None,
            resources: None,
            prompts: None,
            completer: None,
            tasks: None,
            tool_meta: ToolMeta::default(),
            limits: Limits::default(),
            seal_key: None,
            cancellation: CancellationToken::new(),
            #[cfg(feature = "tracing")]
            trace_parent: None,
            #[cfg(feature = "server")]
            http: HttpSettings::default(),
        }
    }

    /// Sets the name by which clients know the server. Default: `tool-mcp`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.info.name = name.into();
        self
    }

    /// Sets the version of the server. Default: that of the crate `tool-mcp`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.info.version = version.into();
        self
    }

    /// Sets the instructions that clients may give to their model.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Sets the resources that clients can read.
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = Some(resources);
        self
    }

    /// Sets the prompts that clients can use.
    pub fn prompts(mut self, prompts: Prompts) -> Self {
        self.prompts = Some(prompts);
        self
    }

    /// Sets the function that completes arguments of prompts and variables of templates. Clients
    /// receive at most 100 of its values.
    pub fn completion<F, R>(mut self, complete: F) -> Self
    where
        F: Fn(CompletionRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Vec<String>> + Send + 'static,
    {
        self.completer = Some(Arc::new(move |request| Box::pin(complete(request))));
        self
    }

    /// Sets the tools whose calls run as tasks. Default: none.
    pub fn tasks(mut self, tasks: Tasks) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Adds a member to the metadata (`_meta`) of a tool that clients list, such as the page that a
    /// client shows with its results.
    ///
    /// `tool` is the name that clients list. If there is no tool of this name yet, the metadata
    /// takes effect when one is registered. The client of this crate does not pass the metadata to
    /// a model; other clients may.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::mcp::McpServer;
    /// use tool_runtime::{tool, tools};
    ///
    /// /// Returns the weather of a city.
    /// #[tool(effect = "read")]
    /// async fn forecast(city: String) -> String {
    ///     format!("{city}: 4 degrees, rain")
    /// }
    ///
    /// let page = json!({ "resourceUri": "ui://forecast" });
    /// let server = McpServer::new(tools![forecast]).add_tool_meta("forecast", "ui", page);
    /// # let _ = server;
    /// ```
    pub fn add_tool_meta(
        mut self,
        tool: impl Into<String>,
        key: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        self.tool_meta.insert(tool.into(), key.into(), value.into());
        self
    }

    /// Sets the limits on the memory and the time that clients can take.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the key that seals the state of calls that wait for the client.
    ///
    /// By default the key is random, so a call can only continue in the process in which it
    /// started. Processes behind one address need the same key. Keep it secret.
    pub fn seal_key(mut self, key: [u8; 32]) -> Self {
        self.seal_key = Some(key);
        self
    }

    /// Sets the function that makes the span of a request part of the trace of its client.
    ///
    /// It receives the span, which has not started yet, and the metadata (`_meta`) of the request,
    /// whose `traceparent` and `tracestate` are those of W3C Trace Context:
    /// `otel::continue_trace` of the runtime is one. Default: the spans of requests begin traces.
    #[cfg(feature = "tracing")]
    pub fn trace_parent(
        mut self,
        continue_trace: impl Fn(&tracing::Span, &serde_json::Map<String, Value>) + Send + Sync + 'static,
    ) -> Self {
        self.trace_parent = Some(Box::new(continue_trace));
        self
    }

    /// Sets the token that stops the server. Calls in flight, including those of
    /// [tasks](Self::tasks), have 2 seconds to end; after that, they are cancelled.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// Serves one client on standard input and output, until it closes the input or the server is
    /// [cancelled](Self::cancellation).
    ///
    /// The program must not write anything else to standard output meanwhile: log to standard
    /// error.
    ///
    /// # Errors
    /// The tools are invalid, or the client violates the handshake of the protocol.
    ///
    /// # Panics
    /// Panics outside a tokio runtime with I/O.
    ///
    /// # Cancellation
    /// If the future is dropped, the server stops and its calls are cancelled.
    ///
    /// ```no_run
    /// use tool_runtime::mcp::McpServer;
    /// use tool_runtime::tools;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::mcp::server::ServeError> {
    /// McpServer::new(tools![]).serve_stdio().await
    /// # }
    /// ```
    pub async fn serve_stdio(self) -> Result<(), ServeError> {
        let (reader, writer) = rmcp::transport::stdio_pipes();
        self.serve(reader, writer).await
    }

    /// Serves one client on a stream, such as a socket, until it closes the stream or the server is
    /// [cancelled](Self::cancellation).
    ///
    /// # Errors
    /// The tools are invalid, or the client violates the handshake of the protocol.
    ///
    /// # Panics
    /// Panics outside a tokio runtime.
    ///
    /// # Cancellation
    /// If the future is dropped, the server stops and its calls are cancelled.
    ///
    /// ```
    /// use tool_runtime::mcp::McpServer;
    /// use tool_runtime::tools;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_runtime::mcp::server::ServeError> {
    /// let (client, server) = tokio::io::duplex(4096);
    /// drop(client);
    /// let (reader, writer) = tokio::io::split(server);
    /// McpServer::new(tools![]).serve(reader, writer).await
    /// # }
    /// ```
    pub async fn serve(
        self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), ServeError> {
        let shared = Arc::new(self.into_shared()?);
        stream::serve(shared, Box::new(reader), Box::new(writer)).await
    }

    pub(super) fn into_shared(self) -> Result<Shared, ServeError> {
        let seals = match self.seal_key {
            Some(key) => Seals::with_key(&key),
            None => Seals::random().map_err(|error| ServeError::SealKey(Box::new(error)))?,
        };
        let mut config = config(&self);
        config.server_info = self.info;
        config.instructions = self.instructions;
        Ok(Shared {
            config,
            dispatcher: self.dispatcher,
            resources: self.resources.unwrap_or_default(),
            prompts: self.prompts.unwrap_or_default(),
            completer: self.completer,
            tasks: self.tasks.map(|it| TaskStore::new(it, self.cancellation.clone())),
            tool_meta: self.tool_meta,
            requests: Semaphore::new(self.limits.max_requests),
            limits: self.limits,
            seals,
            cancellation: self.cancellation,
            #[cfg(feature = "tracing")]
            trace_parent: self.trace_parent,
        })
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.info.name)
            .field("version", &self.info.version)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
