//! The state of a session whose last messages are removed.

use super::stored::{StateHeader, StoredState, decode_state, load_range};
use crate::agent::session::{SessionError, SessionStatus, SessionStore};
use crate::message::Message;

/// The result of removing messages from a session, to be written.
pub(in crate::agent) struct Truncated {
    /// The revision on which the write builds.
    pub(in crate::agent) revision: u64,
    /// The number of messages that remain.
    pub(in crate::agent) count: usize,
    pub(in crate::agent) state: String,
    pub(in crate::agent) status: SessionStatus,
}

/// Removes all messages but the first `count`, and a reply with open calls at their end.
pub(in crate::agent) async fn truncate(
    store: &dyn SessionStore,
    session: &str,
    count: usize,
) -> Result<Truncated, SessionError> {
    let Some(head) = load_range(store, session, 0..0).await? else {
        return Err(SessionError::NotFound { session: session.to_owned() });
    };
    let mut count = count.min(head.message_count);
    let mut status = SessionStatus::Idle;
    while let Some(last) = count.checked_sub(1) {
        // If another writer comes between, the write conflicts.
        let part = load_range(store, session, last..count).await?;
        let last = part.as_ref().and_then(|part| part.messages.first());
        if last.is_none_or(|last| last.calls().next().is_none()) {
            let is_answered =
                matches!(last, None | Some(Message::System { .. } | Message::Assistant { .. }));
            status = if is_answered { SessionStatus::Idle } else { SessionStatus::Interrupted };
            break;
        }
        count -= 1;
    }
    let state = decode_state(session, &head.state)?.truncated(count);
    let StateHeader { system, .. } = StateHeader::decode(session, &head.state)?;
    let header = StateHeader { writer: None, system: system.after_write(count, &[]) };
    let state = StoredState { state: &state, header };
    let state = serde_json::to_string(&state).map_err(|error| SessionError::InvalidWrite {
        session: session.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(Truncated { revision: head.revision, count, state, status })
}
