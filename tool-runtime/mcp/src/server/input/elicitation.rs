use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_core::ToolError;
use tool_core::schema::Schema;

/// A question to the user of the client: a form, or a page to visit.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::mcp::server::ElicitationRequest;
///
/// let name = ElicitationRequest::new(
///     "What is your name?",
///     json!({ "type": "object", "properties": { "name": { "type": "string" } } }),
/// );
/// assert_eq!(name.message(), "What is your name?");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitationRequest {
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl ElicitationRequest {
    /// Creates a form for the user to fill in.
    ///
    /// The schema is an object whose properties are strings, numbers, booleans or choices.
    pub fn new(message: impl Into<String>, schema: impl Into<Value>) -> Self {
        Self { message: message.into(), schema: Some(schema.into()), url: None }
    }

    /// Creates the request to visit a page, for input that must not pass through the client, such
    /// as a password.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { message: message.into(), schema: None, url: Some(url.into()) }
    }

    /// Returns the text for the user.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn params(&self) -> Value {
        match (&self.url, &self.schema) {
            (Some(url), _) => json!({
                "mode": "url",
                "message": self.message,
                "url": url,
                "elicitationId": url,
            }),
            (None, schema) => json!({
                "mode": "form",
                "message": self.message,
                "requestedSchema": schema,
            }),
        }
    }

    /// Whether this is a reply, and its content fits the schema.
    pub(crate) fn accepts(&self, reply: &Value) -> bool {
        match (ElicitationReply::parse(reply), &self.schema) {
            (Ok(ElicitationReply::Accepted(content)), Some(schema)) => {
                Schema::from(schema.clone()).check(&content).is_empty()
            }
            (reply, _) => reply.is_ok(),
        }
    }
}

/// The reply that a server receives to a question for the user of the client.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::mcp::server::ElicitationReply;
///
/// let reply = ElicitationReply::Accepted(json!({ "name": "Ada" }));
/// assert_eq!(reply.content().unwrap()["name"], "Ada");
/// assert!(ElicitationReply::Declined.content().is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitationReply {
    /// The user submitted this content, which fits the schema of the question.
    Accepted(Value),
    /// The user refused to answer.
    Declined,
    /// The user dismissed the question.
    Cancelled,
}

impl ElicitationReply {
    /// Returns the content if the user submitted some.
    pub fn content(&self) -> Option<&Value> {
        match self {
            Self::Accepted(content) => Some(content),
            Self::Declined | Self::Cancelled => None,
        }
    }

    pub(crate) fn parse(reply: &Value) -> Result<Self, ToolError> {
        match reply.get("action").and_then(Value::as_str) {
            Some("accept") => {
                Ok(Self::Accepted(reply.get("content").cloned().unwrap_or_else(|| json!({}))))
            }
            Some("decline") => Ok(Self::Declined),
            Some("cancel") => Ok(Self::Cancelled),
            _ => Err(ToolError::failed(
                "The client sent an invalid reply to the elicitation request.",
            )),
        }
    }
}
