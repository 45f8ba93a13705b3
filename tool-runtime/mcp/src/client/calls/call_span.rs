//! The attributes that OpenTelemetry's conventions for MCP add to the span of a call.
//!
//! The dispatcher has created the span `execute_tool`, which has fields for this. As the
//! conventions demand, the call has no second span. The id of an HTTP session is known to the SDK
//! alone, and left out.

use rmcp::model::{RequestId, ServerResult};
use rmcp::service::ServiceError;
use tracing::Span;

use super::request_error::RequestError;
use crate::client::connect::link::Link;
use crate::client::connect::session::Session;
use crate::client::connect::target::Target;

/// Records a request that was sent.
pub(super) fn record_request(link: &Link, session: &Session, id: &RequestId) {
    let span = Span::current();
    if span.is_disabled() {
        return;
    }
    span.record("mcp.method.name", "tools/call");
    span.record("mcp.protocol.version", session.info.revision.as_str());
    span.record("jsonrpc.request.id", id.to_string());
    match &link.target {
        Target::Process(_) | Target::Streams(_) => {
            span.record("network.transport", "pipe");
        }
        #[cfg(feature = "client")]
        Target::Http { target, .. } => {
            span.record("network.transport", "tcp");
            if let Ok(url) = reqwest::Url::parse(&target.url) {
                span.record("server.address", url.host_str());
                span.record("server.port", url.port_or_known_default().map(i64::from));
            }
        }
    }
}

/// Records the code of an error response.
pub(super) fn record_error(result: &Result<ServerResult, RequestError>) {
    if let Err(RequestError::Service(ServiceError::McpError(error))) = result {
        Span::current().record("rpc.response.status_code", error.code.0.to_string());
    }
}
