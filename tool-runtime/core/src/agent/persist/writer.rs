//! Writes the states of a run to its session.

use std::fmt;
use std::sync::Arc;

use super::omitted::Omitted;
use super::stored::{StateHeader, encode_state, load_range, store_panicked};
use super::system_messages::SystemMessages;
use crate::agent::session::{SessionError, SessionStore, SessionWrite};
use crate::agent::state::RunState;
use crate::guard::CatchPanic;
use crate::message::Message;

/// Writes the states of one run to its session. Each write builds on the revision of the last.
pub(in crate::agent) struct SessionWriter {
    /// Identifies the writes of this writer.
    id: u64,
    store: Arc<dyn SessionStore>,
    session: String,
    revision: u64,
    /// The epoch of the lease under which the session is changed.
    epoch: Option<u64>,
    /// The principal of a session that the first write creates.
    principal: Option<String>,
    /// The number of leading loaded messages that are saved and unchanged.
    saved: usize,
    /// The messages of the conversation that the run has not loaded.
    omitted: Omitted,
    /// The loaded messages before the omitted ones, as they are stored.
    leading: Vec<Message>,
    system: SystemMessages,
}

impl SessionWriter {
    /// Continues from this revision, at which so many of the loaded messages are saved.
    pub(in crate::agent) fn new(
        store: Arc<dyn SessionStore>,
        session: &str,
        revision: u64,
        saved: usize,
    ) -> Self {
        Self {
            id: fastrand::u64(..),
            store,
            session: session.to_owned(),
            revision,
            epoch: None,
            principal: None,
            saved,
            omitted: Omitted::default(),
            leading: Vec::new(),
            system: SystemMessages::default(),
        }
    }

    /// Sets the messages that are not loaded, those before them, and where the conversation has
    /// system messages.
    pub(super) fn with_omitted(
        self,
        omitted: Omitted,
        leading: Vec<Message>,
        system: SystemMessages,
    ) -> Self {
        Self { omitted, leading, system, ..self }
    }

    /// Sets where the conversation has system messages.
    pub(super) fn with_system_messages(self, system: SystemMessages) -> Self {
        Self { system, ..self }
    }

    /// Sets the epoch that each write names.
    pub(in crate::agent) fn with_epoch(self, epoch: Option<u64>) -> Self {
        Self { epoch, ..self }
    }

    /// Sets the principal of the session that the first write creates.
    pub(in crate::agent) fn with_principal(self, principal: Option<String>) -> Self {
        Self { principal, ..self }
    }

    /// Returns the name of the session.
    pub(in crate::agent) fn session(&self) -> &str {
        &self.session
    }

    /// Marks the loaded messages from this index on as changed, so that the next write replaces
    /// them.
    pub(in crate::agent) fn rewrite_from(&mut self, index: usize) {
        self.saved = self.saved.min(index);
    }

    /// Returns whether the transcript has messages that are not saved.
    pub(in crate::agent) fn is_behind(&self, state: &RunState) -> bool {
        self.saved < state.turn.transcript().len()
    }

    /// Saves the state and the messages that are new or changed.
    pub(in crate::agent) async fn save(&mut self, state: &RunState) -> Result<(), SessionError> {
        if self.has_changed_before_omitted(state.turn.transcript()) {
            return self.rewrite(state).await;
        }
        let written = self.write(state).await;
        if matches!(written, Err(SessionError::Conflict { .. })) && self.adopt_own_write().await {
            return self.write(state).await;
        }
        written
    }

    /// Returns whether the messages before the omitted ones were edited.
    fn has_changed_before_omitted(&self, messages: &[Message]) -> bool {
        self.saved < self.omitted.leading
            && messages.get(..self.omitted.leading) != Some(self.leading.as_slice())
    }

    async fn write(&mut self, state: &RunState) -> Result<(), SessionError> {
        let messages = state.turn.transcript();
        // What is before the omitted messages is unchanged.
        let from = self.saved.max(self.omitted.leading).min(messages.len());
        let new = messages.get(from..).unwrap_or_default();
        self.write_from(self.omitted.to_stored(from), new, state).await?;
        self.saved = messages.len();
        Ok(())
    }

    /// Writes the whole conversation: the omitted messages behind the system messages with which
    /// the edited transcript begins.
    async fn rewrite(&mut self, state: &RunState) -> Result<(), SessionError> {
        let range = self.omitted.leading..self.omitted.end();
        let omitted = load_range(self.store.as_ref(), &self.session, range).await?;
        let actual = omitted.as_ref().map_or(0, |part| part.revision);
        let Some(part) = omitted.filter(|part| part.revision == self.revision) else {
            let (session, expected) = (self.session.clone(), self.revision);
            return Err(SessionError::Conflict { session, expected, actual });
        };
        let messages = state.turn.transcript();
        let is_system = |message: &&Message| matches!(message, Message::System { .. });
        let count = messages.iter().take_while(is_system).count();
        let (leading, rest) = messages.split_at(count);
        let all = [leading, &part.messages, rest].concat();
        let before = self.omitted;
        self.omitted.leading = count;
        if let Err(error) = self.write_from(0, &all, state).await {
            self.omitted = before;
            return Err(error);
        }
        self.leading = leading.to_vec();
        self.saved = messages.len();
        Ok(())
    }

    /// Writes the state and these messages from an index of the conversation on.
    async fn write_from(
        &mut self,
        from: usize,
        messages: &[Message],
        run: &RunState,
    ) -> Result<(), SessionError> {
        let system = self.system.after_write(from, messages);
        let state = self.omitted.stored_state(run.without_transcript());
        let json = encode_state(&state, StateHeader { writer: Some(self.id), system }).map_err(
            |error| SessionError::InvalidWrite {
                session: self.session.clone(),
                reason: error.to_string(),
            },
        )?;
        let write = SessionWrite::update(self.revision).messages(from, messages).state(&json);
        let write = write.principal(self.principal.as_deref());
        let write = write.epoch(self.epoch).status(run.status(), run.failure.as_deref());
        let (store, session) = (self.store.as_ref(), self.session.as_str());
        self.revision = CatchPanic::new(|| store.save(session, write), store_panicked).await?;
        self.system = system;
        Ok(())
    }

    /// Returns whether the conflicting write was this writer's own, and continues from it if so. A
    /// write that was dropped, or that the store reported as failed, may have been done all the
    /// same.
    async fn adopt_own_write(&mut self) -> bool {
        let Ok(Some(head)) = load_range(self.store.as_ref(), &self.session, 0..0).await else {
            return false;
        };
        let header = StateHeader::decode(&self.session, &head.state);
        let is_own = header.is_ok_and(|header| header.writer == Some(self.id));
        if is_own {
            self.revision = head.revision;
            self.rewrite_from(self.omitted.to_loaded(head.message_count));
        }
        is_own
    }
}

impl fmt::Debug for SessionWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionWriter")
            .field("session", &self.session)
            .field("revision", &self.revision)
            .field("omitted", &self.omitted.count)
            .finish_non_exhaustive()
    }
}
