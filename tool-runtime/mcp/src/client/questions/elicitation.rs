//! Questions of a server to the user.

use std::sync::Arc;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction as ActionOfResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_core::async_trait;
use tool_core::message::visible;
use tool_core::schema::Schema;

use crate::client::questions::page_url::check_page_url;
use crate::client::tools::text::{clean, json_bytes};

/// The number of characters of a question that are shown.
const MAX_QUESTION_CHARS: usize = 4_000;

/// The number of bytes of a form.
const MAX_FORM_BYTES: usize = 64 << 10;

/// A question of a server to the user, such as for a missing detail.
///
/// The texts come from the server. They are untrusted: show them together with the name of the
/// server, and never ask for passwords in a form.
///
/// ```
/// use tool_runtime::async_trait;
/// use tool_runtime::mcp::{Elicitation, ElicitationAction, ElicitationHandler, ElicitationKind};
///
/// /// Answers a question with the defaults of its form, if they are a complete answer.
/// struct Defaults;
///
/// #[async_trait]
/// impl ElicitationHandler for Defaults {
///     async fn elicit(&self, request: Elicitation) -> ElicitationAction {
///         match (&request.kind, request.defaults()) {
///             // A form can require fields that have no default.
///             (ElicitationKind::Form { schema }, Some(content))
///                 if schema.check(&content).is_empty() =>
///             {
///                 ElicitationAction::Accept(content)
///             }
///             _ => ElicitationAction::Decline,
///         }
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Elicitation {
    /// The name of the connection.
    pub server: String,
    /// The name of the tool whose call caused the question.
    ///
    /// It is `None` if the call is unknown: before 2026-07-28, a question does not name its call,
    /// so on a stream of bytes, such as that of a process, it could belong to any request in
    /// flight.
    pub tool: Option<String>,
    /// The question, in which deceptive characters are [visible].
    pub message: String,
    /// The form to fill in, or the page to visit.
    pub kind: ElicitationKind,
}

/// The input that a server asks the user for.
///
/// ```
/// use tool_runtime::mcp::ElicitationKind;
///
/// fn describe(kind: &ElicitationKind) -> &str {
///     match kind {
///         ElicitationKind::Form { .. } => "fill in a form",
///         ElicitationKind::Url { url } => url,
///         _ => "",
///     }
/// }
/// # let _ = describe;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitationKind {
    /// A form to fill in: an object that matches a schema of plain fields.
    Form {
        /// The JSON Schema of the object.
        schema: Schema,
    },
    /// A web page to visit. Show the address, and open it only if the user agrees.
    Url {
        /// The address that the user should open.
        url: String,
    },
}

/// The action of the user on an [`Elicitation`], which the handler of a client returns.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::mcp::ElicitationAction;
///
/// let action = ElicitationAction::Accept(json!({ "seat": "aisle" }));
/// assert_ne!(action, ElicitationAction::Decline);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitationAction {
    /// The user agrees, with the content of the form. For a URL, the content is ignored. If the
    /// content does not match the form, the call fails; a server of a revision before 2026-07-28
    /// receives `cancel` instead.
    Accept(Value),
    /// The user declines the request.
    Decline,
    /// The user made no choice.
    Cancel,
    /// The answer comes later: the call is suspended, and a run pauses until it is resumed with the
    /// answer of [`Paused::answer`](tool_core::agent::Paused::answer), also in another process.
    /// The answer is the content of the form; `true` accepts a URL, and `false` declines. A server
    /// of a revision before 2026-07-28 can't wait: it receives `cancel`.
    Later,
}

/// Answers the questions of servers, for instance by asking the user.
///
/// The future runs within the call that the question belongs to, and is dropped when the call ends.
/// If that call is [unknown](Elicitation::tool), the future runs within the newest call; if that
/// one ends first, the question is asked again within the newest of the others.
///
/// ```
/// use tool_runtime::async_trait;
/// use tool_runtime::mcp::{Elicitation, ElicitationAction, ElicitationHandler};
///
/// struct DeclineAll;
///
/// #[async_trait]
/// impl ElicitationHandler for DeclineAll {
///     async fn elicit(&self, _: Elicitation) -> ElicitationAction {
///         ElicitationAction::Decline
///     }
/// }
/// ```
#[async_trait]
pub trait ElicitationHandler: Send + Sync {
    /// Answers a question of a server.
    async fn elicit(&self, request: Elicitation) -> ElicitationAction;
}

/// Shares one handler among several clients.
#[diagnostic::do_not_recommend]
#[async_trait]
impl<H: ElicitationHandler + ?Sized> ElicitationHandler for Arc<H> {
    async fn elicit(&self, request: Elicitation) -> ElicitationAction {
        self.as_ref().elicit(request).await
    }
}

/// Defers the answer to each question, so that a run pauses.
///
/// ```
/// use tool_runtime::mcp::{ElicitLater, McpClient};
///
/// let client = McpClient::http("http://127.0.0.1:3001/mcp").elicitation(ElicitLater);
/// # let _ = client;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ElicitLater;

#[async_trait]
impl ElicitationHandler for ElicitLater {
    async fn elicit(&self, _: Elicitation) -> ElicitationAction {
        ElicitationAction::Later
    }
}

impl Elicitation {
    /// Reads a question of a server.
    ///
    /// # Errors
    /// The user should not open the address, or the form is too large.
    pub(crate) fn new(
        server: &str,
        tool: Option<&str>,
        params: &ElicitRequestParams,
    ) -> Result<Self, &'static str> {
        let (message, kind) = match params {
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                check_page_url(url)?;
                (message.as_str(), ElicitationKind::Url { url: visible(url).into_owned() })
            }
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                if json_bytes(&schema) > MAX_FORM_BYTES {
                    return Err("the form is too large");
                }
                (message.as_str(), ElicitationKind::Form { schema: schema.into() })
            }
            _ => ("", ElicitationKind::Form { schema: json!({ "type": "object" }).into() }),
        };
        let message = visible(&clean(message, MAX_QUESTION_CHARS)).into_owned();
        Ok(Self { server: server.to_owned(), tool: tool.map(str::to_owned), message, kind })
    }

    /// Returns an object with the default values of the form. Fields without a default are missing,
    /// so the object can lack a required field. A URL has none.
    pub fn defaults(&self) -> Option<Value> {
        let ElicitationKind::Form { schema } = &self.kind else { return None };
        let properties = schema.as_value().get("properties")?.as_object()?;
        let default = |(name, schema): (&String, &Value)| {
            Some((name.clone(), schema.get("default")?.clone()))
        };
        Some(Value::Object(properties.iter().filter_map(default).collect()))
    }

    /// Returns the JSON Schema of the form that asks the question.
    pub(super) fn form_schema(&self) -> Option<&Schema> {
        match &self.kind {
            ElicitationKind::Form { schema } => Some(schema),
            ElicitationKind::Url { .. } => None,
        }
    }

    /// Returns the text of the question for a person, with the form that the answer must match.
    pub(crate) fn question(&self) -> String {
        let asks = format!("The MCP server `{}` asks: {}", self.server, self.message);
        match &self.kind {
            ElicitationKind::Url { url } => format!("{asks}\nOpen {url} to continue."),
            ElicitationKind::Form { schema } => {
                let schema = visible(&schema.as_value().to_string()).into_owned();
                format!("{asks}\nAnswer with an object that matches {schema}.")
            }
        }
    }

    /// Checks the action, and returns what the server receives.
    ///
    /// # Errors
    /// The content does not match the form. The error describes the mismatch.
    pub(crate) fn result(&self, action: ElicitationAction) -> Result<ElicitResult, String> {
        let content = match action {
            ElicitationAction::Accept(content) => content,
            ElicitationAction::Decline => return Ok(ElicitResult::new(ActionOfResult::Decline)),
            ElicitationAction::Cancel | ElicitationAction::Later => {
                return Ok(ElicitResult::new(ActionOfResult::Cancel));
            }
        };
        let accepted = ElicitResult::new(ActionOfResult::Accept);
        match &self.kind {
            ElicitationKind::Url { .. } => Ok(accepted),
            ElicitationKind::Form { schema } => {
                let mismatches = schema.check(&content);
                match mismatches.first() {
                    None => Ok(accepted.with_content(content)),
                    Some(mismatch) => Err(mismatch.to_string()),
                }
            }
        }
    }
}

/// The form of an answer that a program gives to a suspended call.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Accept,
    Decline,
    Cancel,
}

/// Reads the answer to the question of a suspended call: the content of the form, `true` or
/// `false`, or an object with an `action`.
pub(crate) fn answer_of(value: &Value) -> ElicitationAction {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct WithAction {
        action: Action,
        #[serde(default)]
        content: Value,
    }
    if let Ok(WithAction { action, content }) = WithAction::deserialize(value) {
        return match action {
            Action::Accept => ElicitationAction::Accept(content),
            Action::Decline => ElicitationAction::Decline,
            Action::Cancel => ElicitationAction::Cancel,
        };
    }
    match value {
        Value::Null | Value::Bool(false) => ElicitationAction::Decline,
        Value::Bool(true) => ElicitationAction::Accept(json!({})),
        content => ElicitationAction::Accept(content.clone()),
    }
}
