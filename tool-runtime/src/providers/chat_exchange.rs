//! One request to a chat model and its reply, whole or streamed.

use std::time::Duration;

use tokio::time::timeout;

use super::codec::{Assemble, Codec, DecodeError, Framing};
use super::exchange::{
    CompleteBody, HttpExchange, MAX_BYTES, MAX_EXCERPT, is_cut_event, is_cut_json,
};
use super::frames::Frames;
use super::work_budget::WorkBudget;
use crate::http::{Headers, HttpResponse};
use crate::message::AssistantPart;
use crate::models::delta::emit_reply;
use crate::models::{ChatReply, Delta, DeltaSink, ModelError, WireNames};

/// The time to wait for the end of a connection after the whole reply was received.
const LINGER: Duration = Duration::from_millis(200);

/// The highest number of bytes of a streamed reply, which repeats names and ids in each message.
const MAX_STREAM_BYTES: usize = 8 * MAX_BYTES;

pub(super) struct ChatExchange<'c, C> {
    pub(super) codec: &'c C,
    pub(super) names: WireNames,
    pub(super) http: HttpExchange,
    /// The highest number of calls in the reply.
    pub(super) max_calls: usize,
}

impl<C: Codec> ChatExchange<'_, C> {
    /// Decodes a reply that was not streamed.
    pub(super) fn decode(&self, body: &CompleteBody) -> Result<ChatReply, ModelError> {
        let decoded = self.codec.decode(&body.text, &self.names);
        let reply = self.http.decoded(body, decoded)?;
        self.checked(reply, &body.text, &body.headers)
    }

    /// Reads a streamed reply and emits it. A server without streams sends a whole reply instead.
    pub(super) async fn read_stream(
        &self,
        response: HttpResponse,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<ChatReply, ModelError> {
        let content_type =
            response.headers.get("content-type").unwrap_or_default().to_ascii_lowercase();
        if C::FRAMING == Framing::Sse && content_type.starts_with("application/json") {
            let reply = self.decode(&self.http.read_body(response).await?)?;
            emit_reply(&reply.parts, deltas);
            return Ok(reply);
        }
        let HttpResponse { headers, mut body, .. } = response;
        let mut budget = WorkBudget::new();
        let mut frames = Frames::new(C::FRAMING, MAX_BYTES);
        let mut assembler = self.codec.assembler(self.names.clone());
        let mut received = 0;
        // For an error: the bytes before the first message, and the last message.
        let (mut start, mut last) = (Vec::new(), String::new());
        while let Some(chunk) = self.http.next_chunk(&mut body).await? {
            received += chunk.len();
            budget.spend(0).await;
            let messages = frames.push(&chunk);
            let messages =
                messages.map_err(|error| self.http.too_long(error.limit, &chunk, &headers))?;
            // Frames may each be short and never end.
            if received > MAX_STREAM_BYTES {
                return Err(self.http.too_long(MAX_STREAM_BYTES, &chunk, &headers));
            }
            if last.is_empty() && start.len() < MAX_EXCERPT {
                start.extend_from_slice(&chunk);
            }
            for message in messages {
                last = self.http.valid_utf8(message, &headers)?;
                self.push(&mut assembler, &last, &headers, deltas)?;
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
            last = self.http.valid_utf8(message, &headers)?;
            self.push(&mut assembler, &last, &headers, deltas)?;
        }
        let reply = assembler.finish().map_err(|error| match error {
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

    /// Adds a message to a streamed reply and emits its deltas, up to the limit of calls.
    fn push(
        &self,
        assembler: &mut impl Assemble,
        message: &str,
        headers: &Headers,
        deltas: &mut DeltaSink<'_>,
    ) -> Result<(), ModelError> {
        let mut has_too_many_calls = false;
        let mut emit = |delta: Delta<'_>| match delta {
            Delta::Call { index, .. } | Delta::Arguments { index, .. }
                if index >= self.max_calls =>
            {
                has_too_many_calls = true;
            }
            delta => deltas(delta),
        };
        let pushed = assembler.push(message, &mut emit);
        pushed.map_err(|error| self.http.decode_error(error, message, headers))?;
        if has_too_many_calls { Err(self.too_many_calls(message, headers)) } else { Ok(()) }
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
