//! Prompts: messages that a client's user selects.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use rmcp::ErrorData;
use rmcp::model::{self, GetPromptResult, Role};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tool_core::{ContentPart, ToolError};

use crate::content::block;
use crate::server::McpRequest;
use crate::server::errors::unknown;
use crate::server::input::InputResponses;

type Rendering = Pin<Box<dyn Future<Output = Result<Vec<PromptMessage>, ToolError>> + Send>>;
type Renderer = Arc<dyn Fn(PromptRequest) -> Rendering + Send + Sync>;

/// The prompts of a server. Clones share one set, which can change while it is served.
///
/// ```
/// use tool_runtime::mcp::McpServer;
/// use tool_runtime::mcp::server::{Prompt, PromptMessage, PromptRequest, Prompts};
/// use tool_runtime::tools;
///
/// let prompts = Prompts::new();
/// let review = Prompt::new("review").description("Reviews code").required_argument("code", "");
/// prompts.insert(review, |request: PromptRequest| async move {
///     let code = request.argument("code").unwrap_or_default();
///     Ok(vec![PromptMessage::user(format!("Review this code:\n{code}"))])
/// });
/// let server = McpServer::new(tools![]).prompts(prompts);
/// # let _ = server;
/// ```
#[derive(Clone)]
pub struct Prompts(Arc<Inner>);

struct Inner {
    entries: RwLock<BTreeMap<String, (Prompt, Renderer)>>,
    changes: watch::Sender<()>,
}

/// A prompt and its arguments.
///
/// ```
/// use tool_runtime::mcp::server::Prompt;
///
/// let prompt = Prompt::new("greet")
///     .description("Greets a person")
///     .required_argument("name", "The name of the person")
///     .optional_argument("style", "formal or casual");
/// assert_eq!(prompt.name(), "greet");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt(model::Prompt);

/// A message of a prompt.
///
/// ```
/// use tool_runtime::mcp::server::PromptMessage;
///
/// let messages = [PromptMessage::user("What is 2 + 2?"), PromptMessage::assistant("4")];
/// # let _ = messages;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptMessage {
    is_user: bool,
    part: ContentPart,
}

/// A request for a prompt, with its arguments.
///
/// ```
/// use tool_runtime::ToolError;
/// use tool_runtime::mcp::server::{PromptMessage, PromptRequest};
///
/// async fn greet(request: PromptRequest) -> Result<Vec<PromptMessage>, ToolError> {
///     let name = request.argument("name").unwrap_or("stranger");
///     Ok(vec![PromptMessage::user(format!("Greet {name}."))])
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PromptRequest {
    /// The answers to the [questions](crate::server::InputRequests) that the prompt asked before.
    pub responses: Option<InputResponses>,
    /// The MCP request and a handle to its client.
    pub request: McpRequest,
    arguments: Map<String, Value>,
}

impl PromptRequest {
    pub(crate) fn new(
        arguments: Map<String, Value>,
        responses: Option<InputResponses>,
        request: McpRequest,
    ) -> Self {
        Self { responses, request, arguments }
    }

    /// Returns the value of an argument.
    pub fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.get(name)?.as_str()
    }
}

impl PromptMessage {
    /// Creates a message of the user.
    pub fn user(part: impl Into<ContentPart>) -> Self {
        Self { is_user: true, part: part.into() }
    }

    /// Creates a message of the model.
    pub fn assistant(part: impl Into<ContentPart>) -> Self {
        Self { is_user: false, part: part.into() }
    }

    fn into_mcp(self) -> model::PromptMessage {
        let role = if self.is_user { Role::User } else { Role::Assistant };
        model::PromptMessage::new(role, block(self.part))
    }
}

impl Prompt {
    /// Creates a prompt without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self(model::Prompt::new(name.into(), None::<String>, None))
    }

    /// Sets the name for user interfaces.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.0.title = Some(title.into());
        self
    }

    /// Sets the description of the prompt's purpose.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// Adds an argument that a request for the prompt must have.
    #[must_use]
    pub fn required_argument(self, name: impl Into<String>, about: impl Into<String>) -> Self {
        self.argument(name.into(), about.into(), true)
    }

    /// Adds an argument that may be missing.
    #[must_use]
    pub fn optional_argument(self, name: impl Into<String>, about: impl Into<String>) -> Self {
        self.argument(name.into(), about.into(), false)
    }

    fn argument(mut self, name: String, description: String, is_required: bool) -> Self {
        let mut argument = model::PromptArgument::new(name).with_required(is_required);
        argument.description = Some(description).filter(|text| !text.is_empty());
        self.0.arguments.get_or_insert_default().push(argument);
        self
    }

    /// Returns the name of the prompt.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    fn missing_argument(&self, arguments: &Map<String, Value>) -> Option<&str> {
        let required = self.0.arguments.iter().flatten().filter(|it| it.required == Some(true));
        let mut names = required.map(|argument| argument.name.as_str());
        names.find(|name| !arguments.contains_key(*name))
    }
}

impl Default for Prompts {
    fn default() -> Self {
        Self::new()
    }
}

impl Prompts {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self(Arc::new(Inner { entries: RwLock::default(), changes: watch::channel(()).0 }))
    }

    /// Adds a prompt, or replaces the prompt with the same name.
    ///
    /// `render` returns its messages. To ask the client first, return the error of
    /// [`InputRequests::suspend`](crate::server::InputRequests::suspend).
    pub fn insert<F, R>(&self, prompt: Prompt, render: F)
    where
        F: Fn(PromptRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<PromptMessage>, ToolError>> + Send + 'static,
    {
        let render: Renderer = Arc::new(move |request| Box::pin(render(request)));
        let mut entries = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.insert(prompt.name().to_owned(), (prompt, render));
        drop(entries);
        self.0.changes.send_replace(());
    }

    /// Removes a prompt, and returns whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        let mut entries = self.0.entries.write().unwrap_or_else(PoisonError::into_inner);
        let removed = entries.remove(name).is_some();
        drop(entries);
        self.0.changes.send_replace(());
        removed
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    pub(crate) fn list(&self) -> Vec<model::Prompt> {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries.values().map(|(prompt, _)| prompt.0.clone()).collect()
    }

    /// Returns the renderer of a prompt whose required arguments are all there.
    pub(crate) fn find(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<FoundPrompt, ErrorData> {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        let Some((prompt, render)) = entries.get(name) else {
            return Err(unknown("prompt", name));
        };
        if let Some(missing) = prompt.missing_argument(arguments) {
            let message = format!("missing argument of prompt {name}: {missing}");
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(FoundPrompt { description: prompt.0.description.clone(), render: Arc::clone(render) })
    }
}

/// A prompt that can be rendered.
pub(crate) struct FoundPrompt {
    description: Option<String>,
    render: Renderer,
}

impl FoundPrompt {
    pub(crate) async fn render(
        &self,
        request: PromptRequest,
    ) -> Result<GetPromptResult, ToolError> {
        let messages = (self.render)(request).await?;
        let messages = messages.into_iter().map(PromptMessage::into_mcp).collect();
        let mut result = GetPromptResult::new(messages);
        result.description.clone_from(&self.description);
        Ok(result)
    }
}

impl fmt::Debug for Prompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.entries.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(entries.keys()).finish()
    }
}
