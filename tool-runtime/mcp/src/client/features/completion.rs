//! Completion of arguments, as an API of a connection.

use rmcp::model::{ArgumentInfo, CompleteRequest, CompleteRequestParams, Reference};
use serde_json::Value;

use crate::client::connection::McpConnection;
use crate::client::error::McpError;

/// The number of suggestions that are kept.
const MAX_SUGGESTIONS: usize = 100;

/// Requests for suggestions. All requests have the
/// [time limit of a call](crate::McpClient::call_timeout), and fail if the connection is down.
impl McpConnection {
    /// Returns suggestions for the value of an argument of a prompt. They are untrusted.
    ///
    /// # Errors
    /// The connection is down, or the server does not return suggestions.
    ///
    /// ```no_run
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
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
    /// # use tool_runtime::mcp::{McpConnection, McpError};
    /// # async fn call(docs: McpConnection) -> Result<(), McpError> {
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
        Ok(values.take(MAX_SUGGESTIONS).map(str::to_owned).collect())
    }
}
