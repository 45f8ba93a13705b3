//! Time limits, which the error names.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use tool_runtime::http::{
    BodyStream, HttpBody, HttpRequest, HttpResponse, ReqwestTransport, Transport, TransportError,
};
use tool_runtime::{ChatReply, ModelError, async_trait};

use super::exchange_kinds;
use crate::provider::{Setup, Shared};
use support::server::{Reply, Server};

const SHORT: Duration = Duration::from_millis(50);

fn assert_timeout(answer: Result<ChatReply, ModelError>, expected: Duration, case: &str) {
    let error = answer.unwrap_err();
    let ModelError::Timeout { limit, .. } = &error else { panic!("{case}: {error:?}") };
    assert_eq!(error.code(), "MODEL_TIMEOUT");
    assert_eq!(*limit, expected, "{case}");
    assert!(error.to_string().contains(&format!("{expected:?}")), "{case}: {error}");
}

#[tokio::test]
async fn silent_server_times_out() {
    let attempts: JoinSet<_> = exchange_kinds()
        .map(|(provider, is_streamed)| async move {
            // Sends nothing, or only white space or comments for ever. Lines of JSON have no
            // comments.
            let filler = if provider.name == "ollama" { "\n" } else { ": wait\n" };
            for reply in [Reply::Never, Reply::Slow("\n"), Reply::Slow(filler)] {
                let server = Server::start([reply]).await;
                let base = server.base_url();
                let setup = Setup { timeout: SHORT, ..Setup::new(&base) };
                assert_timeout(provider.send(is_streamed, setup).await, SHORT, provider.name);
            }
            // Sends nothing, or only its head.
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n";
            for reply in [Reply::Never, Reply::Open(head.into())] {
                let server = Server::start([reply]).await;
                let base = server.base_url();
                let setup = Setup { first_byte: Some(SHORT), ..Setup::new(&base) };
                assert_timeout(provider.send(is_streamed, setup).await, SHORT, provider.name);
            }
        })
        .collect();
    attempts.join_all().await;
}

/// Establishing a connection includes the TLS handshake, which this server never answers.
#[tokio::test]
async fn unestablished_connection_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}/v1", listener.local_addr().unwrap());
    for (provider, is_streamed) in exchange_kinds() {
        let setup = Setup { connect: Some(SHORT), ..Setup::new(&base) };
        assert_timeout(provider.send(is_streamed, setup).await, SHORT, provider.name);
    }
}

/// Transport that delays its head and its body, by the paused clock.
#[derive(Clone)]
struct Delayed {
    head: Duration,
    body: Duration,
    text: String,
}

#[async_trait]
impl Transport for Delayed {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        sleep(self.head).await;
        Ok(HttpResponse::new(200, HttpBody::new(self.clone())))
    }
}

#[async_trait]
impl BodyStream for Delayed {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        sleep(self.body).await;
        let text = std::mem::take(&mut self.text);
        Ok((!text.is_empty()).then(|| text.into_bytes()))
    }
}

#[tokio::test(start_paused = true)]
async fn first_byte_has_its_own_limit() {
    let seconds = Duration::from_secs;
    for (provider, is_streamed) in exchange_kinds() {
        for (head, body, reached) in
            [(1, 0, None), (0, 1, None), (3, 0, Some(2)), (1, 2, Some(2)), (0, 40, Some(2))]
        {
            let (_, text) = provider.good(is_streamed);
            let delayed = Delayed { head: seconds(head), body: seconds(body), text };
            let setup = Setup {
                first_byte: Some(seconds(2)),
                transport: Some(Shared(Arc::new(delayed))),
                ..Setup::new("http://models.invalid/v1")
            };
            let answer = provider.send(is_streamed, setup).await;
            match reached {
                Some(limit) => assert_timeout(answer, seconds(limit), provider.name),
                None => assert!(answer.is_ok(), "{}: {answer:?}", provider.name),
            }
        }
    }
}

#[tokio::test]
async fn longest_duration_of_each_setting_is_no_limit() {
    let longest = Duration::MAX;
    for (provider, is_streamed) in exchange_kinds() {
        let (header, body) = provider.good(is_streamed);
        let server = Server::start([Reply::with_header(200, header, body)]).await;
        let base = server.base_url();
        let setup = Setup {
            timeout: longest,
            connect: Some(longest),
            first_byte: Some(longest),
            ..Setup::new(&base)
        };
        let answer = provider.send(is_streamed, setup).await;
        assert!(answer.is_ok(), "{}: {answer:?}", provider.name);
    }
}

/// Transport whose connections time out.
struct Unconnected;

#[async_trait]
impl Transport for Unconnected {
    async fn send(&self, _: &HttpRequest) -> Result<HttpResponse, TransportError> {
        Err(TransportError::Timeout { limit: SHORT })
    }
}

#[tokio::test]
async fn limit_of_the_transport_is_reported() {
    for (provider, is_streamed) in exchange_kinds() {
        let setup = Setup {
            transport: Some(Shared(Arc::new(Unconnected))),
            ..Setup::new("http://models.invalid/v1")
        };
        assert_timeout(provider.send(is_streamed, setup).await, SHORT, provider.name);
    }
}

/// The limits of a custom client are unknown, so the error reports the elapsed time.
#[tokio::test]
async fn limit_of_a_custom_client_is_a_timeout() {
    for (provider, is_streamed) in exchange_kinds() {
        for reply in [Reply::Never, Reply::Slow("\n")] {
            let server = Server::start([reply]).await;
            let base = server.base_url();
            let client = reqwest::Client::builder().timeout(SHORT).tls_certs_only([]).no_proxy();
            let setup = Setup {
                transport: Some(Shared(Arc::new(ReqwestTransport::from_builder(client)))),
                ..Setup::new(&base)
            };
            let error = provider.send(is_streamed, setup).await.unwrap_err();
            let ModelError::Timeout { limit, .. } = &error else { panic!("{error:?}") };
            assert!(*limit >= SHORT, "{}: {error}", provider.name);
            assert!(*limit < Duration::from_secs(60), "{}: {error}", provider.name);
        }
    }
}
