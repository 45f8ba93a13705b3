//! Records of sessions, parts of them, and writes.

use std::ops::Range;

use super::{SessionError, SessionStatus};
use crate::message::Message;

/// The stored record of a session: its messages, the opaque state and the revision.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::SessionRecord;
///
/// let record = SessionRecord::new(vec![Message::user("Hello")], "{}", 7);
/// assert_eq!((record.messages.len(), record.revision), (1, 7));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionRecord {
    /// The messages of the conversation, oldest first.
    pub messages: Vec<Message>,
    /// The state of the last run. Only the loop reads it.
    pub state: String,
    /// The revision of the record, on which the next [write](super::SessionStore::save) builds.
    pub revision: u64,
}

impl SessionRecord {
    /// Creates a record at this revision.
    pub fn new(messages: Vec<Message>, state: impl Into<String>, revision: u64) -> Self {
        Self { messages, state: state.into(), revision }
    }

    /// Converts the record into a part of it, with the messages at these indices.
    ///
    /// ```
    /// use tool_runtime::Message;
    /// use tool_runtime::agent::session::SessionRecord;
    ///
    /// let messages = ["One", "Two", "Three"].map(Message::user);
    /// let part = SessionRecord::new(messages.to_vec(), "{}", 7).into_part(2..usize::MAX);
    /// assert_eq!(part.messages, messages[2..]);
    /// assert_eq!((part.from, part.message_count, part.revision), (2, 3, 7));
    /// ```
    pub fn into_part(self, range: Range<usize>) -> SessionPart {
        let Self { mut messages, state, revision } = self;
        let message_count = messages.len();
        messages.truncate(range.end);
        let from = range.start.min(messages.len());
        let messages = messages.split_off(from);
        SessionPart { from, messages, message_count, state, revision }
    }
}

/// A part of the record of a session: some of its messages, the opaque state and the revision.
///
/// [`SessionStore::load_range`](super::SessionStore::load_range) returns it.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::SessionPart;
///
/// // The second message of two.
/// let part = SessionPart::new(1, vec![Message::assistant("Hi!")], 2, "{}", 7);
/// assert_eq!((part.from, part.message_count), (1, 2));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionPart {
    /// The index of the first message of the part.
    pub from: usize,
    /// The messages from that index on, oldest first.
    pub messages: Vec<Message>,
    /// The number of all messages of the conversation.
    pub message_count: usize,
    /// The state of the last run. Only the loop reads it.
    pub state: String,
    /// The revision of the record, on which the next [write](super::SessionStore::save) builds.
    pub revision: u64,
}

impl SessionPart {
    /// Creates a part of the record at this revision.
    pub fn new(
        from: usize,
        messages: Vec<Message>,
        message_count: usize,
        state: impl Into<String>,
        revision: u64,
    ) -> Self {
        Self { from, messages, message_count, state: state.into(), revision }
    }
}

/// A write to a session: the messages that are new or changed, and the state.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::SessionWrite;
///
/// // Keeps the first two messages and replaces all others.
/// let messages = [Message::user("How are you?")];
/// let write = SessionWrite::update(7).messages(2, &messages).state("{}");
/// assert_eq!((write.revision, write.from), (7, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionWrite<'a> {
    /// The revision on which the write builds: that of the [`SessionRecord`], or the one that the
    /// last [`save`](super::SessionStore::save) returned. 0 if the session does not exist yet.
    ///
    /// A revision of a session is never reused, even if the session is deleted and created again.
    /// Revisions have no other meaning.
    pub revision: u64,
    /// The index of the first message to replace. Stored messages before it stay, those from it on
    /// are removed.
    pub from: usize,
    /// The messages to store from that index on.
    pub messages: &'a [Message],
    /// The state to store, which replaces the earlier one.
    pub state: &'a str,
    /// The status of the session after the write.
    pub status: SessionStatus,
    /// The [code](crate::StopReason::code) with which the run stopped, if the session has
    /// [failed](SessionStatus::Failed).
    pub failure: Option<&'a str>,
    /// The user or tenant to whom a session belongs that the write creates. It stays as long as
    /// the session; later writes do not change it.
    pub principal: Option<&'a str>,
    /// The title of a session that the write creates. Later writes do not change it:
    /// [`set_title`](super::SessionStore::set_title) does.
    pub title: Option<&'a str>,
    /// The epoch of the lease under which the session is changed: that of
    /// [`acquire`](super::SessionStore::acquire). Without one, the write is refused while the
    /// session is leased.
    pub epoch: Option<u64>,
}

impl<'a> SessionWrite<'a> {
    /// Starts a write that creates a session. It conflicts if the session exists.
    pub fn create() -> Self {
        Self::update(0)
    }

    /// Starts a write that builds on this revision.
    pub fn update(revision: u64) -> Self {
        let (status, failure, principal) = (SessionStatus::Idle, None, None);
        let (from, messages, state, title, epoch) = (0, [].as_slice(), "", None, None);
        Self { revision, from, messages, state, status, failure, principal, title, epoch }
    }

    /// Replaces the messages from this index on.
    #[must_use]
    pub fn messages(mut self, from: usize, messages: &'a [Message]) -> Self {
        self.from = from;
        self.messages = messages;
        self
    }

    /// Replaces the state of the session.
    #[must_use]
    pub fn state(mut self, state: &'a str) -> Self {
        self.state = state;
        self
    }

    /// Sets the status, and the code of the failure if there is one.
    #[must_use]
    pub fn status(self, status: SessionStatus, failure: Option<&'a str>) -> Self {
        Self { status, failure, ..self }
    }

    /// Sets the user or tenant to whom a session belongs that the write creates.
    #[must_use]
    pub fn principal(self, principal: impl Into<Option<&'a str>>) -> Self {
        Self { principal: principal.into(), ..self }
    }

    /// Sets the title of a session that the write creates.
    #[must_use]
    pub fn title(self, title: impl Into<Option<&'a str>>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Names the epoch of the lease of the session.
    #[must_use]
    pub fn epoch(self, epoch: impl Into<Option<u64>>) -> Self {
        Self { epoch: epoch.into(), ..self }
    }

    /// Checks the write against the stored record, and returns the new revision. For
    /// implementations of [`SessionStore::save`](super::SessionStore::save).
    ///
    /// `revision` and `messages` are the current revision and the number of messages of the record;
    /// both are 0 if the session does not exist.
    ///
    /// # Errors
    /// Returns [`Conflict`](SessionError::Conflict) if the write builds on another revision, and
    /// [`InvalidWrite`](SessionError::InvalidWrite) if it would leave a gap between the messages.
    ///
    /// ```
    /// use tool_runtime::agent::session::SessionWrite;
    ///
    /// # fn main() -> Result<(), tool_runtime::agent::session::SessionError> {
    /// // A new session starts at a revision that no deleted session of this name has had.
    /// let first = SessionWrite::create().check("ada", 0, 0)?;
    /// assert_eq!(SessionWrite::update(first).check("ada", first, 0)?, first + 1);
    /// assert!(SessionWrite::update(first).check("ada", first + 1, 0).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn check(
        &self,
        session: &str,
        revision: u64,
        messages: usize,
    ) -> Result<u64, SessionError> {
        if self.revision != revision {
            let (session, expected) = (session.to_owned(), self.revision);
            return Err(SessionError::Conflict { session, expected, actual: revision });
        }
        if self.from > messages {
            let reason = format!(
                "starts at message {}, but the session's message count is {messages}",
                self.from
            );
            return Err(SessionError::InvalidWrite { session: session.to_owned(), reason });
        }
        Ok(if revision == 0 { first_revision() } else { revision.saturating_add(1) })
    }
}

/// Returns a random first revision. It differs from all revisions of a deleted session of the same
/// name, on which a writer may still build.
fn first_revision() -> u64 {
    // Exact in every number type of a store, with room for as many revisions again.
    fastrand::u64(1..1 << 52)
}
