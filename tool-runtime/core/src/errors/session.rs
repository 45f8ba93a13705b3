//! The errors of session stores and sessions.

use std::error::Error;

/// An error of loading, saving or resuming a session.
///
/// No stored data was lost or overwritten in any of these cases.
///
/// ```
/// use tool_runtime::agent::session::{SessionError, SessionWrite};
///
/// let error = SessionWrite::update(7).check("ada", 8, 0).unwrap_err();
/// assert!(matches!(error, SessionError::Conflict { expected: 7, actual: 8, .. }));
/// assert!(!error.is_transient());
/// assert!(SessionError::unavailable("database is locked").is_transient());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Another writer has changed, created or deleted the session. Load it again and continue from
    /// there.
    #[error(
        "session `{session}` was changed by another writer: expected revision {expected}, found {actual}; load it \
         again and continue from there"
    )]
    Conflict {
        /// The name of the session.
        session: String,
        /// The revision on which the write builds; 0 if it creates the session.
        expected: u64,
        /// The current revision; 0 if the session does not exist.
        actual: u64,
    },
    /// The stored record can't be decoded. It was left unchanged, to be repaired by a person.
    #[error(
        "record of session `{session}` can't be decoded{}: {reason}; it was left \
         unchanged: repair the record, or delete the session",
        message_index.map(|index| format!(" at message {index}")).unwrap_or_default()
    )]
    Corrupt {
        /// The name of the session.
        session: String,
        /// The index of the message that is corrupt, from 0; `None` if it is another part of the
        /// record.
        message_index: Option<usize>,
        /// The reason for which it can't be decoded.
        reason: String,
    },
    /// The write can't be stored, now or later: it is a mistake in the program, or the store is
    /// read-only or can't hold values of this size.
    #[error("invalid write to session `{session}`: {reason}")]
    InvalidWrite {
        /// The name of the session.
        session: String,
        /// The reason for which the write is invalid.
        reason: String,
    },
    /// The session does not wait for these decisions: the paused run was resumed before, or the
    /// conversation has continued without it. Nothing was run.
    #[error("session `{session}` does not wait for these decisions: {reason}")]
    StaleDecision {
        /// The name of the session.
        session: String,
        /// The reason why the decisions are not accepted.
        reason: String,
    },
    /// Another run is in progress, in this process or in another one, and the session [does not
    /// wait](crate::agent::session::Session::fail_if_busy) for it, or has waited as long as
    /// [`Session::resume`](crate::agent::session::Session::resume) does. Nothing was run.
    #[error("session `{session}` is busy: a run of it is in progress in {owner}")]
    Busy {
        /// The name of the session.
        session: String,
        /// The [label](crate::agent::session::SessionOwner::label) of the owner of that run.
        owner: String,
    },
    /// This run is no longer the owner of its session: its lease could not be renewed in time, and
    /// another process may have continued the session. The run has stopped; what it did since its
    /// last save is not in the session.
    #[error("lease of session `{session}` lost{}; load the session again and continue from there",
        owner.as_ref().map(|owner| format!(" to {owner}")).unwrap_or_default()
    )]
    LeaseLost {
        /// The name of the session.
        session: String,
        /// The [label](crate::agent::session::SessionOwner::label) of the owner that has it now;
        /// `None` if there is none.
        owner: Option<String>,
    },
    /// The session does not exist.
    #[error("session `{session}` does not exist")]
    NotFound {
        /// The name of the session.
        session: String,
    },
    /// The session belongs to another principal than the one that the program
    /// [named](crate::agent::session::Session::principal). Nothing was returned or changed. In a web
    /// server, return the status of `NotFound`, so that clients can't find out which names exist.
    #[error("session `{session}` belongs to another principal")]
    OtherPrincipal {
        /// The name of the session.
        session: String,
    },
    /// There is a session of the new name already. Nothing was changed.
    #[error("session `{session}` exists already: choose another name, or delete it first")]
    AlreadyExists {
        /// The name of the existing session.
        session: String,
    },
    /// The store is busy or can't be reached. A write may have been done.
    #[error("session store unavailable: {source}")]
    Unavailable {
        /// The error of the store.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl SessionError {
    /// Creates an [`Unavailable`](Self::Unavailable) error with this cause.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable { source: source.into() }
    }

    /// Returns whether the same operation may succeed later: the store is busy or can't be reached,
    /// or another run of the session is in progress.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::Busy { .. })
    }
}
