//! Metadata (`_meta`): what the program sends with calls, and what a server returns.

use std::sync::Arc;

use rmcp::model::{MetaObject, RequestMetaObject};
use serde_json::{Map, Value};
use tool_core::{EffectRecord, ToolContext, ToolError, ToolExecution};

use crate::Meta;
use crate::client::tools::text::{clean_value, json_bytes};

/// The name of the effect that carries the metadata of a result.
const EFFECT: &str = "mcp_server_meta";

/// The keys without a prefix that the protocol reserves.
const RESERVED_KEYS: [&str; 4] = ["progressToken", "traceparent", "tracestate", "baggage"];

/// The labels of a prefix that the protocol reserves.
const RESERVED_LABELS: [&str; 2] = ["modelcontextprotocol", "mcp"];

/// The function of the program that returns the metadata of calls, if there is one.
#[derive(Clone, Default)]
pub(crate) struct CallMetaHook(Option<Arc<Hook>>);

/// Returns the metadata of a call of a tool.
type Hook = dyn Fn(&str, &ToolContext) -> Meta + Send + Sync;

impl CallMetaHook {
    pub(crate) fn new(hook: impl Fn(&str, &ToolContext) -> Meta + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// Returns the metadata of a call.
    ///
    /// # Errors
    /// A key is reserved.
    pub(crate) fn of_call(
        &self,
        server: &str,
        tool: &str,
        ctx: &ToolContext,
    ) -> Result<Option<RequestMetaObject>, ToolError> {
        let Some(hook) = &self.0 else { return Ok(None) };
        let Meta(members) = hook(tool, ctx);
        if let Some(key) = members.keys().find(|key| is_reserved(key)) {
            let text = "The call did not run: the program can't send it. Go on without it.";
            let source = format!(
                "MCP server `{server}`: metadata key `{key}` is reserved by the protocol; \
                 use the prefix of your own domain in `McpClient::call_meta`"
            );
            return Err(ToolError::failed(text).with_source(source));
        }
        Ok((!members.is_empty()).then_some(RequestMetaObject(MetaObject(members))))
    }
}

/// Returns the metadata (`_meta`) that an MCP server returned with the result of a call.
///
/// It is untrusted, and models do not receive it. Members whose keys the protocol reserves are left
/// out, and so are invisible characters. Metadata that is larger than
/// [`ResultLimits::max_meta_bytes`](crate::ResultLimits::max_meta_bytes) is left out as a whole.
///
/// The client records it as an effect of the call with the name `mcp_server_meta`. Of a call with
/// several attempts, it is the last metadata that the server returned.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::ToolExecution;
/// use tool_runtime::mcp::result_meta;
///
/// fn source(execution: &ToolExecution) -> Option<String> {
///     let meta = result_meta(execution)?;
///     Some(meta.get("example.com/source")?.as_str()?.to_owned())
/// }
/// # let _ = source;
/// ```
pub fn result_meta(execution: &ToolExecution) -> Option<Map<String, Value>> {
    execution.effects.iter().rev().find_map(|effect| effect.other_data(EFFECT))
}

/// Records the metadata of a result, unless it is empty or too large.
pub(crate) fn record_result_meta(meta: Map<String, Value>, max_bytes: usize, ctx: &ToolContext) {
    if let Some(data) = received(meta, max_bytes) {
        ctx.record(EffectRecord::Other { name: EFFECT.to_owned(), data: data.into() });
    }
}

/// Returns metadata of a server for the program: bounded, and without what the protocol reserves.
pub(crate) fn received(
    mut meta: Map<String, Value>,
    max_bytes: usize,
) -> Option<Map<String, Value>> {
    meta.retain(|key, _| !is_reserved(key));
    let bytes: usize = meta.iter().map(|(key, value)| key.len() + json_bytes(value)).sum();
    if meta.is_empty() || bytes > max_bytes {
        return None;
    }
    meta.values_mut().for_each(clean_value);
    Some(meta)
}

/// Returns `true` for a key that the protocol reserves.
fn is_reserved(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return RESERVED_KEYS.contains(&key) };
    let labels: Vec<_> = prefix.split('.').collect();
    let is_reserved =
        |label: &&str| RESERVED_LABELS.iter().any(|it| it.eq_ignore_ascii_case(label));
    // `com.example.mcp/` is free; revisions before 2025-11-25 also reserve `mcp.dev/`.
    labels
        .iter()
        .enumerate()
        .any(|(index, label)| is_reserved(label) && (index < 2 || index + 1 < labels.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn keys_of_the_protocol_are_reserved() {
        for key in [
            "io.modelcontextprotocol/related-task",
            "dev.mcp/x",
            "org.modelcontextprotocol.api/x",
            "com.mcp.tools/x",
            "mcp.dev/x",
            "MCP/x",
            "modelcontextprotocol/x",
            "tools.api.mcp.com/x",
            "progressToken",
            "traceparent",
            "tracestate",
            "baggage",
        ] {
            assert!(is_reserved(key), "{key}");
        }
        for key in ["com.example.mcp/x", "example.com/mcp", "mcp", "ui", "mcpx.com/x", ""] {
            assert!(!is_reserved(key), "{key}");
        }
    }

    #[test]
    fn received_metadata_is_bounded_and_has_no_member_of_the_protocol() {
        let meta = map(&json!({
            "io.modelcontextprotocol/serverInfo": { "name": "x" },
            "example.com/a": ["b\u{202e}c"],
        }));
        let expected = map(&json!({ "example.com/a": ["bc"] }));
        assert_eq!(received(meta.clone(), 100), Some(expected));
        assert_eq!(received(meta, 20), None);
        assert_eq!(received(map(&json!({ "io.modelcontextprotocol/x": 1 })), 100), None);
    }
}
