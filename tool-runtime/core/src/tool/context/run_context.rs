//! The agent, the run and the session that a call or a decision belongs to.

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{ModelEvent, Origin, RunId};
use crate::message::{CallId, Message};
use crate::tool::Extensions;

static NO_METADATA: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// The agent, the session and the metadata that all calls of one run share.
///
/// An agent sets it for each of its batches; see [`Batch::run_info`](crate::tool::Batch::run_info).
///
/// ```
/// use serde_json::json;
/// use tool_runtime::dispatch::RunInfo;
///
/// let info = RunInfo::default().agent("support").metadata("tenant", "acme");
/// assert_eq!(info.metadata["tenant"], json!("acme"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunInfo {
    /// The name of the agent, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The name of the session that the run belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The metadata of the run, such as the user, the tenant or a trace id.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl RunInfo {
    /// Sets the name of the agent.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(name.into());
        self
    }

    /// Sets the name of the session.
    #[must_use]
    pub fn session(mut self, name: impl Into<String>) -> Self {
        self.session = Some(name.into());
        self
    }

    /// Adds a member to the metadata.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

/// The agent, run, session and turn that a call or a decision belongs to.
///
/// It is passed to [interceptors](crate::dispatch::Interceptor),
/// [approvers](crate::dispatch::Approver), the predicates of
/// [`Permissions::when`](crate::dispatch::Permissions::when),
/// [model hooks](crate::agent::ModelHook) and
/// [answer validators](crate::agent::AnswerValidator). A tool gets it from
/// [`ToolContext::run_context`](crate::tool::ToolContext::run_context).
///
/// ```
/// use tool_runtime::dispatch::Permissions;
/// use tool_runtime::{
///     Agent, ChatReply, Message, Permission, Policy, ScriptedModel, agent::Prompt, tool, tools,
/// };
///
/// /// Deletes a file.
/// #[tool]
/// async fn delete_file(path: String) -> String {
///     format!("{path} is deleted")
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::Stopped> {
/// // Only administrators may call tools. A run without a role is denied too.
/// let permissions = Permissions::default().when(|_, run| {
///     let is_admin = run.metadata().get("role").is_some_and(|role| role == "admin");
///     (!is_admin).then_some(Permission::Deny)
/// });
/// let model = ScriptedModel::new([
///     ChatReply::default().call("delete_file", r#"{"path": "notes.txt"}"#),
///     ChatReply::text("I may not delete it."),
/// ]);
/// let policy = Policy::new().permissions(permissions);
/// let agent = Agent::new(model, tools![delete_file]).policy(policy);
/// let answer = agent.run(Prompt::from("Delete notes.txt.").metadata("role", "guest")).await?;
/// let Message::Tool { results } = &answer.transcript[2] else { panic!() };
/// assert_eq!(results[0].text, "`delete_file` is not allowed here.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    origin: &'a Origin,
    info: Option<&'a RunInfo>,
    metadata: Option<&'a Map<String, Value>>,
    transcript: &'a [Message],
    extensions: [Option<&'a Extensions>; 2],
    emit: Option<&'a (dyn Fn(ModelEvent) + Send + Sync)>,
}

impl<'a> RunContext<'a> {
    pub(crate) fn new(origin: &'a Origin, info: Option<&'a RunInfo>) -> Self {
        let (metadata, transcript, extensions, emit) = (None, &[][..], [None, None], None);
        Self { origin, info, metadata, transcript, extensions, emit }
    }

    /// Sets metadata that replaces the metadata of the run.
    pub(crate) fn with_metadata(mut self, metadata: Option<&'a Map<String, Value>>) -> Self {
        self.metadata = metadata;
        self
    }

    pub(crate) fn with_transcript(mut self, transcript: &'a [Message]) -> Self {
        self.transcript = transcript;
        self
    }

    /// Sets the extensions, of which the first take precedence.
    pub(crate) fn with_extensions(mut self, first: &'a Extensions, second: &'a Extensions) -> Self {
        self.extensions = [Some(first), Some(second)];
        self
    }

    /// Sets the function that emits the warnings of hooks.
    pub(crate) fn with_emitter(mut self, emit: &'a (dyn Fn(ModelEvent) + Send + Sync)) -> Self {
        self.emit = Some(emit);
        self
    }

    /// Returns the name of the agent, if there is one and it has a name.
    pub fn agent(&self) -> Option<&'a str> {
        self.info?.agent.as_deref()
    }

    pub(crate) fn origin(&self) -> &'a Origin {
        self.origin
    }

    /// Returns the id of the run; 0 outside of a run.
    pub fn run_id(&self) -> RunId {
        self.origin.run
    }

    /// Returns the name of the session that the run belongs to, if any.
    pub fn session(&self) -> Option<&'a str> {
        self.info?.session.as_deref()
    }

    /// Returns the number of the turn within the run; 0 outside of a run.
    pub fn turn(&self) -> u32 {
        self.origin.turn
    }

    /// Returns the number of calls that this one is nested in; 0 for a call of a model.
    pub fn depth(&self) -> u32 {
        self.origin.depth
    }

    /// Returns the id of the call whose tool made this call, if it is nested.
    pub fn parent_call(&self) -> Option<&'a CallId> {
        self.origin.parent.as_ref()
    }

    /// Returns the metadata of the run; empty outside of a run.
    ///
    /// It comes from [`Prompt::metadata`](crate::agent::Prompt::metadata), and an interceptor may
    /// [change](crate::dispatch::InterceptContext::set_metadata) it.
    pub fn metadata(&self) -> &'a Map<String, Value> {
        let of_run = self.info.map(|info| &info.metadata);
        self.metadata.or(of_run).unwrap_or_else(|| &NO_METADATA)
    }

    /// Returns the extension of the type `T`, if there is one.
    ///
    /// These are the values of [`Agent::extension`](crate::Agent::extension),
    /// [`Dispatcher::extension`](crate::Dispatcher::extension) and
    /// [`Batch::extensions`](crate::tool::Batch::extensions).
    pub fn get<T: 'static>(&self) -> Option<&'a T> {
        self.extensions.iter().flatten().find_map(|extensions| extensions.get())
    }

    /// Emits a warning of a [model hook](crate::agent::ModelHook); outside of model hooks, it does
    /// nothing.
    ///
    /// Use it for a problem that does not end the run, such as a store that can't be read. The
    /// operator receives it as
    /// [`ModelEvent::HookWarning`](crate::event::ModelEvent::HookWarning), and the model does not.
    pub fn warn(&self, reason: impl Into<String>) {
        if let Some(emit) = self.emit {
            emit(ModelEvent::HookWarning { reason: reason.into() });
        }
    }

    /// Returns the messages of the conversation so far; empty outside of a run.
    pub fn transcript(&self) -> &'a [Message] {
        self.transcript
    }
}

/// Omits metadata and messages, because they may contain secrets.
impl fmt::Debug for RunContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext")
            .field("agent", &self.agent())
            .field("session", &self.session())
            .field("origin", self.origin)
            .finish_non_exhaustive()
    }
}

/// Returns `info` with the metadata of a call, if an interceptor changed it.
pub(crate) fn with_metadata(
    info: Option<&Arc<RunInfo>>,
    metadata: Option<&Arc<Map<String, Value>>>,
) -> Option<Arc<RunInfo>> {
    let Some(metadata) = metadata else { return info.cloned() };
    let info = info.map(|info| RunInfo::clone(info)).unwrap_or_default();
    Some(Arc::new(RunInfo { metadata: Map::clone(metadata), ..info }))
}
