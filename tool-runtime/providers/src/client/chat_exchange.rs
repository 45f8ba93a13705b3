//! One request to a chat model and its reply, whole or streamed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::codec::{Assemble, Codec, DecodeError, Framing};
use crate::connection::exchange::{
    CompleteBody, HttpExchange, MAX_BYTES, MAX_EXCERPT, is_cut_event, is_cut_json,
};
use crate::connection::frames::Frames;
use crate::connection::off_thread::{self, DeltaBuffer};
use crate::connection::work_budget::WorkBudget;
use tool_core::__workspace::emit_reply;
use tool_core::models::{DeltaSink, WireNames};
use tool_core::{AssistantPart, ChatReply, Delta, ModelError};
use tool_http::{Headers, HttpResponse};

/// The time to wait for the end of a connection after the whole reply was received.
const LINGER: Duration = Duration::from_millis(200);

/// The highest number of bytes of a streamed reply, which repeats names and ids in each message.
const MAX_STREAM_BYTES: usize = 8 * MAX_BYTES;

pub(crate) struct ChatExchange<'c, C> {
    pub(crate) codec: &'c C,
    pub(crate) names: Arc<WireNames>,
    pub(crate) http: HttpExchange,
    /// The highest number of calls in the reply.
    pub(crate) max_calls: usize,
    /// The warnings about options that the body leaves out.
    pub(crate) warnings: Vec<String>,
}

impl<C: Codec> ChatExchange<'_, C> {
    /// Decodes a reply that was not streamed.
    pub(crate) async fn decode(&self, body: CompleteBody) -> Result<ChatReply, ModelError> {
        let (codec, names) = (self.codec.clone(), Arc::clone(&self.names));
        let decode = move |text: &str| codec.decode(text, &names);
        let (body, decoded) = self.http.decode_body(body, decode).await?;
        let reply = self.http.decoded(&body, decoded)?;
        self.checked(reply, &body.text, &body.headers)
    }

    /// Reads a streamed reply and emits it. A server without streams sends a whole reply instead.
    pub(crate) async fn read_stream(
        &self,
        response: HttpResponse,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let content_type =
            response.headers.get("content-type").unwrap_or_default().to_ascii_lowercase();
        if C::FRAMING == Framing::Sse && content_type.starts_with("application/json") {
            let reply = self.decode(self.http.read_body(response).await?).await?;
            emit_reply(&reply.parts, deltas);
            return Ok(reply);
        }
        let HttpResponse { headers, mut body, .. } = response;
        let mut budget = WorkBudget::new();
        let mut frames = Frames::new(C::FRAMING, MAX_BYTES);
        let mut assembler = self.codec.assembler(WireNames::clone(&self.names));
        let mut received = 0;
        // For an error: the bytes before the first message, and the last message.
        let (mut start, mut last) = (Vec::new(), String::new());
        while let Some(chunk) = self.http.next_chunk(&mut body).await? {
            received += chunk.len();
            budget.spend(0).await;
            let messages = frames.push(&chunk);
            let messages =
                messages.map_err(|error| self.http.too_long(error.max_bytes, &chunk, &headers))?;
            // Frames may each be short and never end.
            if received > MAX_STREAM_BYTES {
                return Err(self.http.too_long(MAX_STREAM_BYTES, &chunk, &headers));
            }
            if last.is_empty() && start.len() < MAX_EXCERPT {
                start.extend_from_slice(&chunk);
            }
            for message in messages {
                let message = self.http.valid_utf8(message, &headers)?;
                (assembler, last) = self.push(assembler, message, &headers, deltas).await?;
                budget.spend(last.len()).await;
            }
            if assembler.is_done() {
                // A connection that has ended can be reused, but the client does not wait long for
                // it.
                let rest = async {
                    while let Ok(Some(chunk)) = body.next().await {
                        budget.spend(chunk.len()).await;
                    }
                };
                let _ = timeout(LINGER, rest).await;
                break;
            }
        }
        if !assembler.is_done()
            && let Some(message) = frames.finish()
        {
            let has_begun = !last.is_empty();
            let is_cut = message.has_invalid_utf8 || is_cut_json(&message.text);
            if is_cut && (has_begun || !message.has_invalid_utf8) {
                return Err(self.http.closed());
            }
            let message = self.http.valid_utf8(message, &headers)?;
            (assembler, last) = self.push(assembler, message, &headers, deltas).await?;
        }
        let finished = if off_thread::is_large(received) {
            off_thread::run(move || assembler.finish()).await.ok_or_else(|| self.http.closed())?
        } else {
            assembler.finish()
        };
        let reply = finished.map_err(|error| match error {
            // Some servers close a broken connection as if the reply were complete.
            DecodeError::Incomplete if !last.is_empty() || is_cut_event(&start) => {
                self.http.closed()
            }
            error => {
                let start = String::from_utf8_lossy(&start);
                let body = if last.is_empty() { &*start } else { &last };
                self.http.decode_error(error, body, &headers)
            }
        })?;
        self.checked(reply, &last, &headers)
    }

    /// Adds a message to a streamed reply and emits its deltas, up to the limit of calls. Returns
    /// the assembler and the message.
    async fn push<A: Assemble + 'static>(
        &self,
        mut assembler: A,
        message: String,
        headers: &Headers,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<(A, String), ModelError> {
        let max_calls = self.max_calls;
        let (assembler, message, pushed) = if off_thread::is_large(message.len()) {
            let push = move || {
                let mut buffer = DeltaBuffer::default();
                let mut emit = |delta: Delta<'_>| buffer.push(delta);
                let pushed = push_up_to(max_calls, &mut assembler, &message, &mut emit);
                (assembler, message, pushed, buffer)
            };
            let pushed = off_thread::run(push).await.ok_or_else(|| self.http.closed())?;
            let (assembler, message, pushed, buffer) = pushed;
            buffer.emit(deltas);
            (assembler, message, pushed)
        } else {
            let pushed = push_up_to(max_calls, &mut assembler, &message, deltas);
            (assembler, message, pushed)
        };
        match pushed.map_err(|error| self.http.decode_error(error, &message, headers))? {
            Calls::WithinLimit => Ok((assembler, message)),
            Calls::TooMany => Err(self.too_many_calls(&message, headers)),
        }
    }

    /// Returns the reply unless it has too many calls.
    fn checked(
        &self,
        reply: ChatReply,
        body: &str,
        headers: &Headers,
    ) -> Result<ChatReply, ModelError> {
        let is_call = |part: &&AssistantPart| matches!(part, AssistantPart::Call(_));
        if reply.parts.iter().filter(is_call).count() > self.max_calls {
            Err(self.too_many_calls(body, headers))
        } else {
            Ok(reply)
        }
    }

    fn too_many_calls(&self, body: &str, headers: &Headers) -> ModelError {
        let limit = self.max_calls;
        let reason = format!("more than {limit} calls, the limit of `max_calls_per_reply`");
        self.http.malformed(reason, body, headers)
    }
}

/// Whether a message begins more calls than a reply may have.
enum Calls {
    WithinLimit,
    TooMany,
}

/// Adds a message to a streamed reply and emits its deltas, except those of calls beyond the limit.
fn push_up_to(
    max_calls: usize,
    assembler: &mut impl Assemble,
    message: &str,
    deltas: &mut DeltaSink<'_>,
) -> Result<Calls, DecodeError> {
    let mut calls = Calls::WithinLimit;
    let mut emit = |delta: Delta<'_>| match delta {
        Delta::Call { index, .. } | Delta::Arguments { index, .. } if index >= max_calls => {
            calls = Calls::TooMany;
        }
        delta => deltas(delta),
    };
    assembler.push(message, &mut emit)?;
    Ok(calls)
}
