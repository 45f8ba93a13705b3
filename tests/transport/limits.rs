//! What takes too long is left, and the error names the limit that was reached.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tool_runtime::providers::{
    HttpBody, HttpReply, HttpRequest, Pieces, Transport, TransportError, Web,
};
use tool_runtime::{ChatReply, ModelError, async_trait};

use crate::server::{Reply, Server};
use crate::{Setup, Shared, both};

const SHORT: Duration = Duration::from_millis(50);

fn assert_late(answer: Result<ChatReply, ModelError>, expected: Duration, of: &str) {
    let error = answer.unwrap_err();
    let ModelError::Timeout { limit, .. } = &error else { panic!("{of}: {error:?}") };
    assert_eq!(*limit, expected, "{of}");
    assert!(error.to_string().contains(&format!("{expected:?}")), "{of}: {error}");
}

#[tokio::test]
async fn a_silent_server_is_left() {
    for (provider, is_streamed) in both() {
        // Says nothing, or goes on for ever without saying anything.
        for reply in [Reply::Never, Reply::Slow("\n")] {
            let server = Server::start([reply]).await;
            let base = server.base_url();
            let setup = Setup { timeout: SHORT, ..Setup::new(&base) };
            assert_late(provider.asks(is_streamed, setup).await, SHORT, provider.name);
        }
        let server = Server::start([Reply::Never]).await;
        let base = server.base_url();
        let setup = Setup { first_byte: Some(SHORT), ..Setup::new(&base) };
        assert_late(provider.asks(is_streamed, setup).await, SHORT, provider.name);
    }
}

/// A connection is there when TLS is agreed on: nobody does here.
#[tokio::test]
async fn a_connection_that_never_stands_is_left() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    for (provider, is_streamed) in both() {
        let setup = Setup { connect: Some(SHORT), ..Setup::new(&base) };
        assert_late(provider.asks(is_streamed, setup).await, SHORT, provider.name);
    }
}

/// Answers and goes on when it likes to, by the tests' clock.
#[derive(Clone)]
struct Lazy {
    head: Duration,
    body: Duration,
    text: String,
}

#[async_trait]
impl Transport for Lazy {
    async fn send(&self, _: &HttpRequest) -> Result<HttpReply, TransportError> {
        sleep(self.head).await;
        Ok(HttpReply::new(200, HttpBody::new(self.clone())))
    }
}

#[async_trait]
impl Pieces for Lazy {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        sleep(self.body).await;
        let text = std::mem::take(&mut self.text);
        Ok((!text.is_empty()).then(|| text.into_bytes()))
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_byte_has_a_limit_of_its_own() {
    let seconds = Duration::from_secs;
    for (provider, is_streamed) in both() {
        for (head, body, reached) in
            [(1, 0, None), (0, 1, None), (3, 0, Some(2)), (1, 2, Some(2)), (0, 40, Some(2))]
        {
            let (_, text) = provider.good(is_streamed);
            let lazy = Lazy { head: seconds(head), body: seconds(body), text };
            let setup = Setup {
                first_byte: Some(seconds(2)),
                transport: Some(Shared(Arc::new(lazy))),
                ..Setup::new("http://models.invalid/v1")
            };
            let answer = provider.asks(is_streamed, setup).await;
            match reached {
                Some(limit) => assert_late(answer, seconds(limit), provider.name),
                None => assert!(answer.is_ok(), "{}: {answer:?}", provider.name),
            }
        }
    }
}

/// Has a limit for connections, and says so.
struct Unconnected;

#[async_trait]
impl Transport for Unconnected {
    async fn send(&self, _: &HttpRequest) -> Result<HttpReply, TransportError> {
        Err(TransportError::Late { limit: SHORT })
    }
}

#[tokio::test]
async fn a_limit_of_the_transports_own_is_named() {
    for (provider, is_streamed) in both() {
        let setup = Setup {
            transport: Some(Shared(Arc::new(Unconnected))),
            ..Setup::new("http://models.invalid/v1")
        };
        assert_late(provider.asks(is_streamed, setup).await, SHORT, provider.name);
    }
}

/// A client that the program made keeps its limits to itself: what is named is how long was waited.
#[tokio::test]
async fn a_limit_of_the_programs_client_is_one() {
    for (provider, is_streamed) in both() {
        for reply in [Reply::Never, Reply::Slow("\n")] {
            let server = Server::start([reply]).await;
            let base = server.base_url();
            let client = reqwest::Client::builder().timeout(SHORT).tls_certs_only([]).no_proxy();
            let setup =
                Setup { transport: Some(Shared(Arc::new(Web::with(client)))), ..Setup::new(&base) };
            let error = provider.asks(is_streamed, setup).await.unwrap_err();
            let ModelError::Timeout { limit, .. } = &error else { panic!("{error:?}") };
            assert!(*limit >= SHORT, "{}: {error}", provider.name);
            assert!(*limit < Duration::from_secs(60), "{}: {error}", provider.name);
        }
    }
}
