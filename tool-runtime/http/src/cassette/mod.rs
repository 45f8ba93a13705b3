//! Recording of exchanges with a real server, and their replay in tests.

mod redaction;
mod spelling;
mod split_secrets;
mod tape;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use self::redaction::Redaction;
use self::tape::{RecordedExchange, RecordedRequest, RecordedResponse, Tape};
use crate::{BodyStream, HttpBody, HttpRequest, HttpResponse, Transport, TransportError};

/// Transport that records the responses of a server to a file, or replays them without a network.
///
/// A recording contains no header of a request, and no password or key of the URL. Where their
/// values occur in a body, they are replaced: as they are, with escapes of JSON or URLs, or within
/// base64, even if a stream splits them over several messages.
/// Ids of sessions in the headers of a response, such as `mcp-session-id`, are replaced likewise.
/// Name other secrets with [`redact`](Self::redact). The recorded response headers are the content
/// type, the date, the location, the request id, the retry delay and whether to retry.
///
/// In replay, the response to a request is the first recording that was not replayed yet and has
/// the same method, URL and body. If the body is JSON, the order of members does not matter. If the
/// method is POST, the query of the URL is not compared. A request without a recording fails with
/// [`TransportError::Unrecorded`], which names the first difference. Clones share one recording.
///
/// A body is recorded as far as it was read. If the connection broke, the reader stopped, or the
/// rest is not UTF-8 (which could hide a key), the replayed connection breaks at the same place.
///
/// ```
/// use tool_http::{Cassette, HttpRequest, Transport};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("cassette-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let file = folder.join("hello.json");
/// # std::fs::write(&file, r#"[{"method": "GET", "url": "https://pages.invalid/",
/// #   "request": "", "status": 200, "headers": {}, "reply": "Hi!"}]"#)?;
/// // Recorded once by `Cassette::record(&file, ReqwestTransport::new())`.
/// let cassette = Cassette::replay(&file)?;
/// let request = HttpRequest::get("https://pages.invalid/");
///
/// let response = cassette.send(&request).await?;
/// assert_eq!(response.body.read_to_end(100).await?, b"Hi!");
/// assert_eq!(cassette.unplayed_count(), 0);
///
/// let error = cassette.send(&request).await.err().unwrap();
/// assert!(error.to_string().contains("all 1 exchanges were replayed"), "{error}");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cassette {
    path: PathBuf,
    tape: Arc<Mutex<Tape>>,
    redaction: Redaction,
    /// Transport that sends the requests; `None` in replay.
    source: Option<Arc<dyn Transport>>,
}

impl Cassette {
    /// Creates a cassette that sends requests by `source` and records each exchange when it ends.
    /// The first recording replaces the previous content of the file. A link in its place is
    /// replaced, but its folder may be a link: choose one that no model can change.
    ///
    /// ```no_run
    /// use tool_http::{Cassette, HttpRequest, ReqwestTransport, Transport};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let cassette = Cassette::record("tests/hello.json", ReqwestTransport::new());
    /// let response = cassette.send(&HttpRequest::get("https://pages.invalid/")).await?;
    /// // The reply is in the file when its body has been read.
    /// response.body.read_to_end(1 << 20).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn record(path: impl Into<PathBuf>, source: impl Transport + 'static) -> Self {
        Self {
            path: path.into(),
            tape: Arc::default(),
            redaction: Redaction::default(),
            source: Some(Arc::new(source)),
        }
    }

    /// Creates a cassette that replays the exchanges of a file.
    ///
    /// # Errors
    /// [`TransportError::Setup`] if the file cannot be read or is not a recording.
    ///
    /// ```
    /// use tool_http::Cassette;
    ///
    /// # let file = std::env::temp_dir().join(format!("replay-{}.json", std::process::id()));
    /// # std::fs::write(&file, "[]")?;
    /// let cassette = Cassette::replay(&file)?;
    /// assert_eq!(cassette.unplayed_count(), 0);
    ///
    /// assert!(Cassette::replay("missing.json").is_err());
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replay(path: impl Into<PathBuf>) -> Result<Self, TransportError> {
        let path = path.into();
        let tape = Tape::read(&path).map_err(|reason| setup_error(&path, &reason))?;
        let tape = Arc::new(Mutex::new(tape));
        Ok(Self { path, tape, redaction: Redaction::default(), source: None })
    }

    /// Replaces a text wherever it occurs in recordings. Replay needs the same setting.
    #[must_use]
    pub fn redact(mut self, secret: impl Into<String>) -> Self {
        self.redaction.add(secret);
        self
    }

    /// Returns the number of recordings that were not replayed yet.
    pub fn unplayed_count(&self) -> usize {
        self.tape().unplayed().count()
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn record_exchange(
        &self,
        source: &dyn Transport,
        request: &HttpRequest,
    ) -> Result<HttpResponse, TransportError> {
        if let Some(reason) = self.tape().write_error.take() {
            return Err(setup_error(&self.path, &reason));
        }
        let redaction = self.redaction.with_request(request);
        let recorded = RecordedRequest::new(request, &redaction);
        let response = source.send(request).await?;
        let redaction = redaction.with_response(&response.headers);
        let answer = RecordedResponse::new(response.status, &response.headers, &redaction);
        let recording = Recording {
            source: response.body,
            bytes: Vec::new(),
            exchange: Some(RecordedExchange { request: recorded, response: answer }),
            redaction,
            cassette: self.clone(),
        };
        let mut passed = HttpResponse::new(response.status, HttpBody::new(recording));
        passed.headers = response.headers;
        Ok(passed)
    }

    fn play(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        let request = RecordedRequest::new(request, &self.redaction.with_request(request));
        let played = self.tape().play(&request);
        let played =
            played.map_err(|reason| TransportError::Unrecorded(named(&self.path, &reason)))?;
        // In chunks, as streams arrive.
        let lines = played.reply.split_inclusive('\n').map(|line| line.as_bytes().to_vec());
        let mut chunks: Vec<_> = lines.collect();
        chunks.extend(played.reply.is_empty().then(Vec::new));
        let body = match played.connection_error {
            Some(error) => {
                HttpBody::new(BrokenBody { chunks: chunks.into_iter(), error: Some(error) })
            }
            None => HttpBody::from(chunks),
        };
        let mut response = HttpResponse::new(played.status, body);
        response.headers = played.headers.into_iter().collect();
        Ok(response)
    }
}

#[async_trait]
impl Transport for Cassette {
    async fn send(&self, request: &HttpRequest) -> Result<HttpResponse, TransportError> {
        match &self.source {
            Some(source) => self.record_exchange(&**source, request).await,
            None => self.play(request),
        }
    }
}

impl std::fmt::Debug for Cassette {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cassette")
            .field("path", &self.path)
            .field("records", &self.source.is_some())
            .finish_non_exhaustive()
    }
}

fn setup_error(path: &Path, reason: &str) -> TransportError {
    TransportError::Setup(named(path, reason))
}

fn named(path: &Path, problem: &str) -> String {
    format!("cassette {}: {problem}", path.display())
}

/// Body that is recorded while it passes through. The recording is written when the body ends,
/// breaks or is dropped.
struct Recording {
    source: HttpBody,
    bytes: Vec<u8>,
    exchange: Option<RecordedExchange>,
    redaction: Redaction,
    cassette: Cassette,
}

impl Recording {
    fn write(&mut self, error: Option<&str>) -> Result<(), String> {
        let Some(mut exchange) = self.exchange.take() else { return Ok(()) };
        let bytes = std::mem::take(&mut self.bytes);
        let (text, rest) = match bytes.utf8_chunks().next() {
            Some(chunk) => (chunk.valid(), bytes.len() - chunk.valid().len()),
            None => ("", 0),
        };
        let error = error.or_else(|| (rest > 0).then_some("the rest is not UTF-8"));
        exchange.response.reply = self.redaction.apply_to_reply(text, error.is_some());
        exchange.response.connection_error = error.map(|error| self.redaction.apply(error));
        let mut tape = self.cassette.tape();
        tape.add(exchange);
        tape.write(&self.cassette.path)
    }
}

#[async_trait]
impl BodyStream for Recording {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        let next = self.source.next().await;
        let written = match &next {
            Ok(Some(chunk)) => {
                self.bytes.extend_from_slice(chunk);
                Ok(())
            }
            Ok(None) => self.write(None),
            Err(error) => self.write(Some(&error.to_string())),
        };
        written.map_err(|reason| setup_error(&self.cassette.path, &reason))?;
        next
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Err(reason) = self.write(Some("the reader left")) {
            // `drop` cannot return the error, so the next request reports it.
            self.cassette.tape().write_error = Some(reason);
        }
    }
}

/// Body that broke when it was recorded.
struct BrokenBody {
    chunks: std::vec::IntoIter<Vec<u8>>,
    error: Option<String>,
}

#[async_trait]
impl BodyStream for BrokenBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.chunks.next() {
            Some(chunk) => Ok(Some(chunk)),
            None => self
                .error
                .take()
                .map_or(Ok(None), |error| Err(TransportError::Connection(error.into()))),
        }
    }
}
