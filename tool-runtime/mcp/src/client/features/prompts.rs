//! Prompts, as an API of a connection.

use rmcp::model::{GetPromptRequest, GetPromptRequestParams};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_core::Message;

use crate::client::calls::content::ResultReader;
use crate::client::connection::McpConnection;
use crate::client::error::McpError;
use crate::client::tools::list::ListKind;

/// A prompt of a server. The texts are untrusted.
///
/// ```
/// use tool_runtime::mcp::McpPrompt;
///
/// let json = r#"{ "name": "review", "arguments": [{ "name": "code", "required": true }] }"#;
/// let prompt: McpPrompt = serde_json::from_str(json)?;
/// assert!(prompt.arguments[0].required);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpPrompt {
    /// The name of the prompt.
    pub name: String,
    /// The name for user interfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments of the prompt.
    #[serde(default)]
    pub arguments: Vec<McpPromptArgument>,
}

/// An argument of a prompt. The texts are untrusted.
///
/// ```
/// use tool_runtime::mcp::McpPromptArgument;
///
/// let argument: McpPromptArgument = serde_json::from_str(r#"{ "name": "code" }"#)?;
/// assert!(!argument.required);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpPromptArgument {
    /// The name of the argument.
    pub name: String,
    /// The description of the argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a request for the prompt must have the argument.
    #[serde(default)]
    pub required: bool,
}

/// Requests for prompts. All requests have the
/// [time limit of a call](crate::McpClient::call_timeout), and fail if the connection is down.
impl McpConnection {
    /// Returns the prompts of the server, within the limits of lists.
    ///
    /// # Errors
    /// The connection is down, or the server does not return a valid list.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
    /// for prompt in docs.prompts().await? {
    ///     println!("{}", prompt.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn prompts(&self) -> Result<Vec<McpPrompt>, McpError> {
        self.list(ListKind::Prompts).await
    }

    /// Returns the messages of a prompt with these arguments. They are untrusted.
    ///
    /// # Errors
    /// The connection is down, or the server does not return the prompt.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn get(docs: McpConnection) -> Result<(), McpError> {
    /// let messages = docs.prompt("review", [("code", "fn main() {}")]).await?;
    /// println!("{} messages", messages.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn prompt<'a>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Vec<Message>, McpError> {
        let argument = |(name, value): (&str, &str)| (name.to_owned(), Value::from(value));
        let arguments: Map<String, Value> = arguments.into_iter().map(argument).collect();
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = GetPromptRequest::new(params).into();
        let value = self.request("prompts/get", request).await?;
        let Some(messages) = value.get("messages").and_then(Value::as_array) else {
            return Err(self.invalid("prompts/get", "member `messages` is missing".to_owned()));
        };
        let reader = ResultReader {
            server: self.name().to_owned(),
            limits: self.link.options.results,
            marks_text: false,
            output: None,
        };
        Ok(messages.iter().map(|message| prompt_message(&reader, message)).collect())
    }
}

fn prompt_message(reader: &ResultReader, message: &Value) -> Message {
    let content = message.get("content").cloned().unwrap_or_default();
    let parts = reader.parts(vec![content]);
    match message.get("role").and_then(Value::as_str) {
        Some("assistant") => {
            let texts: Vec<_> = parts.iter().map(|part| part.plain_text()).collect();
            Message::assistant(texts.join("\n"))
        }
        _ => Message::User { id: None, parts },
    }
}
