use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Root;
use tokio::io::{AsyncRead, AsyncWrite};
use tool_runtime::Registry;
use tool_runtime::agent::Steering;

use super::connection::McpConnection;
use super::elicitation::ElicitationHandler;
use super::error::McpError;
use super::events::{EventHook, McpEvent};
use super::link::{Link, ProcessTarget, Target};
use super::options::{ListLimits, Options, ResultLimits};
use super::pins::{MemoryPins, PinStore};
use super::sampling::Sampling;
use super::supervisor::{establish, supervise};
use super::trust::Trust;
use super::wire::stdio::{BoxReader, BoxWriter};

/// Connects to an MCP server and registers its tools.
///
/// The client speaks the revisions 2025-11-25 (and older ones that the server answers with) and
/// 2026-07-28. The name of the connection is the provider of its tools, which models call by
/// `name__tool`; they have the label `dynamic`.
///
/// ```no_run
/// use tool_mcp::McpClient;
/// use tool_runtime::Registry;
///
/// # async fn connect() -> Result<(), tool_mcp::McpError> {
/// let registry = Registry::new();
/// McpClient::stdio("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .connect("everything", &registry)
///     .await?;
/// assert!(registry.snapshot().get("everything__echo").is_some());
/// # Ok(())
/// # }
/// ```
///
/// # Trust
/// A server is untrusted: see [`Trust`] and [`pins`](Self::pins).
#[derive(Clone)]
#[must_use = "the client does nothing until `connect` is called"]
pub struct McpClient {
    pub(super) target: Result<Target, String>,
    pub(super) options: Options,
}

impl McpClient {
    /// Prepares to start a program that is a server, by its name on `PATH` or its path.
    ///
    /// The program receives a few common environment variables, such as `PATH` and `HOME`, and
    /// those that you [add](Self::env): the environment of this program may hold keys. It ends when
    /// the connection or this program ends, with all processes that it started.
    pub fn stdio(program: impl Into<OsString>) -> Self {
        let target = ProcessTarget { program: program.into(), ..ProcessTarget::default() };
        Self::new(Ok(Target::Process(target)))
    }

    /// Prepares to connect by streams that `open` returns, such as those of a container or a
    /// socket. It is called for each attempt to connect and must return new streams.
    ///
    /// ```
    /// use tool_mcp::McpClient;
    ///
    /// let client = McpClient::streams(|| async {
    ///     let (client, server) = tokio::io::duplex(4096);
    ///     // Pass `server` to a server in this process.
    ///     drop(server);
    ///     Ok(tokio::io::split(client))
    /// });
    /// # let _ = client;
    /// ```
    pub fn streams<R, W, F>(open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        R: AsyncRead + Send + Sync + Unpin + 'static,
        W: AsyncWrite + Send + Sync + Unpin + 'static,
        F: Future<Output = std::io::Result<(R, W)>> + Send + 'static,
    {
        let open = move || -> super::wire::BoxFuture<'static, _> {
            let opened = open();
            Box::pin(async move {
                let (reader, writer) = opened.await?;
                Ok((Box::new(reader) as BoxReader, Box::new(writer) as BoxWriter))
            })
        };
        Self::new(Ok(Target::Streams(Arc::new(open))))
    }

    pub(super) fn new(target: Result<Target, String>) -> Self {
        Self { target, options: Options::default() }
    }

    fn process(mut self, option: &str, change: impl FnOnce(&mut ProcessTarget)) -> Self {
        match &mut self.target {
            Ok(Target::Process(target)) => change(target),
            Ok(_) => self.target = Err(format!("`{option}` applies to programs only")),
            Err(_) => {}
        }
        self
    }

    /// Adds an argument to the command line of the program.
    pub fn arg(self, argument: impl Into<OsString>) -> Self {
        self.process("arg", |target| target.arguments.push(argument.into()))
    }

    /// Adds arguments to the command line of the program.
    pub fn args<A: Into<OsString>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(Into::into);
        self.process("args", |target| target.arguments.extend(arguments))
    }

    /// Sets an environment variable of the program.
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let variable = (name.into(), value.into());
        self.process("env", |target| target.environment.push(variable))
    }

    /// Passes the whole environment of this program to the program.
    pub fn inherit_env(self) -> Self {
        self.process("inherit_env", |target| target.inherits_environment = true)
    }

    /// Sets the working directory of the program. Default: that of this program.
    pub fn current_dir(self, folder: impl Into<PathBuf>) -> Self {
        self.process("current_dir", |target| target.folder = Some(folder.into()))
    }

    /// Sets the time limit of the handshake, and of each list of tools. Default: 60 seconds.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.options.connect_timeout = limit;
        self
    }

    /// Sets the time limit of a call. It ends the call whatever the server does. Default: 2
    /// minutes.
    pub fn call_timeout(mut self, limit: Duration) -> Self {
        self.options.call_timeout = limit;
        self
    }

    /// Sets how long the server may take to read a message before the connection is ended. It
    /// applies to programs and streams. Default: 10 seconds.
    pub fn send_timeout(mut self, limit: Duration) -> Self {
        self.options.send_timeout = limit;
        self
    }

    /// Sets the maximum size of a message from the server. A larger response is an error of its
    /// call. Default: 16 MiB.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.options.max_message_bytes = bytes;
        #[cfg(feature = "client")]
        self.set_max_http_bytes(bytes);
        self
    }

    /// Sets the limits of lists.
    pub fn list_limits(mut self, limits: ListLimits) -> Self {
        self.options.lists = limits;
        self
    }

    /// Sets the limits of results.
    pub fn result_limits(mut self, limits: ResultLimits) -> Self {
        self.options.results = limits;
        self
    }

    /// Sets the trust in all tools of the server.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.options.trust.server = trust;
        self
    }

    /// Sets the trust in one tool, by its name on the server.
    pub fn trust_tool(mut self, tool: impl Into<String>, trust: Trust) -> Self {
        self.options.trust.tools.insert(tool.into(), trust);
        self
    }

    /// Sets where the definitions of the tools are pinned. Default: in memory, for as long as the
    /// connection lives.
    ///
    /// The first definitions of a server are pinned. A definition that differs later, or appears
    /// under another name, is not offered until
    /// [`McpConnection::approve`] accepts it.
    pub fn pins(mut self, store: impl PinStore + 'static) -> Self {
        self.options.pins = Some(Arc::new(store));
        self
    }

    /// Holds tools that are added after the first list until they are approved, too.
    pub fn approve_new_tools(mut self) -> Self {
        self.options.holds_new_tools = true;
        self
    }

    /// Lets the server ask the user for input, by this handler. Without one, the client does not
    /// declare the capability.
    pub fn elicitation(mut self, handler: impl ElicitationHandler + 'static) -> Self {
        self.options.elicitation = Some(Arc::new(handler));
        self
    }

    /// Lets the server use a model. Default: it may not.
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.options.sampling = Some(sampling);
        self
    }

    /// Offers the server a folder that it may work in, by its `file://` URI.
    pub fn root(mut self, uri: impl Into<String>, name: impl Into<String>) -> Self {
        let mut root = Root::new(uri);
        root.name = Some(name.into());
        self.options.roots.push(root);
        self
    }

    /// Passes log messages and changes of resources to the runs that receive this steering, as
    /// untrusted messages. They wait for the next model request and never cause one.
    pub fn steering(mut self, steering: &Steering) -> Self {
        self.options.steering = Some(steering.clone());
        self
    }

    /// Calls a function for each event of the connection, with its name. It must not block. If it
    /// panics, the panic is caught.
    pub fn on_event(mut self, hook: impl Fn(&str, &McpEvent) + Send + Sync + 'static) -> Self {
        self.options.events = EventHook::new(hook);
        self
    }

    /// Registers tools that list and read the resources of the server, beside its own tools.
    pub fn resource_tools(mut self) -> Self {
        self.options.offers_resources = true;
        self
    }

    /// Connects to the server and registers its tools under the name of the connection.
    ///
    /// # Errors
    /// The name is invalid or taken, the server can't be reached, or it does not complete the
    /// handshake and return its tools in time. Then nothing is registered, and nothing goes on in
    /// the background.
    ///
    /// # Cancellation
    /// Dropping the future ends the connection.
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), tool_mcp::McpError> {
    /// use tool_mcp::McpClient;
    /// use tool_runtime::Registry;
    ///
    /// let registry = Registry::new();
    /// let docs = McpClient::http("http://127.0.0.1:3001/mcp").connect("docs", &registry).await?;
    /// println!("{:?}", docs.tools().await.registered);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(
        self,
        name: impl Into<String>,
        registry: &Registry,
    ) -> Result<McpConnection, McpError> {
        connect(self.link(name.into(), registry)?).await
    }

    /// Connects to the server in the background, and again if that fails.
    ///
    /// Use it to start many servers: they connect at the same time, and the tools of a slow one are
    /// registered when they arrive. [`McpConnection::status`] and the
    /// [events](Self::on_event) report failures.
    ///
    /// # Errors
    /// The name is invalid or taken, or the options are invalid.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn connect_in_background(
        self,
        name: impl Into<String>,
        registry: &Registry,
    ) -> Result<McpConnection, McpError> {
        let link = self.link(name.into(), registry)?;
        tokio::spawn(supervise(Arc::clone(&link), None));
        Ok(McpConnection { link })
    }

    fn link(self, name: String, registry: &Registry) -> Result<Arc<Link>, McpError> {
        let target = self.target.map_err(McpError::InvalidOptions)?;
        // The registry checks the name when it registers the first, empty list.
        if registry.snapshot().providers().contains(&name.as_str()) {
            return Err(McpError::NameTaken { server: name });
        }
        let empty = registry.replace_valid_from(&name, tool_runtime::Tools::new());
        if let Err(error) = empty {
            return Err(McpError::Registry { server: name, error });
        }
        let options = self.options;
        let pins = options.pins.clone().unwrap_or_else(|| Arc::new(MemoryPins::new()));
        Ok(Arc::new(Link::new(name, target, options, pins, registry.downgrade())))
    }
}

async fn connect(link: Arc<Link>) -> Result<McpConnection, McpError> {
    let established = establish(&link).await?;
    established.publish(&link);
    tokio::spawn(supervise(Arc::clone(&link), Some(established)));
    Ok(McpConnection { link })
}

impl std::fmt::Debug for McpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let target = match &self.target {
            Ok(Target::Process(target)) => target.program.to_string_lossy().into_owned(),
            Ok(Target::Streams(_)) => "streams".to_owned(),
            // Without the query, which may hold a key.
            #[cfg(feature = "client")]
            Ok(Target::Http { target, .. }) => {
                target.url.split('?').next().unwrap_or_default().to_owned()
            }
            Err(error) => error.clone(),
        };
        f.debug_struct("McpClient").field("target", &target).finish_non_exhaustive()
    }
}
