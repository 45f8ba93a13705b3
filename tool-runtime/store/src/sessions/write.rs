//! Encoding of a write.

use std::time::SystemTime;

use super::{SessionRow, checksum};
use tool_core::Message;
use tool_core::agent::session::{SessionError, SessionStatus, SessionWrite};

/// Write operation whose messages are encoded.
#[derive(Clone)]
pub(crate) struct EncodedWrite {
    pub(crate) session: String,
    pub(crate) revision: u64,
    pub(crate) from: usize,
    pub(crate) messages: Vec<String>,
    pub(crate) state: String,
    pub(crate) status: SessionStatus,
    /// The code of the failure, or an empty text.
    pub(crate) failure: String,
    /// The principal and the title of a session that the write creates.
    pub(crate) principal: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) epoch: Option<u64>,
}

impl EncodedWrite {
    pub(crate) fn new(session: &str, write: &SessionWrite<'_>) -> Result<Self, SessionError> {
        let encode = |(index, message)| encode(session, write.from + index, message);
        Ok(Self {
            session: session.to_owned(),
            revision: write.revision,
            from: write.from,
            messages: write.messages.iter().enumerate().map(encode).collect::<Result<_, _>>()?,
            state: write.state.to_owned(),
            status: write.status,
            failure: write.failure.unwrap_or_default().to_owned(),
            principal: write.principal.map(str::to_owned),
            title: write.title.map(str::to_owned),
            epoch: write.epoch,
        })
    }

    /// Checks the write against the row of a session, and returns the new revision.
    pub(crate) fn check(
        &self,
        session: &str,
        found: Option<&SessionRow>,
    ) -> Result<u64, SessionError> {
        let (revision, count) = found.map_or((0, 0), SessionRow::position);
        SessionWrite::update(self.revision).messages(self.from, &[]).check(session, revision, count)
    }

    /// Returns the checksum of each message. `chain` is that of the messages before the write.
    pub(crate) fn chains(&self, mut chain: i64) -> Vec<i64> {
        let after = |message: &String| {
            chain = checksum::after_message(chain, message.as_bytes());
            chain
        };
        self.messages.iter().map(after).collect()
    }

    /// Returns the write of a copy under this name, which keeps what a session is listed with.
    pub(crate) fn copy_of(self, source: Option<&SessionRow>, to: &str) -> Self {
        let principal = source.and_then(|row| row.principal.clone());
        let title = source.and_then(|row| row.title.clone());
        Self { session: to.to_owned(), principal, title, ..self }
    }

    /// Returns the row of the session after the write, which replaces `found`. `chain` is the
    /// checksum of all messages.
    pub(crate) fn row(
        &self,
        id: i64,
        found: Option<&SessionRow>,
        revision: u64,
        saved_at: SystemTime,
        chain: i64,
    ) -> SessionRow {
        let saved_at = saved_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let row = SessionRow {
            id,
            revision: revision.cast_signed(),
            messages: as_integer(self.from + self.messages.len()),
            saved_at: i64::try_from(saved_at.as_micros()).unwrap_or(i64::MAX),
            state_checksum: checksum::of_text(self.state.as_bytes()),
            chain,
            status: self.status.as_str().to_owned(),
            failure: self.failure.clone(),
            principal: found.map_or(&self.principal, |found| &found.principal).clone(),
            title: found.map_or(&self.title, |found| &found.title).clone(),
            checksum: 0,
        };
        SessionRow { checksum: row.checksum_as(&self.session), ..row }
    }
}

/// Encodes a message and checks that it can be decoded.
fn encode(session: &str, index: usize, message: &Message) -> Result<String, SessionError> {
    let unsupported = |error: serde_json::Error| SessionError::InvalidWrite {
        session: session.to_owned(),
        reason: format!("message {index} cannot be decoded again: {error}"),
    };
    let text = serde_json::to_string(message).map_err(unsupported)?;
    // A message that nests deeper than the JSON limit could never be loaded.
    serde_json::from_str::<Message>(&text).map_err(unsupported)?;
    Ok(text)
}

/// Converts an index; no conversation exceeds the integers of a database.
pub(crate) fn as_integer(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}
