//! Errors of transports in tools: which of them are transient, and which headers they name.

use std::error::Error;
use std::fmt;
use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::time::timeout;
use tool_runtime::agent::session::SessionError;
use tool_runtime::http::{HttpRequest, ReqwestTransport, Transport, TransportError};
use tool_runtime::models::{ApiError, ApiErrorKind};
use tool_runtime::records::StoreError;
use tool_runtime::{Dispatcher, ModelError, Registry, ToolError, ToolErrorKind, tool, tools};

/// Sends a request to a port on which nothing listens.
#[tool(effect = "read")]
async fn fetch() -> Result<u16, ToolError> {
    let request = HttpRequest::get("http://127.0.0.1:1/");
    Ok(ReqwestTransport::new().send(&request).await?.status)
}

#[tokio::test]
async fn refused_connection_is_transient_in_a_tool() {
    let dispatcher = Dispatcher::new(Registry::try_from(tools![fetch]).unwrap());
    let execution = dispatcher.call("fetch", "{}").await;
    assert!(execution.failed_with("TOOL_TRANSIENT_FAILURE"), "{execution:?}");
}

/// An error of the program with another as its source.
#[derive(Debug)]
struct Wrapped(Box<dyn Error + Send + Sync>);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no page")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.0.as_ref())
    }
}

#[tokio::test(start_paused = true)]
async fn kind_of_an_error_follows_its_sources() {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, NotFound, PermissionDenied, TimedOut};
    let limit = Duration::from_secs(1);
    let refused = || io::Error::from(ConnectionRefused);
    let unreachable =
        || ModelError::Unreachable { url: "http://a".into(), source: Box::new(refused()) };
    let api = |kind| ModelError::from(Box::new(ApiError::new(kind, "http://a", 400, "")));
    let elapsed = async || timeout(limit, pending::<()>()).await.unwrap_err();
    let cases: Vec<(Box<dyn Error + Send + Sync>, bool)> = vec![
        (Box::new(TransportError::Connection("gone".into())), true),
        (Box::new(TransportError::Timeout { limit }), true),
        (Box::new(TransportError::Setup("no certificates".into())), false),
        (Box::new(TransportError::BodyTooLong { max_bytes: 7 }), false),
        (Box::new(refused()), true),
        (Box::new(io::Error::from(ConnectionReset)), true),
        (Box::new(io::Error::from(TimedOut)), true),
        (Box::new(io::Error::from(NotFound)), false),
        (Box::new(io::Error::from(PermissionDenied)), false),
        (Box::new(unreachable()), true),
        (Box::new(ModelError::Setup("no key".into())), false),
        (Box::new(ModelError::Timeout { url: "http://a".into(), limit }), true),
        (Box::new(api(ApiErrorKind::RateLimited)), true),
        (Box::new(api(ApiErrorKind::Overloaded)), true),
        (Box::new(api(ApiErrorKind::Auth)), false),
        (Box::new(ModelError::unavailable("loading")), true),
        // The outermost error that knows decides.
        (Box::new(ModelError::failed(refused())), false),
        (Box::new(StoreError::unavailable("the disk is full")), true),
        (Box::new(StoreError::NotFound("ada".into())), false),
        (Box::new(SessionError::unavailable("locked")), true),
        (Box::new(SessionError::Busy { session: "ada".into(), owner: "process 1".into() }), true),
        (Box::new(SessionError::NotFound { session: "ada".into() }), false),
        (Box::new(elapsed().await), true),
        (Box::new(io::Error::other(TransportError::Timeout { limit })), true),
        (Box::new(io::Error::other(io::Error::from(TimedOut))), true),
        (Box::new(io::Error::other(TransportError::Setup("no certificates".into()))), false),
        ("a text".into(), false),
    ];
    for (error, is_transient) in cases {
        let text = error.to_string();
        let expected = if is_transient {
            ToolErrorKind::TransientFailure
        } else {
            ToolErrorKind::ExecutionFailed
        };
        let wrapped = Wrapped(Box::new(Wrapped(error)));
        assert_eq!(ToolError::from(wrapped).kind(), expected, "{text}");
    }
    assert_eq!(ToolError::from(refused()).kind(), ToolErrorKind::TransientFailure);
    assert_eq!(ToolError::from("a text").kind(), ToolErrorKind::ExecutionFailed);
}

#[tokio::test]
async fn setup_error_mentions_headers_only_if_one_is_invalid() {
    let get = |url: &str| HttpRequest::get(url);
    let key = "k3y-0f-th3-h0us3\nx";
    for (request, expected) in [
        (get("http://a.invalid/").header("x-key", key), "invalid header `x-key`"),
        (get("http://a.invalid/").header("x key", "1"), "invalid name of a header"),
        (get("http://"), "invalid request: "),
        (get("no url"), "invalid request: "),
    ] {
        let error = ReqwestTransport::new().send(&request).await.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, TransportError::Setup(_)), "{text}");
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.contains("header"), expected.contains("header"), "{text}");
        assert!(!text.contains("k3y"), "{text}");
    }
}
