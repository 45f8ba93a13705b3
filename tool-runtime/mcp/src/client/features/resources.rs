//! Resources and their templates, as an API of a connection.

use rmcp::model::{
    ClientRequest, ReadResourceRequest, ReadResourceRequestParams, ResourceContents,
    SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest, UnsubscribeRequestParams,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_core::message::EmbeddedResource;

use crate::client::calls::content::resource_part;
use crate::client::connection::McpConnection;
use crate::client::error::McpError;
use crate::client::tools::list::ListKind;

/// A resource of a server, without its content. The texts are untrusted.
///
/// ```
/// use tool_runtime::mcp::McpResource;
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
/// use tool_runtime::mcp::McpResourceTemplate;
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

/// Requests for resources. All requests have the
/// [time limit of a call](crate::McpClient::call_timeout), and fail if the connection is down.
impl McpConnection {
    /// Returns the resources of the server, within the [limits](crate::ListLimits) of lists.
    ///
    /// # Errors
    /// The connection is down, or the server does not return a valid list.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn list(docs: McpConnection) -> Result<(), McpError> {
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
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
    /// for template in docs.resource_templates().await? {
    ///     println!("{}", template.uri_template);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resource_templates(&self) -> Result<Vec<McpResourceTemplate>, McpError> {
        self.list(ListKind::Templates).await
    }

    /// Reads a resource of the server. Its content is untrusted.
    ///
    /// # Errors
    /// The connection is down, or the server does not return the resource.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
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

    /// Subscribes to the changes of a resource. The subscription survives a lost connection. The
    /// [events](crate::McpClient::on_event) and the [steering](crate::McpClient::steering) report
    /// them.
    ///
    /// # Errors
    /// The connection is down, or the server refuses the subscription.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
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
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
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
    pub(crate) async fn read_resource_values(&self, uri: String) -> Result<Vec<Value>, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ReadResourceRequest::new(params).into();
        let mut value = self.request("resources/read", request).await?;
        match value.get_mut("contents").map(Value::take) {
            Some(Value::Array(contents)) => Ok(contents),
            _ => Err(self.invalid("resources/read", "member `contents` is missing".to_owned())),
        }
    }
}
