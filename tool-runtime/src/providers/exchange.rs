//! One request and what comes of it: a reply, read whole or as it arrives, or an error that names the
//! request and no secret.

use std::time::{Duration, SystemTime};

use tokio::time::timeout;

use super::codec::{Assemble, Codec, Framing, Unreadable, message_of};
use super::frames::{Frames, TooLong};
use super::refusal::{kind, refusal, request_id};
use super::secrets::Secrets;
use super::transport::{Headers, HttpBody, HttpReply, HttpRequest, TransportError};
use crate::models::delta::tell;
use crate::models::{ChatReply, Deltas, ModelError, Refusal, RefusalKind, WireNames};

/// How much of a body an error repeats, in characters.
const MOST_OF_BODY: usize = 2_000;

/// How long the end of a connection is waited for, when all that was wanted is there.
const LINGER: Duration = Duration::from_millis(200);

/// How long the words of a refusal are waited for: its status says enough.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many bytes of a reply are read: far more than a model ever writes.
const MOST_BYTES: usize = 32 << 20;

/// Why there is no reply.
const ENDED: &str = "it ended before the reply did";

pub(super) struct Exchange<'c, C> {
    pub(super) codec: &'c C,
    pub(super) names: WireNames,
    pub(super) sent: HttpRequest,
    /// The address, to be read.
    pub(super) url: String,
    /// Some servers quote the key that they don't know.
    pub(super) secrets: Secrets,
    /// How long all of it may take.
    pub(super) limit: Duration,
}

/// A body that is there as a whole.
pub(super) struct Whole {
    body: String,
    headers: Headers,
}

impl Whole {
    pub(super) fn read<C: Codec>(&self, of: &Exchange<'_, C>) -> Result<ChatReply, ModelError> {
        let decoded = of.codec.decode(&self.body, &of.names);
        decoded.map_err(|error| of.unreadable(error, &self.body, &self.headers))
    }
}

impl<C: Codec> Exchange<'_, C> {
    /// All of the body.
    pub(super) async fn whole(&self, reply: HttpReply) -> Result<Whole, ModelError> {
        let HttpReply { headers, mut body, .. } = reply;
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece(&mut body).await? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MOST_BYTES {
                return Err(self.too_long(&bytes, &headers));
            }
        }
        let body = self.text(bytes, &headers)?;
        Ok(Whole { body, headers })
    }

    /// The reply, told of while it arrives. Some servers know no streams, and send the whole.
    pub(super) async fn streamed(
        &self,
        reply: HttpReply,
        deltas: &mut Deltas<'_>,
    ) -> Result<ChatReply, ModelError> {
        let kind = reply.headers.get("content-type").unwrap_or_default().to_ascii_lowercase();
        if C::FRAMING == Framing::Events && kind.starts_with("application/json") {
            let reply = self.whole(reply).await?.read(self)?;
            tell(&reply.parts, deltas);
            return Ok(reply);
        }
        let HttpReply { headers, mut body, .. } = reply;
        let mut frames = Frames::new(C::FRAMING, MOST_BYTES);
        let mut assembler = self.codec.assembler(self.names.clone());
        let mut came = 0;
        // For an error: what came before the first message, and the last message.
        let (mut start, mut last) = (Vec::new(), String::new());
        while let Some(piece) = self.piece(&mut body).await? {
            came += piece.len();
            let whole = frames.feed(&piece).map_err(|TooLong| self.too_long(&piece, &headers))?;
            // Frames may each be short and never end.
            if came > 8 * MOST_BYTES {
                return Err(self.too_long(&piece, &headers));
            }
            if last.is_empty() && start.len() < MOST_OF_BODY {
                start.extend_from_slice(&piece);
            }
            for message in whole {
                last = self.text(message, &headers)?;
                let taken = assembler.take(&last, deltas);
                taken.map_err(|error| self.unreadable(error, &last, &headers))?;
            }
            if assembler.is_done() {
                // A connection that ends can be used again; one that doesn't is not waited for.
                let rest = async { while let Ok(Some(_)) = body.next().await {} };
                let _ = timeout(LINGER, rest).await;
                break;
            }
        }
        if !assembler.is_done()
            && let Some(message) = frames.end()
        {
            last = self.text(message, &headers)?;
            let taken = assembler.take(&last, deltas);
            taken.map_err(|error| self.unreadable(error, &last, &headers))?;
        }
        assembler.finish().map_err(|error| match error {
            // Some servers close a connection that breaks as if all was said.
            Unreadable::Ended if !last.is_empty() => {
                failed(&self.url, TransportError::Broken(ENDED.into()))
            }
            error => {
                let start = String::from_utf8_lossy(&start);
                let body = if last.is_empty() { &*start } else { &last };
                self.unreadable(error, body, &headers)
            }
        })
    }

    /// The status says enough: of the body, what comes in time and fits is taken.
    pub(super) async fn refused(&self, mut reply: HttpReply) -> Refusal {
        let mut bytes = Vec::new();
        if let Some(target) = reply.headers.get("location") {
            bytes.extend_from_slice(format!("it redirects to {target} ").as_bytes());
        }
        let start = bytes.len();
        let read = async {
            while bytes.len() < 4 * MOST_OF_BODY
                && let Ok(Some(piece)) = reply.body.next().await
            {
                bytes.extend_from_slice(&piece);
            }
        };
        let _ = timeout(self.limit.min(PATIENCE) / 2, read).await;
        let body = String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned();
        let shown = self.shown(&String::from_utf8_lossy(&bytes));
        let url = self.url.clone();
        let now = httpdate::fmt_http_date(SystemTime::now());
        let mut refusal = refusal(url, reply.status, &reply.headers, &body, shown, &now);
        refusal.request_id = refusal.request_id.map(|id| self.secrets.hidden(&id));
        refusal
    }

    async fn piece(&self, body: &mut HttpBody) -> Result<Option<Vec<u8>>, ModelError> {
        body.next().await.map_err(|error| failed(&self.url, error))
    }

    fn unreadable(&self, error: Unreadable, body: &str, headers: &Headers) -> ModelError {
        let failure = match error {
            Unreadable::Malformed(reason) => return self.malformed(reason, body, headers),
            Unreadable::Failed(failure) => failure,
            Unreadable::Ended => return self.malformed(ENDED, body, headers),
        };
        match kind(200, &serde_json::json!({ "error": failure })) {
            RefusalKind::Other => {
                let reason = format!("it reports an error, {}", message_of(&failure));
                self.malformed(reason, body, headers)
            }
            kind => {
                let mut refusal = Refusal::new(kind, &self.url, 200, self.shown(body));
                refusal.request_id = self.request_id(headers);
                Box::new(refusal).into()
            }
        }
    }

    fn malformed(&self, reason: impl Into<String>, body: &str, headers: &Headers) -> ModelError {
        let (reason, body) = (self.secrets.hidden(&reason.into()), self.shown(body));
        ModelError::Malformed { reason, body, request_id: self.request_id(headers) }
    }

    fn request_id(&self, headers: &Headers) -> Option<String> {
        request_id(headers).map(|id| self.secrets.hidden(&id))
    }

    fn text(&self, bytes: Vec<u8>, headers: &Headers) -> Result<String, ModelError> {
        String::from_utf8(bytes).map_err(|error| {
            let body = String::from_utf8_lossy(error.as_bytes());
            self.malformed("it is not UTF-8", &body, headers)
        })
    }

    fn too_long(&self, bytes: &[u8], headers: &Headers) -> ModelError {
        let reason = format!("it is longer than {MOST_BYTES} bytes");
        let start = bytes.get(..4 * MOST_OF_BODY).unwrap_or(bytes);
        self.malformed(reason, &String::from_utf8_lossy(start), headers)
    }

    /// The start of a body, for an error.
    fn shown(&self, body: &str) -> String {
        let body = self.secrets.hidden(body.trim());
        let mut text: String = body.chars().take(MOST_OF_BODY).collect();
        if text.len() < body.len() {
            text.push_str(" …");
        }
        text
    }
}

pub(super) fn failed(url: &str, error: TransportError) -> ModelError {
    match error {
        TransportError::Setup(text) => ModelError::Setup(text),
        TransportError::Broken(source) => ModelError::Unreachable { url: url.to_owned(), source },
        TransportError::Late { limit } => late(url, limit),
        TransportError::Unrecorded(text) => ModelError::Unrecorded(text),
    }
}

pub(super) fn late(url: &str, limit: Duration) -> ModelError {
    ModelError::Timeout { url: url.to_owned(), limit }
}
