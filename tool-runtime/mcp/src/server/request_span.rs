//! The spans of requests, with the names of OpenTelemetry's conventions for MCP.
//!
//! A span is created before its request is handled, so that it becomes a child of the span of the
//! client, if the program connects both. The dispatcher creates the span of the tool in it.

use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};

use super::Shared;

type Context = RequestContext<RoleServer>;

/// The span of a request.
pub(super) struct RequestSpan {
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

#[cfg(not(feature = "tracing"))]
impl RequestSpan {
    pub(super) fn call_tool(_: &Shared, _: &Context, _: &str) -> Self {
        Self {}
    }

    pub(super) fn get_prompt(_: &Shared, _: &Context, _: &str) -> Self {
        Self {}
    }

    pub(super) fn read_resource(_: &Shared, _: &Context, _: &str) -> Self {
        Self {}
    }

    /// Runs the handler of the request. `is_error` finds failures in a result.
    pub(super) fn run<T, F: Future<Output = Result<T, ErrorData>>>(
        self,
        handler: F,
        _: fn(&T) -> bool,
    ) -> F {
        handler
    }
}

#[cfg(feature = "tracing")]
mod enabled {
    use std::ops::RangeInclusive;

    use tracing::field::Empty;
    use tracing::instrument::Instrument as _;

    use super::{Context, ErrorData, RequestSpan, Shared};
    use crate::server::access::address;

    /// The code of a failure of the server, in JSON-RPC.
    const INTERNAL_ERROR: i32 = -32_603;

    /// The codes of failures that a server defines itself.
    const SERVER_ERRORS: RangeInclusive<i32> = -32_099..=-32_000;

    /// The number of characters of a name or an address that a span keeps: a client may send any.
    const MAX_CHARS: usize = 256;

    /// The tool, prompt or resource of a request.
    #[derive(Default)]
    struct Target<'a> {
        tool: Option<&'a str>,
        prompt: Option<&'a str>,
        resource: Option<&'a str>,
    }

    impl<'t> Target<'t> {
        fn shortened(&self) -> Self {
            let short = |text: &'t str| {
                let end = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(end, _)| end);
                text.get(..end).unwrap_or_default()
            };
            let Self { tool, prompt, resource } = *self;
            Self { tool: tool.map(short), prompt: prompt.map(short), resource: resource.map(short) }
        }
    }

    impl RequestSpan {
        /// Creates the span of `tools/call`.
        pub(in crate::server) fn call_tool(shared: &Shared, cx: &Context, tool: &str) -> Self {
            let target = Target { tool: Some(tool), ..Target::default() };
            Self::new(shared, cx, "tools/call", &target)
        }

        /// Creates the span of `prompts/get`.
        pub(in crate::server) fn get_prompt(shared: &Shared, cx: &Context, prompt: &str) -> Self {
            let target = Target { prompt: Some(prompt), ..Target::default() };
            Self::new(shared, cx, "prompts/get", &target)
        }

        /// Creates the span of `resources/read`, whose name does not contain the address.
        pub(in crate::server) fn read_resource(shared: &Shared, cx: &Context, uri: &str) -> Self {
            let target = Target { resource: Some(uri), ..Target::default() };
            Self::new(shared, cx, "resources/read", &target)
        }

        fn new(shared: &Shared, cx: &Context, method: &str, target: &Target<'_>) -> Self {
            let target = &target.shortened();
            let client = address(&cx.extensions);
            let span = tracing::info_span!(
                target: "tool_runtime",
                "mcp_request",
                "otel.name" = match target.tool.or(target.prompt) {
                    Some(name) => format!("{method} {name}"),
                    None => method.to_owned(),
                },
                "otel.kind" = "server",
                "otel.status_code" = Empty,
                "mcp.method.name" = method,
                "mcp.protocol.version" = cx.protocol_version().map(|version| version.to_string()),
                "mcp.resource.uri" = target.resource,
                "jsonrpc.request.id" = cx.id.to_string(),
                "gen_ai.operation.name" = target.tool.map(|_| "execute_tool"),
                "gen_ai.tool.name" = target.tool,
                "gen_ai.prompt.name" = target.prompt,
                "network.transport" = if client.is_some() { "tcp" } else { "pipe" },
                "client.address" = client.map(|address| address.to_string()),
                "rpc.response.status_code" = Empty,
                "error.type" = Empty,
            );
            if let Some(continue_trace) = &shared.trace_parent
                && !span.is_disabled()
            {
                continue_trace(&span, &cx.meta.0.0);
            }
            Self { span }
        }

        /// Runs the handler of the request. `is_error` finds failures in a result.
        pub(in crate::server) async fn run<T>(
            self,
            handler: impl Future<Output = Result<T, ErrorData>>,
            is_error: fn(&T) -> bool,
        ) -> Result<T, ErrorData> {
            let result = handler.instrument(self.span.clone()).await;
            match &result {
                Ok(result) if is_error(result) => {
                    self.span.record("error.type", "tool_error");
                    self.span.record("otel.status_code", "ERROR");
                }
                Ok(_) => {}
                Err(error) => {
                    let code = error.code.0;
                    self.span.record("rpc.response.status_code", code.to_string());
                    self.span.record("error.type", code.to_string());
                    // Of a server, these codes are failures; others are mistakes of the client.
                    if code == INTERNAL_ERROR || SERVER_ERRORS.contains(&code) {
                        self.span.record("otel.status_code", "ERROR");
                    }
                }
            }
            result
        }
    }
}
