use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};
use serde::Serialize;
use serde_json::{Map, Value};
use tool_core::event::Progress;
use tool_core::{CancellationToken, ToolError};

use super::Access;
use super::Limits;
use super::access::{access, address};
use super::connection::outbox::{Link, Outbox};
use super::features::level::log_message;
use super::input::{
    ElicitationReply, ElicitationRequest, Input, SamplingReply, SamplingRequest, root_uris,
};
use crate::LogLevel;

/// The MCP request that a call, a prompt or a resource answers, and a handle to its client.
///
/// A tool finds it among its extensions.
///
/// ```
/// use tool_runtime::mcp::LogLevel;
/// use tool_runtime::mcp::server::McpRequest;
/// use tool_runtime::{ToolContext, tool};
///
/// /// Imports the orders of a day.
/// #[tool]
/// async fn import(day: String, ctx: &ToolContext) -> String {
///     if let Some(request) = ctx.get::<McpRequest>() {
///         request.log(LogLevel::Info, "import", format!("importing {day}")).await;
///     }
///     "42 orders".into()
/// }
/// ```
#[derive(Clone)]
pub struct McpRequest(Arc<Inner>);

struct Inner {
    context: RequestContext<RoleServer>,
    level: Option<LogLevel>,
    outbox: Outbox,
    is_task: bool,
    cancellation: CancellationToken,
    limits: Limits,
}

impl McpRequest {
    pub(crate) fn new(
        context: RequestContext<RoleServer>,
        level: Option<LogLevel>,
        limits: Limits,
    ) -> Self {
        let cancellation = context.ct.clone();
        let level = context.meta.log_level().map(LogLevel::from).or(level);
        let outbox = Outbox::default();
        Self(Arc::new(Inner { context, level, outbox, is_task: false, cancellation, limits }))
    }

    /// Returns the same request, answered by a task, which outlives it.
    pub(crate) fn of_task(&self, cancellation: CancellationToken) -> Self {
        #[cfg_attr(not(feature = "server"), expect(unused_mut, reason = "only HTTP is detached"))]
        let mut context = self.0.context.clone();
        #[cfg(feature = "server")]
        super::connection::running::detach(&mut context.extensions);
        Self(Arc::new(Inner {
            context,
            level: self.0.level,
            outbox: Outbox::default(),
            is_task: true,
            cancellation,
            limits: self.0.limits,
        }))
    }

    /// Returns the access that the authenticator granted to the caller.
    pub fn access(&self) -> Option<&Access> {
        access(&self.0.context.extensions)
    }

    /// Returns the address of the client, if the service knows it.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        address(&self.0.context.extensions)
    }

    /// Returns the name of the authenticated caller.
    pub fn principal(&self) -> Option<&str> {
        self.access().map(Access::principal)
    }

    /// Returns the name and the version that the client reports.
    pub fn client(&self) -> Option<(String, String)> {
        self.0.context.client_info().map(|info| (info.name, info.version))
    }

    /// Returns the metadata of the request, such as its `traceparent`.
    pub fn meta(&self) -> &Map<String, Value> {
        &self.0.context.meta
    }

    /// Returns `true` if the client can ask its user.
    pub fn supports_elicitation(&self) -> bool {
        self.capabilities().elicitation.is_some()
    }

    /// Returns `true` if the client lets servers use its model.
    pub fn supports_sampling(&self) -> bool {
        self.capabilities().sampling.is_some()
    }

    /// Returns `true` if the client provides roots: the folders that it works in.
    pub fn supports_roots(&self) -> bool {
        self.capabilities().roots.is_some()
    }

    /// Sends a log message to the client, if the client requested its level.
    ///
    /// The message is sent before the result of the call. A client of the revision 2026-07-28
    /// receives messages only if its request asks for them.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::mcp::LogLevel;
    /// use tool_runtime::mcp::server::McpRequest;
    ///
    /// async fn report(request: &McpRequest, rows: usize) {
    ///     request.log(LogLevel::Notice, "import", json!({ "rows": rows })).await;
    /// }
    /// ```
    pub async fn log(&self, level: LogLevel, logger: &str, data: impl Serialize) {
        let is_wanted = match self.0.level {
            Some(minimum) => level >= minimum,
            None => !self.is_stateless() && level >= LogLevel::Info,
        };
        if !is_wanted {
            return;
        }
        let data = serde_json::to_value(data).unwrap_or_default();
        self.0.outbox.log(log_message(level, logger, data)).await;
    }

    /// Asks the user of the client and waits for the reply.
    ///
    /// # Errors
    /// The client can't ask its user, or its revision is 2026-07-28, in which servers send no
    /// requests: suspend the call with [`InputRequests`](super::InputRequests) instead, which works
    /// in all revisions. In a [task](crate::McpServer::tasks), clients of all revisions can be
    /// asked.
    ///
    /// # Cancellation
    /// If the future is dropped, the reply is ignored.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::ToolError;
    /// use tool_runtime::mcp::server::{ElicitationRequest, McpRequest};
    ///
    /// async fn confirm(request: &McpRequest) -> Result<bool, ToolError> {
    ///     let schema = json!({ "type": "object", "properties": {} });
    ///     let reply = request.elicit(ElicitationRequest::new("Go on?", schema)).await?;
    ///     Ok(reply.content().is_some())
    /// }
    /// ```
    pub async fn elicit(
        &self,
        question: ElicitationRequest,
    ) -> Result<ElicitationReply, ToolError> {
        let input = Input::Elicitation(question);
        ElicitationReply::parse(&self.ask(input).await?)
    }

    /// Prompts the model of the client and waits for the reply.
    ///
    /// # Errors
    /// The client does not let servers use its model, or its revision is 2026-07-28: see
    /// [`elicit`](Self::elicit).
    ///
    /// ```
    /// use tool_runtime::ToolError;
    /// use tool_runtime::mcp::server::{McpRequest, SamplingRequest};
    ///
    /// async fn title(request: &McpRequest, text: &str) -> Result<String, ToolError> {
    ///     let prompt = SamplingRequest::new(format!("Suggest a title: {text}"));
    ///     Ok(request.sample(prompt).await?.text)
    /// }
    /// ```
    pub async fn sample(&self, prompt: SamplingRequest) -> Result<SamplingReply, ToolError> {
        SamplingReply::parse(&self.ask(Input::Sampling(prompt)).await?)
    }

    /// Requests the URIs of the roots: the folders that the client works in.
    ///
    /// # Errors
    /// The client does not provide roots, or its revision is 2026-07-28: see
    /// [`elicit`](Self::elicit).
    ///
    /// ```
    /// use tool_runtime::ToolError;
    /// use tool_runtime::mcp::server::McpRequest;
    ///
    /// async fn first_folder(request: &McpRequest) -> Result<Option<String>, ToolError> {
    ///     Ok(request.roots().await?.into_iter().next())
    /// }
    /// ```
    pub async fn roots(&self) -> Result<Vec<String>, ToolError> {
        root_uris(&self.ask(Input::Roots).await?)
    }

    async fn ask(&self, input: Input) -> Result<Value, ToolError> {
        if let Some(missing) = input.missing_capability(&self.capabilities()) {
            return Err(cannot_ask(missing));
        }
        if !self.can_wait() {
            return Err(ToolError::failed(
                "Clients of MCP 2026-07-28 can't be asked during a call: suspend the call instead.",
            ));
        }
        let answer = self.0.outbox.ask(input.clone()).await?;
        if input.accepts(&answer) {
            Ok(answer)
        } else {
            Err(ToolError::failed("The answer of the client does not fit the question."))
        }
    }

    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        self.0.context.client_capabilities().unwrap_or_default()
    }

    /// Whether the client can be asked while the call waits.
    pub(crate) fn can_wait(&self) -> bool {
        self.0.is_task || !self.is_stateless()
    }

    /// Whether the request follows a revision in which servers send no requests.
    pub(crate) fn is_stateless(&self) -> bool {
        let version = self.0.context.protocol_version();
        version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    }

    pub(crate) fn cancellation(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    pub(crate) fn link(&self) -> Link {
        Link::Client(self.0.context.peer.clone())
    }

    /// Reports progress, if the client asked for it.
    pub(crate) fn progress(&self, progress: &Progress) {
        let Some(token) = self.0.context.meta.get_progress_token() else { return };
        let mut message = ProgressNotificationParam::new(token, progress.done);
        message.total = progress.total.filter(|total| total.is_finite());
        message.message.clone_from(&progress.message);
        self.0.outbox.progress(message);
    }
}

/// The error of a question that the client can't answer.
pub(crate) fn cannot_ask(missing: &'static str) -> ToolError {
    let text: Cow<'_, str> =
        format!("The client can't be asked: it does not support `{missing}`.").into();
    ToolError::failed(text)
}

impl fmt::Debug for McpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpRequest")
            .field("id", &self.0.context.id)
            .field("principal", &self.principal())
            .finish_non_exhaustive()
    }
}
