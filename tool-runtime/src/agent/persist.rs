//! Saves a run to its session, step by step.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::session::{SessionError, SessionRecord, SessionStore, SessionWrite};
use super::state::RunState;
use crate::guard::{CatchPanic, Panic};

/// Writes the states of one run to its session. Each write builds on the revision of the last.
pub(super) struct SessionWriter {
    /// Identifies the writes of this writer.
    id: u64,
    store: Arc<dyn SessionStore>,
    session: String,
    revision: u64,
    /// The number of leading messages that are saved and unchanged.
    saved: usize,
}

impl SessionWriter {
    /// Continues from this revision, at which so many messages are saved.
    pub(super) fn new(
        store: Arc<dyn SessionStore>,
        session: String,
        revision: u64,
        saved: usize,
    ) -> Self {
        Self { id: fastrand::u64(..), store, session, revision, saved }
    }

    /// Returns the name of the session.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Marks the messages from this index on as changed, so that the next write replaces them.
    pub(super) fn rewrite_from(&mut self, index: usize) {
        self.saved = self.saved.min(index);
    }

    /// Returns whether the transcript has messages that are not saved.
    pub(super) fn is_behind(&self, state: &RunState) -> bool {
        self.saved < state.turn.transcript().len()
    }

    /// Saves the state and the messages that are new or changed.
    pub(super) async fn save(&mut self, state: &RunState) -> Result<(), SessionError> {
        let written = self.write(state).await;
        if matches!(written, Err(SessionError::Conflict { .. })) && self.adopt_own_write().await {
            return self.write(state).await;
        }
        written
    }

    async fn write(&mut self, state: &RunState) -> Result<(), SessionError> {
        let messages = state.turn.transcript();
        let from = self.saved.min(messages.len());
        let state = state.without_transcript();
        let json = encode_state(&state, self.id).map_err(|error| SessionError::InvalidWrite {
            session: self.session.clone(),
            reason: error.to_string(),
        })?;
        let write = SessionWrite::update(self.revision)
            .messages(from, messages.get(from..).unwrap_or_default())
            .state(&json);
        let (store, session) = (self.store.as_ref(), self.session.as_str());
        self.revision = CatchPanic::new(|| store.save(session, write), store_panicked).await?;
        self.saved = messages.len();
        Ok(())
    }

    /// Returns whether the conflicting write was this writer's own, and continues from it if so. A
    /// write that was dropped, or that the store reported as failed, may have been done all the
    /// same.
    async fn adopt_own_write(&mut self) -> bool {
        let Ok(Some(record)) = load(self.store.as_ref(), &self.session).await else { return false };
        let author = serde_json::from_str::<StateWriter>(&record.state);
        let is_own = author.is_ok_and(|author| author.writer == Some(self.id));
        if is_own {
            self.revision = record.revision;
            self.rewrite_from(record.messages.len());
        }
        is_own
    }
}

/// The stored form of a state: with the id of its writer.
#[derive(Serialize)]
struct StoredState<'s> {
    #[serde(flatten)]
    state: &'s RunState,
    #[serde(rename = "by")]
    writer: u64,
}

/// The writer of a stored state.
#[derive(Deserialize)]
struct StateWriter {
    #[serde(rename = "by")]
    writer: Option<u64>,
}

/// Encodes the state for the store. A nested run may be too deep to be decoded again: if it were
/// saved, the whole session would be unreadable.
fn encode_state(state: &RunState, writer: u64) -> serde_json::Result<String> {
    let json = serde_json::to_string(&StoredState { state, writer })?;
    if state.has_pending_calls() {
        serde_json::from_str::<RunState>(&json)?;
    }
    Ok(json)
}

/// Loads the record of this session.
pub(super) async fn load(
    store: &dyn SessionStore,
    session: &str,
) -> Result<Option<SessionRecord>, SessionError> {
    CatchPanic::new(|| store.load(session), store_panicked).await
}

fn store_panicked<T>(panic: Panic) -> Result<T, SessionError> {
    Err(SessionError::Unavailable { source: panic.into() })
}

impl fmt::Debug for SessionWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionWriter")
            .field("session", &self.session)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}
