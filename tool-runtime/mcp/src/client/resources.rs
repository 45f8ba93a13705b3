//! Resources, templates, prompts and completion, as an API of a connection.

use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, GetPromptRequest,
    GetPromptRequestParams, ReadResourceRequest, ReadResourceRequestParams, Reference,
    ResourceContents, ServerResult, SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest,
    UnsubscribeRequestParams,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::Message;
use tool_runtime::message::EmbeddedResource;

use super::connection::McpConnection;
use super::content::{ResultReader, resource_part};
use super::error::McpError;
use super::list::{ListKind, list};

/// A resource of a server, without its content. The texts are untrusted.
///
/// ```
/// use tool_mcp::McpResource;
///
/// let json = r#"{ "uri": "file:///a.md", "name": "a.md", "mimeType": "text/markdown" }"#;
/// let resource: McpResource = serde_json::from_str(json)?;
/// assert_eq!(resource.media_type.as_deref(), Some("text/markdown"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpResource {
    /// The URI of the resource.
    pub uri: String,
    /// The name of the resource.
    pub name: String,
    /// The name for user interfaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of the content.
    #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size of the content in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A template of URIs of resources. The texts are untrusted.
///
/// ```
/// use tool_mcp::McpResourceTemplate;
///
/// let json = r#"{ "uriTemplate": "file:///{path}", "name": "files" }"#;
/// let template: McpResourceTemplate = serde_json::from_str(json)?;
/// assert_eq!(template.uri_template, "file:///{path}");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpResourceTemplate {
    /// The template, as in RFC 6570.
    #[serde(rename = "uriTemplate")]
    pub uri_template: String,
    /// The name of the template.
    pub name: String,
    /// The description of the resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The media type of all resources of the template.
    #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// A prompt of a server. The texts are untrusted.
///
/// ```
/// use tool_mcp::McpPrompt;
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
/// use tool_mcp::McpPromptArgument;
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
    /// Whether the argument is required.
    #[serde(default)]
    pub required: bool,
}

/// Resources, prompts and completion. All requests have the
/// [time limit of a call](crate::McpClient::call_timeout), and fail if the connection is down.
impl McpConnection {
    /// Returns the resources of the server, within the [limits](crate::ListLimits) of lists.
    ///
    /// # Errors
    /// The connection is down, or the server does not return a valid list.
    ///
    /// ```no_run
    /// # async fn list(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
    /// for resource in docs.resources().await? {
    ///     let contents = docs.read_resource(&resource.uri).await?;
    ///     println!("{}: {} parts", resource.uri, contents.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resources(&self) -> Result<Vec<McpResource>, McpError> {
        self.list(ListKind::Resources).await
    }

    /// Returns the templates of resources of the server, within the limits of lists.
    ///
    /// # Errors
    /// The connection is down, or the server does not return a valid list.
    ///
    /// ```no_run
    /// # async fn call(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
    /// for template in docs.resource_templates().await? {
    ///     println!("{}", template.uri_template);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resource_templates(&self) -> Result<Vec<McpResourceTemplate>, McpError> {
        self.list(ListKind::Templates).await
    }

    /// Returns the prompts of the server, within the limits of lists.
    ///
    /// # Errors
    /// The connection is down, or the server does not return a valid list.
    ///
    /// ```no_run
    /// # async fn call(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
    /// for prompt in docs.prompts().await? {
    ///     println!("{}", prompt.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn prompts(&self) -> Result<Vec<McpPrompt>, McpError> {
        self.list(ListKind::Prompts).await
    }

    /// Reads a resource of the server. Its content is untrusted.
    ///
    /// # Errors
    /// The connection is down, or the server does not return the resource.
    ///
    /// ```no_run
    /// # async fn call(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
    /// let contents = docs.read_resource("file:///notes.md").await?;
    /// println!("{} parts", contents.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_resource(
        &self,
        uri: impl Into<String>,
    ) -> Result<Vec<EmbeddedResource>, McpError> {
        let contents = self.read_resource_values(uri.into()).await?;
        let part = |content| {
            let content = ResourceContents::deserialize(content).ok()?;
            resource_part(content, str::to_owned)
        };
        Ok(contents.iter().filter_map(part).collect())
    }

    /// Returns the messages of a prompt with these arguments. They are untrusted.
    ///
    /// # Errors
    /// The connection is down, or the server does not return the prompt.
    ///
    /// ```no_run
    /// # async fn get(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
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

    /// Returns suggestions for the value of an argument of a prompt. They are untrusted.
    ///
    /// # Errors
    /// The connection is down, or the server does not return suggestions.
    ///
    /// ```no_run
    /// # async fn call(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
    /// let languages = docs.complete_prompt("review", "language", "ru").await?;
    /// println!("{languages:?}");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn complete_prompt(
        &self,
        prompt: impl Into<String>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Vec<String>, McpError> {
        self.complete(Reference::for_prompt(prompt), argument.into(), value.into()).await
    }

    /// Returns suggestions for the value of a variable of a template. They are untrusted.
    ///
    /// # Errors
    /// The connection is down, or the server does not return suggestions.
    ///
    /// ```no_run
    /// # async fn call(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
    /// let paths = docs.complete_resource("file:///{path}", "path", "no").await?;
    /// println!("{paths:?}");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn complete_resource(
        &self,
        uri_template: impl Into<String>,
        variable: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Vec<String>, McpError> {
        self.complete(Reference::for_resource(uri_template), variable.into(), value.into()).await
    }

    /// Subscribes to the changes of a resource, also after the connection was lost. The
    /// [events](crate::McpClient::on_event) and the
    /// [steering](crate::McpClient::steering) report them.
    ///
    /// # Errors
    /// The connection is down, or the server refuses the subscription.
    ///
    /// ```no_run
    /// # async fn call(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
    /// docs.subscribe("file:///notes.md").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn subscribe(&self, uri: impl Into<String>) -> Result<(), McpError> {
        self.set_subscription(uri.into(), true).await
    }

    /// Ends a subscription to a resource.
    ///
    /// # Errors
    /// The connection is down, or the server refuses.
    ///
    /// ```no_run
    /// # async fn call(docs: tool_mcp::McpConnection) -> Result<(), tool_mcp::McpError> {
    /// docs.unsubscribe("file:///notes.md").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn unsubscribe(&self, uri: impl Into<String>) -> Result<(), McpError> {
        self.set_subscription(uri.into(), false).await
    }

    async fn set_subscription(&self, uri: String, is_subscribed: bool) -> Result<(), McpError> {
        let (session, _) = self.request_on()?;
        if session.info.has_initialize {
            let (operation, request): (_, ClientRequest) = if is_subscribed {
                let params = SubscribeRequestParams::new(uri.clone());
                ("resources/subscribe", SubscribeRequest::new(params).into())
            } else {
                let params = UnsubscribeRequestParams::new(uri.clone());
                ("resources/unsubscribe", UnsubscribeRequest::new(params).into())
            };
            self.request(operation, request).await?;
        }
        if self.link.set_subscription(&uri, is_subscribed) {
            self.link.resubscribe.notify_one();
        }
        Ok(())
    }

    /// Returns the contents of a resource as the server sent them.
    pub(super) async fn read_resource_values(&self, uri: String) -> Result<Vec<Value>, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ReadResourceRequest::new(params).into();
        let mut value = self.request("resources/read", request).await?;
        match value.get_mut("contents").map(Value::take) {
            Some(Value::Array(contents)) => Ok(contents),
            _ => Err(self.invalid("resources/read", "member `contents` is missing".to_owned())),
        }
    }

    async fn complete(
        &self,
        reference: Reference,
        argument: String,
        value: String,
    ) -> Result<Vec<String>, McpError> {
        let argument = ArgumentInfo::new(argument, value);
        let params = CompleteRequestParams::new(reference, argument);
        let request = CompleteRequest::new(params).into();
        let value = self.request("completion/complete", request).await?;
        let values = value.pointer("/completion/values").and_then(Value::as_array);
        let values = values.into_iter().flatten().filter_map(Value::as_str);
        Ok(values.take(100).map(str::to_owned).collect())
    }

    async fn list<T: serde::de::DeserializeOwned>(
        &self,
        kind: ListKind,
    ) -> Result<Vec<T>, McpError> {
        let (session, deadline) = self.request_on()?;
        let listing = list(&session, kind, self.link.options.lists, deadline).await?;
        Ok(listing.items.into_iter().map(|(_, item)| item).collect())
    }

    async fn request(
        &self,
        operation: &'static str,
        request: ClientRequest,
    ) -> Result<Value, McpError> {
        let (session, deadline) = self.request_on()?;
        let result: ServerResult = session.request(request, operation, deadline).await?;
        Ok(serde_json::to_value(result).unwrap_or_default())
    }

    fn invalid(&self, operation: &'static str, reason: String) -> McpError {
        McpError::InvalidAnswer { server: self.name().to_owned(), operation, reason }
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
        _ => Message::User { parts },
    }
}
