//! The stored form of a session: its state, and what is read of it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::system_messages::SystemMessages;
use crate::agent::session::{SessionError, SessionPart, SessionRecord, SessionStore};
use crate::agent::state::RunState;
use crate::guard::{CatchPanic, Panic};

/// The part of a stored state that does not belong to the run.
#[derive(Deserialize)]
pub(super) struct StateHeader {
    /// The id of the writer.
    #[serde(rename = "by")]
    pub(super) writer: Option<u64>,
    /// `None` in a state that an earlier version has written.
    #[serde(default)]
    pub(super) system: Option<SystemMessages>,
}

impl StateHeader {
    /// Decodes the header. One that can't be decoded has no content.
    pub(super) fn decode(state: &str) -> Self {
        serde_json::from_str(state).unwrap_or(Self { writer: None, system: None })
    }
}

/// The stored form of a state: with the id of its writer, and the places of system messages.
#[derive(Serialize)]
pub(super) struct StoredState<'s> {
    #[serde(flatten)]
    pub(super) state: &'s RunState,
    #[serde(rename = "by", skip_serializing_if = "Option::is_none")]
    pub(super) writer: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<SystemMessages>,
}

/// Encodes the state for the store. A nested run may be too deep to be decoded again: if it were
/// saved, the whole session would be unreadable.
pub(super) fn encode_state(
    state: &RunState,
    writer: u64,
    system: SystemMessages,
) -> serde_json::Result<String> {
    let json =
        serde_json::to_string(&StoredState { state, writer: Some(writer), system: Some(system) })?;
    if state.has_pending_calls() {
        serde_json::from_str::<RunState>(&json)?;
    }
    Ok(json)
}

pub(in crate::agent) fn store_panicked<T>(panic: Panic) -> Result<T, SessionError> {
    Err(SessionError::Unavailable { source: panic.into() })
}

/// Decodes a stored state, which has no transcript.
pub(in crate::agent) fn decode_state(session: &str, state: &str) -> Result<RunState, SessionError> {
    serde_json::from_str(state).map_err(|error| SessionError::CorruptRecord {
        session: session.to_owned(),
        message_index: None,
        reason: error.to_string(),
    })
}

/// Loads the whole record of a session.
pub(in crate::agent) async fn load_record(
    store: &dyn SessionStore,
    session: &str,
) -> Result<Option<SessionRecord>, SessionError> {
    CatchPanic::new(|| store.load(session), store_panicked).await
}

/// Loads a part of a session.
pub(super) async fn load_range(
    store: &dyn SessionStore,
    session: &str,
    range: Range<usize>,
) -> Result<Option<SessionPart>, SessionError> {
    CatchPanic::new(|| store.load_range(session, range), store_panicked).await
}
