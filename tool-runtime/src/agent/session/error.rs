use std::error::Error;

/// Why a conversation can't be kept, or what is kept can't be read.
///
/// In no case was anything lost or overwritten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Somebody else went on with the session, began it, or deleted it: load it, and go on from there.
    #[error(
        "the session `{session}` was changed by somebody else: it is at revision {found}, and the \
         write builds on {expected}; load it again and go on from there"
    )]
    Conflict {
        /// Its name.
        session: String,
        /// The revision that the write builds on; 0 for none.
        expected: u64,
        /// The revision that it is at; 0 where there is none.
        found: u64,
    },
    /// What is kept of the session can't be read; it stays as it is. To mend it is for people.
    #[error(
        "what is kept of the session `{session}` can't be read{}: {why}; it was left as it is",
        place.map(|place| format!(" at message {place}")).unwrap_or_default()
    )]
    CorruptRecord {
        /// Its name.
        session: String,
        /// Which message, counted from 0; none where it is another part.
        place: Option<usize>,
        /// What is wrong.
        why: String,
    },
    /// The write can't be kept, whoever tries: a fault of the program.
    #[error("this can't be kept of the session `{session}`: {why}")]
    InvalidWrite {
        /// Its name.
        session: String,
        /// What is wrong.
        why: String,
    },
    /// What was decided on is not what the session waits for: it was decided before, or the conversation went on
    /// without it. Nothing was run.
    #[error("the session `{session}` doesn't wait for this: {why}")]
    StaleDecision {
        /// Its name.
        session: String,
        /// What became of it.
        why: String,
    },
    /// The store can't do its work for now.
    #[error("sessions can't be kept or read for now: {source}")]
    Unavailable {
        /// What stands in its way.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl SessionError {
    /// The store can't do its work for now.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Unavailable { source: source.into() }
    }

    /// Whether the same may go well later, without a change: the store is busy or out of reach.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}
