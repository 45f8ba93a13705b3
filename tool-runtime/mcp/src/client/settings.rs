//! The options of a client that apply to each transport.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tool_core::ToolContext;
use tool_core::agent::Steering;

use super::builder::McpClient;
use super::events::{EventHook, McpEvent};
use super::limits::{ListLimits, ResultLimits};
use super::pins::PinStore;
use super::trust::Trust;
use crate::LogLevel;
use crate::Meta;
use crate::client::calls::metadata::CallMetaHook;
use crate::client::calls::trace_context::TraceContextHook;
use crate::client::questions::elicitation::ElicitationHandler;
use crate::client::questions::roots::named_root;
use crate::client::questions::sampling::Sampling;

impl McpClient {
    /// Sets the time limit of the handshake, and of each list of tools. Default: 60 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// Sets the time limit of a call, and of each request for resources, prompts or completions. A
    /// call ends even if the server does not answer. Default: 2 minutes.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.options.call_timeout = timeout;
        self
    }

    /// Sets the time that the server has to read a message; after that, the connection ends.
    /// Applies to programs and streams. Default: 10 seconds.
    pub fn send_timeout(mut self, timeout: Duration) -> Self {
        self.options.send_timeout = timeout;
        self
    }

    /// Sets the maximum size of a message from the server. If a response is larger, its call fails.
    /// Default: 16 MiB.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.options.max_message_bytes = bytes;
        #[cfg(feature = "client")]
        self.set_max_http_bytes(bytes);
        self
    }

    /// Sets the limits of the lists that the server returns, such as those of tools and resources.
    pub fn list_limits(mut self, limits: ListLimits) -> Self {
        self.options.lists = limits;
        self
    }

    /// Sets the limits on the content of the result of a call.
    pub fn result_limits(mut self, limits: ResultLimits) -> Self {
        self.options.results = limits;
        self
    }

    /// Sets the trust in all tools of the server.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.options.trust.server = trust;
        self
    }

    /// Sets the trust in one tool, by its full name, such as `everything__echo`, or by its name on
    /// the server, such as `echo`. If both are set, the full name takes precedence.
    ///
    /// A name on the server that contains `__` is never looked up: otherwise a server could name a
    /// tool like the full name of another one, and take the trust in that. For such a tool, use the
    /// full name.
    ///
    /// [`ToolsReport::unmatched_trust`](crate::ToolsReport::unmatched_trust) and the event
    /// [`UnmatchedTrust`](crate::McpEvent::UnmatchedTrust) report a name that no tool of the server
    /// has, and so do `Agent::check` and the event `run.rule_unmatched`.
    pub fn trust_tool(mut self, tool: impl Into<String>, trust: Trust) -> Self {
        self.options.trust.tools.insert(tool.into(), trust);
        self
    }

    /// Sets the store of the pinned definitions of the tools. Default: in memory, for as long as
    /// the connection lives.
    ///
    /// The first definitions of a server are pinned. A definition that differs later, or appears
    /// under another name, is not offered until
    /// [`McpConnection::approve`](crate::McpConnection::approve) accepts it. Pins belong to the
    /// command line or the URL of the server, whatever the name of the connection.
    pub fn pin_store(mut self, store: impl PinStore + 'static) -> Self {
        self.options.pins = Some(Arc::new(store));
        self
    }

    /// Also requires an approval for tools that the server adds after its first list.
    pub fn approve_new_tools(mut self) -> Self {
        self.options.approves_new_tools = true;
        self
    }

    /// Lets the server ask the user for input through this handler (elicitation). Without a
    /// handler, the client does not declare the capability.
    pub fn elicitation(mut self, handler: impl ElicitationHandler + 'static) -> Self {
        self.options.elicitation = Some(Arc::new(handler));
        self
    }

    /// Lets the server use a model (sampling). Default: no model.
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.options.sampling = Some(sampling);
        self
    }

    /// Adds a root: a folder that the server may work in, by its `file://` URI.
    pub fn add_root(mut self, uri: impl Into<String>, name: impl Into<String>) -> Self {
        self.options.roots.get_or_insert_default().push(named_root(uri, name));
        self
    }

    /// Sets the roots: the folders that the server may work in, by their `file://` URIs and names.
    ///
    /// [`McpConnection::set_roots`](crate::McpConnection::set_roots) changes them later. If there
    /// are no folders yet, pass an empty list. Without a list, the client does not declare the
    /// capability.
    ///
    /// ```
    /// use tool_runtime::mcp::McpClient;
    ///
    /// let client = McpClient::stdio("my-server").roots([("file:///srv/notes", "notes")]);
    /// # let _ = client;
    /// ```
    pub fn roots<U: Into<String>, N: Into<String>>(
        mut self,
        roots: impl IntoIterator<Item = (U, N)>,
    ) -> Self {
        let roots = roots.into_iter().map(|(uri, name)| named_root(uri, name));
        self.options.roots = Some(roots.collect());
        self
    }

    /// Requests the log messages of the server from this level on. Default: the server decides
    /// which messages it sends; in the revision 2026-07-28, it sends none.
    ///
    /// The [events](Self::on_event) and the [steering](Self::steering) receive the messages.
    ///
    /// ```
    /// use tool_runtime::mcp::{LogLevel, McpClient, McpEvent};
    ///
    /// let client = McpClient::stdio("my-server").log_level(LogLevel::Warning).on_event(
    ///     |server, event| {
    ///         if let McpEvent::Log { level, text } = event {
    ///             println!("{server}: {level}: {text}");
    ///         }
    ///     },
    /// );
    /// # let _ = client;
    /// ```
    pub fn log_level(mut self, level: LogLevel) -> Self {
        self.options.log_level = Some(level);
        self
    }

    /// Passes log messages and changes of resources to the runs that receive this steering, as
    /// untrusted messages. They wait for the next model request and never cause one.
    pub fn steering(mut self, steering: &Steering) -> Self {
        self.options.steering = Some(steering.clone());
        self
    }

    /// Calls a function with the name of the connection and each of its events. The function must
    /// not block. If it panics, the panic is caught.
    pub fn on_event(mut self, hook: impl Fn(&str, &McpEvent) + Send + Sync + 'static) -> Self {
        self.options.events = EventHook::new(hook);
        self
    }

    /// Sets the function that returns the metadata (`_meta`) of each call of a tool, such as the
    /// tenant of the run.
    ///
    /// The function receives the name of the tool on the server and the context of the call, with
    /// the [metadata](ToolContext::metadata) of the run and the
    /// [extensions](ToolContext::get). It must not block. It is called for each attempt, and again
    /// when the server receives an answer that it asked for. If a key of the metadata is
    /// [reserved](Meta), the call fails without being sent.
    ///
    /// ```
    /// use tool_runtime::mcp::{McpClient, Meta};
    ///
    /// struct User(String);
    ///
    /// let client = McpClient::stdio("my-server").call_meta(|_tool, ctx| {
    ///     match ctx.get::<User>() {
    ///         Some(User(name)) => Meta::new().with("example.com/user", name.as_str()),
    ///         None => Meta::new(),
    ///     }
    /// });
    /// # let _ = client;
    /// ```
    pub fn call_meta(
        mut self,
        meta: impl Fn(&str, &ToolContext) -> Meta + Send + Sync + 'static,
    ) -> Self {
        self.options.call_meta = CallMetaHook::new(meta);
        self
    }

    /// Sets the function that returns the context of the current trace: `traceparent` and
    /// `tracestate`, as in [W3C Trace Context](https://www.w3.org/TR/trace-context/). Both are sent
    /// with each call, so that the spans of the server become part of the trace.
    ///
    /// The function is called within the span of the call: `otel::trace_context` of the runtime is
    /// one. Without it, or outside of a trace, the client sends the members of these names in the
    /// [metadata](ToolContext::metadata) of the run. `baggage` is not sent: it holds data of the
    /// program.
    ///
    /// ```
    /// use serde_json::Map;
    /// use tool_runtime::mcp::McpClient;
    ///
    /// let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let client = McpClient::stdio("my-server")
    ///     .trace_context(move || Map::from_iter([("traceparent".to_owned(), parent.into())]));
    /// # let _ = client;
    /// ```
    pub fn trace_context(
        mut self,
        context: impl Fn() -> Map<String, Value> + Send + Sync + 'static,
    ) -> Self {
        self.options.trace_context = TraceContextHook::new(context);
        self
    }

    /// Registers tools that list and read the resources of the server, in addition to its own
    /// tools: `list_resources`, which also lists templates, `read_resource`, and `complete` if the
    /// server suggests values. If the server has subscriptions and there is a
    /// [steering](Self::steering), also `subscribe_resource` and `unsubscribe_resource`, for up to
    /// 50 resources.
    pub fn resource_tools(mut self) -> Self {
        self.options.offers_resources = true;
        self
    }

    /// Registers tools that list and get the prompts of the server, in addition to its own tools:
    /// `list_prompts`, `get_prompt`, and `complete` if the server suggests values.
    ///
    /// The model receives the messages of a prompt as untrusted text, not as messages of the user.
    ///
    /// ```
    /// use tool_runtime::mcp::McpClient;
    ///
    /// let client = McpClient::http("http://127.0.0.1:3001/mcp").resource_tools().prompt_tools();
    /// ```
    pub fn prompt_tools(mut self) -> Self {
        self.options.offers_prompts = true;
        self
    }
}
