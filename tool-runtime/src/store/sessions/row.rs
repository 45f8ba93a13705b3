//! The row of a session.

use std::time::{Duration, SystemTime};

use super::{checksum, corrupt_record};
use crate::agent::session::{SessionError, SessionInfo};

/// Row of a session without its name and its state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::store) struct SessionRow {
    pub(in crate::store) id: i64,
    pub(in crate::store) revision: i64,
    pub(in crate::store) messages: i64,
    pub(in crate::store) saved_at: i64,
    /// The checksum of the state.
    pub(in crate::store) state_checksum: i64,
    /// The checksum of all messages.
    pub(in crate::store) chain: i64,
    pub(in crate::store) checksum: i64,
}

impl SessionRow {
    /// Returns the revision and the number of messages.
    pub(in crate::store) fn position(&self) -> (u64, usize) {
        (self.revision.cast_unsigned(), usize::try_from(self.messages).unwrap_or_default())
    }

    /// Returns the checksum of the row under a name.
    pub(in crate::store) fn checksum_as(&self, name: &str) -> i64 {
        let Self { id, revision, messages, saved_at, state_checksum, chain, checksum: _ } = *self;
        checksum::of_session(name, &[id, revision, messages, saved_at, state_checksum, chain])
    }

    /// Returns the row, or an error if it is not that of the session.
    pub(in crate::store) fn verified(self, session: &str) -> Result<Self, SessionError> {
        if self.checksum == self.checksum_as(session) {
            Ok(self)
        } else {
            Err(corrupt_record(session, None, "the checksum of the session is wrong"))
        }
    }

    /// Returns the entry of a list, or an error if the row is not that of the session.
    pub(in crate::store) fn into_info(self, session: String) -> Result<SessionInfo, SessionError> {
        let row = self.verified(&session)?;
        let (revision, messages) = row.position();
        let since = Duration::from_micros(u64::try_from(row.saved_at).unwrap_or_default());
        Ok(SessionInfo::new(session, messages, revision, SystemTime::UNIX_EPOCH + since))
    }
}
