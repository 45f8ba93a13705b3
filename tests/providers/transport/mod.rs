//! Clients of all providers over real connections, with and without faults of servers, connections
//! and proxies. Tests of single providers are in the tests of that provider.

mod call_limit;
mod checks;
mod credentials;
mod faults;
mod limits;
mod polls;

use std::sync::Arc;

use support::server::{Reply, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tool_runtime::http::ReqwestTransport;
use tool_runtime::{ChatReply, ChatRequest, Delta, Message, ModelError};

use crate::provider::{KEY, PROVIDERS, Provider, Setup, Shared};

impl Provider {
    /// Returns the result for this reply. Checks that an error contains no secret.
    async fn result_of(&self, is_streamed: bool, reply: Reply) -> Result<ChatReply, ModelError> {
        let server = Server::start([reply]).await;
        self.send(is_streamed, Setup::new(&server.base_url())).await
    }

    async fn send(&self, is_streamed: bool, setup: Setup<'_>) -> Result<ChatReply, ModelError> {
        let messages = [Message::user("Hello")];
        self.send_request(is_streamed, setup, ChatRequest::new(&messages)).await
    }

    async fn send_request(
        &self,
        is_streamed: bool,
        setup: Setup<'_>,
        request: ChatRequest<'_>,
    ) -> Result<ChatReply, ModelError> {
        let model = (self.model)(setup);
        let answer = if is_streamed {
            model.stream(request, &mut |_: Delta<'_>| {}).await
        } else {
            model.reply(request).await
        };
        if let Err(error) = &answer {
            assert!(!format!("{error} {error:?}").contains(KEY), "{}: {error:?}", self.name);
        }
        answer
    }
}

/// Returns each provider twice: for a whole reply and for a stream.
fn exchange_kinds() -> impl Iterator<Item = (&'static Provider, bool)> {
    const { &PROVIDERS }.iter().flat_map(|provider| [(provider, false), (provider, true)])
}

#[tokio::test]
async fn replies_arrive_and_headers_are_sent() {
    for (provider, is_streamed) in exchange_kinds() {
        let (header, body) = provider.good(is_streamed);
        let server = Server::start([Reply::with_header(200, header, &body)]).await;
        let reply = provider.send(is_streamed, Setup::new(&server.base_url())).await;
        let expected: ChatReply = serde_json::from_str(&provider.file("expected.json")).unwrap();
        assert_eq!(reply.unwrap(), expected, "{}", provider.name);
        let [request] = server.requests().try_into().unwrap();
        assert_eq!(request.header("x-team"), Some("blue"), "{}", provider.name);
        assert_eq!(request.header("content-type"), Some("application/json"));
        let has_key = request.headers.iter().any(|(_, value)| value.contains(KEY));
        assert!(has_key, "{}: {request:?}", provider.name);
        assert!(!request.line.contains(KEY));
    }
}

/// A custom reqwest client keeps its settings.
#[tokio::test]
async fn custom_proxy_is_used() {
    for (provider, is_streamed) in exchange_kinds() {
        let (header, body) = provider.good(is_streamed);
        let server = Server::start([Reply::with_header(200, header, &body)]).await;
        let address = server.base_url();
        let proxy = reqwest::Proxy::http(address.trim_end_matches("/v1")).unwrap();
        let client = reqwest::Client::builder().proxy(proxy).tls_certs_only([]);
        let setup = Setup {
            transport: Some(Shared(Arc::new(ReqwestTransport::from_builder(client)))),
            ..Setup::new("http://models.invalid/v1")
        };
        provider.send(is_streamed, setup).await.unwrap();
        let [request] = server.requests().try_into().unwrap();
        let start = "POST http://models.invalid/v1/";
        assert!(request.line.starts_with(start), "{}: {}", provider.name, request.line);
        assert_eq!(request.header("x-team"), Some("blue"));
    }
}

/// The connection is closed, and no task keeps running.
#[tokio::test]
async fn dropped_stream_closes_connection_and_tasks() {
    for provider in &PROVIDERS {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let (header, body) = provider.good(true);
        let server = tokio::spawn(async move {
            let (mut line, _) = listener.accept().await.unwrap();
            let started = body.trim_end().len() - 1;
            let reply = format!("HTTP/1.1 200 -\r\n{header}\r\n\r\n{}", &body[..started]);
            let mut bytes = [0; 1_024];
            assert!(line.read(&mut bytes).await.unwrap() > 0);
            line.write_all(reply.as_bytes()).await.unwrap();
            // Until the client closes the connection.
            while line.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
        });
        let model = (provider.model)(Setup::new(&base));
        let emitted = Notify::new();
        let messages = [Message::user("Hello")];
        let mut deltas = |_: Delta<'_>| emitted.notify_one();
        tokio::select! {
            reply = model.stream(ChatRequest::new(&messages), &mut deltas) => {
                panic!("{}: {reply:?}", provider.name)
            }
            () = emitted.notified() => {}
        }
        server.await.unwrap();
        drop(model);
        let metrics = Handle::current().metrics();
        while metrics.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
