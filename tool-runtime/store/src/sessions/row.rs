//! The row of a session.

use std::time::{Duration, SystemTime};

use super::{checksum, corrupt_record};
use tool_core::agent::session::{SessionError, SessionInfo, SessionStatus};

/// Row of a session without its name and its state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SessionRow {
    pub(crate) id: i64,
    pub(crate) revision: i64,
    pub(crate) messages: i64,
    pub(crate) saved_at: i64,
    /// The checksum of the state.
    pub(crate) state_checksum: i64,
    /// The checksum of all messages.
    pub(crate) chain: i64,
    pub(crate) status: String,
    /// The code of the failure, or an empty text.
    pub(crate) failure: String,
    pub(crate) principal: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) checksum: i64,
}

impl SessionRow {
    /// Returns the revision and the number of messages.
    pub(crate) fn position(&self) -> (u64, usize) {
        (self.revision.cast_unsigned(), usize::try_from(self.messages).unwrap_or_default())
    }

    /// Returns the checksum of the row under a name.
    pub(crate) fn checksum_as(&self, name: &str) -> i64 {
        let Self { id, revision, messages, saved_at, state_checksum, chain, .. } = *self;
        let [status, failure] =
            [&self.status, &self.failure].map(|text| checksum::of_text(text.as_bytes()));
        let [principal, title] = [&self.principal, &self.title].map(|text| {
            text.as_ref().map_or(checksum::NONE, |it| checksum::of_text(it.as_bytes()))
        });
        let numbers = [id, revision, messages, saved_at, state_checksum, chain, status, failure];
        checksum::of_session(name, &[numbers.as_slice(), &[principal, title]].concat())
    }

    /// Returns the row with this title, under the same name.
    pub(crate) fn with_title(self, session: &str, title: Option<&str>) -> Self {
        let row = Self { title: title.map(str::to_owned), ..self };
        Self { checksum: row.checksum_as(session), ..row }
    }

    /// Returns the row, or an error if it is not that of the session.
    pub(crate) fn verified(self, session: &str) -> Result<Self, SessionError> {
        if self.checksum == self.checksum_as(session) {
            Ok(self)
        } else {
            Err(corrupt_record(session, None, "the checksum of the session is wrong"))
        }
    }

    /// Returns the entry of a list, or an error if the row is not that of the session. `is_leased`
    /// is whether the session has a live lease.
    pub(crate) fn into_info(
        self,
        session: String,
        is_leased: bool,
    ) -> Result<SessionInfo, SessionError> {
        let row = self.verified(&session)?;
        let (revision, messages) = row.position();
        let since = Duration::from_micros(u64::try_from(row.saved_at).unwrap_or_default());
        let info = SessionInfo::new(session, messages, revision, SystemTime::UNIX_EPOCH + since);
        let Some(status) = SessionStatus::from_name(&row.status) else {
            let reason = format!("the status `{}` is unknown", row.status);
            return Err(corrupt_record(&info.session, None, reason));
        };
        let failure = Some(row.failure).filter(|code| !code.is_empty());
        let info = info.status(status.listed(is_leased), failure);
        Ok(info.title(row.title).principal(row.principal))
    }
}
