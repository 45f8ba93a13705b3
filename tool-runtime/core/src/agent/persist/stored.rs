//! The stored form of a session: its state, and what is read of it.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::system_messages::SystemMessages;
use crate::agent::session::{SessionError, SessionPart, SessionRecord, SessionStore};
use crate::agent::state::RunState;
use crate::guard::{CatchPanic, Panic};

/// The part of a stored state that does not belong to the run.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct StateHeader {
    /// The id of the writer; `None` if the state was written outside of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) writer: Option<u64>,
    /// The places of the system messages.
    pub(super) system: SystemMessages,
}

impl StateHeader {
    /// Decodes the header of a stored state.
    pub(super) fn decode(session: &str, state: &str) -> Result<Self, SessionError> {
        decode(session, state)
    }
}

/// The stored form of a state, with its header.
#[derive(Serialize)]
pub(super) struct StoredState<'s> {
    #[serde(flatten)]
    pub(super) state: &'s RunState,
    #[serde(flatten)]
    pub(super) header: StateHeader,
}

/// Encodes the state for the store. A nested run may be too deep to be decoded again: if it were
/// saved, the whole session would be unreadable.
pub(super) fn encode_state(state: &RunState, header: StateHeader) -> serde_json::Result<String> {
    let json = serde_json::to_string(&StoredState { state, header })?;
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
    decode(session, state)
}

fn decode<T: DeserializeOwned>(session: &str, state: &str) -> Result<T, SessionError> {
    serde_json::from_str(state).map_err(|error| SessionError::Corrupt {
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
