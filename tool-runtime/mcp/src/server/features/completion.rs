use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

use crate::server::McpRequest;

type Completing = Pin<Box<dyn Future<Output = Vec<String>> + Send>>;
pub(crate) type Completer = Arc<dyn Fn(CompletionRequest) -> Completing + Send + Sync>;

/// A request to complete an argument that a user types.
///
/// ```
/// use tool_runtime::mcp::McpServer;
/// use tool_runtime::mcp::server::{CompletionRequest, CompletionTarget};
/// use tool_runtime::tools;
///
/// let server = McpServer::new(tools![]).completion(|request: CompletionRequest| async move {
///     let languages = match &request.target {
///         CompletionTarget::Prompt(name) if name == "translate" => vec!["Norwegian", "Nepali"],
///         _ => vec![],
///     };
///     let fits = |language: &&str| language.starts_with(&request.value);
///     languages.into_iter().filter(fits).map(str::to_owned).collect()
/// });
/// # let _ = server;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The prompt or template whose argument is completed.
    pub target: CompletionTarget,
    /// The name of the argument or variable.
    pub argument: String,
    /// The part of the value that is typed so far.
    pub value: String,
    /// The arguments that the user has already completed.
    pub context: HashMap<String, String>,
    /// The MCP request and a handle to its client.
    pub request: McpRequest,
}

/// The owner of the argument that is completed.
///
/// ```
/// use tool_runtime::mcp::server::CompletionTarget;
///
/// assert_ne!(CompletionTarget::Prompt("a".into()), CompletionTarget::Template("a".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompletionTarget {
    /// The prompt with this name.
    Prompt(String),
    /// The resource template with this URI.
    Template(String),
}

/// Answers a request, with at most as many values as the protocol allows.
pub(crate) async fn complete(
    complete: &Completer,
    params: CompleteRequestParams,
    request: McpRequest,
) -> Result<CompleteResult, ErrorData> {
    let target = match params.r#ref {
        Reference::Prompt(prompt) => CompletionTarget::Prompt(prompt.name),
        Reference::Resource(template) => CompletionTarget::Template(template.uri),
        _ => return Err(ErrorData::invalid_params("unknown kind of `ref`", None)),
    };
    let context = params.context.and_then(|context| context.arguments).unwrap_or_default();
    let (argument, value) = (params.argument.name, params.argument.value);
    let mut values =
        complete(CompletionRequest { target, argument, value, context, request }).await;
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut completion = CompletionInfo::default();
    completion.has_more = Some(total > values.len());
    completion.total = u32::try_from(total).ok();
    completion.values = values;
    Ok(CompleteResult::new(completion))
}
