//! Keeps a run in its session, step by step.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::session::{SessionError, SessionRecord, SessionStore, SessionWrite};
use super::state::RunState;
use crate::guard::{Guarded, Panic};

/// Where a run is kept, and how much of it is.
pub(super) struct Keeper {
    /// By which it knows what it wrote itself.
    id: u64,
    store: Arc<dyn SessionStore>,
    session: String,
    revision: u64,
    /// How many messages are kept as they are.
    kept: usize,
}

impl Keeper {
    /// Goes on from what is kept.
    pub(super) fn new(
        store: Arc<dyn SessionStore>,
        session: String,
        revision: u64,
        kept: usize,
    ) -> Self {
        Self { id: fastrand::u64(..), store, session, revision, kept }
    }

    /// The name of the session.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// What is kept from this message on may have been changed.
    pub(super) fn rewrite_from(&mut self, place: usize) {
        self.kept = self.kept.min(place);
    }

    /// Whether something was said that is not kept.
    pub(super) fn is_behind(&self, state: &RunState) -> bool {
        self.kept < state.turn.transcript().len()
    }

    /// Keeps what is new.
    pub(super) async fn keep(&mut self, state: &RunState) -> Result<(), SessionError> {
        let saved = self.save(state).await;
        if matches!(saved, Err(SessionError::Conflict { .. })) && self.was_faster().await {
            return self.save(state).await;
        }
        saved
    }

    async fn save(&mut self, state: &RunState) -> Result<(), SessionError> {
        let messages = state.turn.transcript();
        let from = self.kept.min(messages.len());
        let state = state.without_transcript();
        let json = written(&state, self.id).map_err(|error| SessionError::InvalidWrite {
            session: self.session.clone(),
            why: error.to_string(),
        })?;
        let write = SessionWrite::on(self.revision)
            .messages(from, messages.get(from..).unwrap_or_default())
            .state(&json);
        let (store, session) = (self.store.as_ref(), self.session.as_str());
        self.revision = Guarded::new(|| store.save(session, write), broken).await?;
        self.kept = messages.len();
        Ok(())
    }

    /// Whether it is this one itself that changed the session: a write that was dropped, or that the store said it
    /// could not do, may have been done all the same. Then it goes on from there.
    async fn was_faster(&mut self) -> bool {
        let Ok(Some(stored)) = load(self.store.as_ref(), &self.session).await else { return false };
        let by = serde_json::from_str::<By>(&stored.state);
        let is_own = by.is_ok_and(|it| it.by == Some(self.id));
        if is_own {
            self.revision = stored.revision;
            self.rewrite_from(stored.messages.len());
        }
        is_own
    }
}

/// The state as it is kept.
#[derive(Serialize)]
struct Kept<'s> {
    #[serde(flatten)]
    state: &'s RunState,
    by: u64,
}

/// Who kept it.
#[derive(Deserialize)]
struct By {
    by: Option<u64>,
}

/// The state as it is kept. What waits may lie too deep to be read again: kept so, it would take the session with it.
fn written(state: &RunState, by: u64) -> serde_json::Result<String> {
    let json = serde_json::to_string(&Kept { state, by })?;
    if state.waits() {
        serde_json::from_str::<RunState>(&json)?;
    }
    Ok(json)
}

/// What a store keeps of this session.
pub(super) async fn load(
    store: &dyn SessionStore,
    session: &str,
) -> Result<Option<SessionRecord>, SessionError> {
    Guarded::new(|| store.load(session), broken).await
}

/// A store is foreign code.
fn broken<T>(panic: Panic) -> Result<T, SessionError> {
    Err(SessionError::Unavailable { source: panic.into() })
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper")
            .field("session", &self.session)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}
