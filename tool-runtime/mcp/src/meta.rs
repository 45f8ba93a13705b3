//! Metadata (`_meta`) of calls and of their results.

use serde_json::{Map, Value};

/// Metadata (`_meta`) of a call or of its result, in addition to what the protocol itself sends.
///
/// A client sends what [`McpClient::call_meta`](crate::McpClient::call_meta) returns. A tool that
/// is served adds metadata to its result by recording it as an effect: with
/// [`ToolContext::record`](tool_core::ToolContext::record), which also applies to a call that fails
/// later, or with [`ToolOutput::with_effect`](tool_core::ToolOutput::with_effect). Like in any
/// effect, secrets are redacted, and observers receive it. A tool with an output schema returns its
/// value and uses `record`: a tool that returns a [`ToolOutput`](tool_core::ToolOutput) has no
/// output schema. The client of this crate returns the metadata of a result by
/// [`result_meta`](crate::result_meta) and does not pass it to a model; other clients may.
///
/// A key should have the prefix of a domain, such as `example.com/tenant`. The protocol reserves
/// the keys `progressToken`, `traceparent`, `tracestate` and `baggage`, and prefixes with the label
/// `modelcontextprotocol` or `mcp`, unless it is the last of three or more labels, as in
/// `com.example.mcp/`. A call with a reserved key fails without being sent; of a result, the client
/// leaves such members out.
///
/// ```
/// use tool_runtime::mcp::{McpClient, Meta};
/// use tool_runtime::{ToolOutput, tool};
///
/// let client = McpClient::http("http://127.0.0.1:3001/mcp").call_meta(|_tool, ctx| {
///     match ctx.metadata().get("tenant") {
///         Some(tenant) => Meta::new().with("example.com/tenant", tenant.clone()),
///         None => Meta::new(),
///     }
/// });
/// # let _ = client;
///
/// /// Returns the orders of a day.
/// #[tool(effect = "read")]
/// async fn orders(day: String) -> ToolOutput {
///     let source = Meta::new().with("example.com/source", "replica-2");
///     ToolOutput::text(format!("{day}: 42 orders")).with_effect(source)
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta(pub(crate) Map<String, Value>);

impl Meta {
    /// Creates metadata without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member, or replaces the one with the same key.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }
}

impl From<Map<String, Value>> for Meta {
    fn from(members: Map<String, Value>) -> Self {
        Self(members)
    }
}
