//! Exchanges with a real provider, kept in a file and played again in tests.

mod scrub;
mod tape;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use self::scrub::Scrub;
use self::tape::{Asked, Exchange, Heard, Tape};
use super::transport::{HttpBody, HttpReply, HttpRequest, Pieces, Transport, TransportError};

/// Records what a provider answers, or plays it again without a network.
///
/// A recording holds no header of a request, and neither those nor a password or a key in the address
/// where they stand in a body: so no key gets into a file. What else has to stay out is named by [`scrub`](Self::scrub). Of a reply's headers, those
/// are kept that tell its kind, its id and when to come again.
///
/// A request is answered by the first recording that was not played yet and asked the same of the same
/// address; the order of members doesn't matter. One that nobody recorded is an error of its own,
/// [`ModelError::Unrecorded`](crate::ModelError::Unrecorded), which says what differs. Clones share one tape.
///
/// A body is kept as far as it was read. Where the connection broke, the reader left or the rest is no
/// text, which could hide a key, the connection breaks when it is played.
///
/// ```
/// use tool_runtime::providers::{Cassette, OpenAi};
/// use tool_runtime::{ChatModel, ChatReply, ChatRequest, Message};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("cassette-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let file = folder.join("hello.json");
/// # std::fs::write(&file, r#"[{"url": "https://models.invalid/v1/chat/completions",
/// #   "request": {"model": "m", "messages": [{"role": "user", "content": "Hello"}]},
/// #   "status": 200, "headers": {},
/// #   "reply": "{\"choices\": [{\"message\": {\"content\": \"Hi!\"}}]}"}]"#)?;
/// // Recorded once by `Cassette::record(&file, Web::new())`.
/// let cassette = Cassette::replay(&file)?;
/// let model = OpenAi::new("https://models.invalid/v1", "m").transport(cassette.clone());
///
/// let said = model.reply(ChatRequest::new(&[Message::user("Hello")])).await?;
/// assert_eq!(said, ChatReply::text("Hi!"));
/// assert_eq!(cassette.unplayed(), 0);
///
/// let miss = model.reply(ChatRequest::new(&[Message::user("Good-bye")])).await.unwrap_err();
/// assert!(miss.to_string().contains("all 1 exchanges on it were played"), "{miss}");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cassette {
    path: PathBuf,
    tape: Arc<Mutex<Tape>>,
    scrub: Scrub,
    /// Who is asked when this records.
    source: Option<Arc<dyn Transport>>,
}

impl Cassette {
    /// Sends requests by `source`, and writes each exchange to this file when it is over. What the file
    /// held before is replaced at the first.
    pub fn record(path: impl Into<PathBuf>, source: impl Transport + 'static) -> Self {
        Self {
            path: path.into(),
            tape: Arc::default(),
            scrub: Scrub::default(),
            source: Some(Arc::new(source)),
        }
    }

    /// Plays the exchanges in this file.
    ///
    /// # Errors
    /// [`TransportError::Setup`]: there is no such file, or it holds something else.
    pub fn replay(path: impl Into<PathBuf>) -> Result<Self, TransportError> {
        let path = path.into();
        let tape = Tape::read(&path).map_err(|why| unusable(&path, &why))?;
        let tape = Arc::new(Mutex::new(tape));
        Ok(Self { path, tape, scrub: Scrub::default(), source: None })
    }

    /// Keeps this text out of recordings, wherever it stands. To play one, say the same.
    #[must_use]
    pub fn scrub(mut self, secret: impl Into<String>) -> Self {
        self.scrub.hide(secret);
        self
    }

    /// How many recordings nobody has asked for yet.
    pub fn unplayed(&self) -> usize {
        self.tape().unplayed().count()
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn sent(
        &self,
        source: &dyn Transport,
        request: &HttpRequest,
    ) -> Result<HttpReply, TransportError> {
        if let Some(why) = self.tape().unwritten.take() {
            return Err(unusable(&self.path, &why));
        }
        let scrub = self.scrub.with_request(request);
        let asked = Asked::new(request, &scrub);
        let reply = source.send(request).await?;
        let heard = Heard::new(reply.status, &reply.headers, &scrub);
        let recording = Recording {
            from: reply.body,
            bytes: Vec::new(),
            exchange: Some(Exchange { asked, heard }),
            scrub,
            cassette: self.clone(),
        };
        let mut passed = HttpReply::new(reply.status, HttpBody::new(recording));
        passed.headers = reply.headers;
        Ok(passed)
    }

    fn played(&self, request: &HttpRequest) -> Result<HttpReply, TransportError> {
        let asked = Asked::new(request, &self.scrub.with_request(request));
        let heard = self.tape().play(&asked);
        let heard = heard.map_err(|miss| TransportError::Unrecorded(told(&self.path, &miss)))?;
        // In pieces, as streams come.
        let lines = heard.reply.split_inclusive('\n').map(|line| line.as_bytes().to_vec());
        let mut pieces: Vec<_> = lines.collect();
        pieces.extend(heard.reply.is_empty().then(Vec::new));
        let body = match heard.broke {
            Some(why) => HttpBody::new(Breaking { pieces: pieces.into_iter(), why: Some(why) }),
            None => HttpBody::from(pieces),
        };
        let mut reply = HttpReply::new(heard.status, body);
        reply.headers = heard.headers.into_iter().collect();
        Ok(reply)
    }
}

#[async_trait]
impl Transport for Cassette {
    async fn send(&self, request: &HttpRequest) -> Result<HttpReply, TransportError> {
        match &self.source {
            Some(source) => self.sent(&**source, request).await,
            None => self.played(request),
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

fn unusable(path: &Path, why: &str) -> TransportError {
    TransportError::Setup(told(path, why))
}

fn told(path: &Path, what: &str) -> String {
    format!("the cassette {}: {what}", path.display())
}

/// A body on its way through. It is written when it ends, breaks, or nobody wants more of it.
struct Recording {
    from: HttpBody,
    bytes: Vec<u8>,
    exchange: Option<Exchange>,
    scrub: Scrub,
    cassette: Cassette,
}

impl Recording {
    fn write(&mut self, broke: Option<&str>) -> Result<(), String> {
        let Some(mut exchange) = self.exchange.take() else { return Ok(()) };
        let bytes = std::mem::take(&mut self.bytes);
        let (text, rest) = match bytes.utf8_chunks().next() {
            Some(chunk) => (chunk.valid(), bytes.len() - chunk.valid().len()),
            None => ("", 0),
        };
        let broke = broke.or_else(|| (rest > 0).then_some("what came then is not UTF-8"));
        exchange.heard.reply = match broke {
            Some(_) => self.scrub.clean_start(text),
            None => self.scrub.clean(text),
        };
        exchange.heard.broke = broke.map(|why| self.scrub.clean(why));
        let mut tape = self.cassette.tape();
        tape.add(exchange);
        tape.write(&self.cassette.path)
    }
}

#[async_trait]
impl Pieces for Recording {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        let next = self.from.next().await;
        let written = match &next {
            Ok(Some(piece)) => {
                self.bytes.extend_from_slice(piece);
                Ok(())
            }
            Ok(None) => self.write(None),
            Err(error) => self.write(Some(&error.to_string())),
        };
        written.map_err(|why| unusable(&self.cassette.path, &why))?;
        next
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Err(why) = self.write(Some("the reader left")) {
            // Told by the next request, for here nobody listens.
            self.cassette.tape().unwritten = Some(why);
        }
    }
}

/// A body that broke when it was recorded.
struct Breaking {
    pieces: std::vec::IntoIter<Vec<u8>>,
    why: Option<String>,
}

#[async_trait]
impl Pieces for Breaking {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, TransportError> {
        match self.pieces.next() {
            Some(piece) => Ok(Some(piece)),
            None => self.why.take().map_or(Ok(None), |why| Err(TransportError::Broken(why.into()))),
        }
    }
}
