//! Log messages of the SDK with the defaults of this crate.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use tool_mcp::{McpClient, McpServer};
use tool_runtime::{Registry, tool, tools};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// Returns a text.
#[tool(effect = "none")]
async fn echo(text: String) -> String {
    text
}

/// Records warnings and errors.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Text(String);

        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                write!(self.0, " {field}={value:?}").unwrap();
            }
        }

        let mut text = Text(event.metadata().target().to_owned());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn server_and_client_with_defaults_start_without_warnings() {
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    tracing::warn!("recorded");
    assert_eq!(warnings.0.lock().unwrap().drain(..).count(), 1);

    let servers = [
        McpServer::new(tools![echo]),
        McpServer::new(tools![echo]).allowed_hosts(["127.0.0.1"]).allowed_origins([
            "https://example.org",
            "http://example.org:8080",
            "http://[::1]",
        ]),
    ];
    for server in servers {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = tokio::spawn(server.serve_http(listener));
        let registry = Registry::new();
        let over_http = McpClient::http(&url).connect("http", &registry).await.unwrap();
        let streams = McpClient::streams(|| async {
            let (near, far) = tokio::io::duplex(64 << 10);
            let (reader, writer) = tokio::io::split(far);
            tokio::spawn(McpServer::new(tools![echo]).serve(reader, writer));
            Ok(tokio::io::split(near))
        });
        let on_a_stream = streams.connect("stream", &registry).await.unwrap();
        assert_eq!(registry.snapshot().entries().count(), 2);
        {
            let warnings = warnings.0.lock().unwrap();
            assert!(warnings.is_empty(), "{warnings:#?}");
        }
        over_http.disconnect().await;
        on_a_stream.disconnect().await;
        serving.abort();
        // The end of a connection is another matter.
        warnings.0.lock().unwrap().clear();
    }
}
