//! Loads the state of a session with the messages that its next run needs.

use std::sync::Arc;

use super::SessionWriter;
use super::omitted::Omitted;
use super::stored::{StateHeader, decode_state, load_range, load_record};
use super::system_messages::SystemMessages;
use crate::agent::session::{SessionError, SessionPart, SessionStore};
use crate::agent::state::RunState;
use crate::agent::window::WindowState;
use crate::message::Message;
use crate::models::history::keep_last_ids;

/// The number of attempts to read a session in parts while others write to it.
const ATTEMPTS: usize = 8;

/// Loads the last state of a session, with the writer that continues from it.
///
/// `first_needed` returns the index of the first message that the window of the next run may show
/// or summarize. The system messages before it are loaded as well.
pub(in crate::agent) async fn load(
    store: &Arc<dyn SessionStore>,
    session: &str,
    first_needed: impl Fn(&WindowState) -> usize,
) -> Result<Option<(RunState, SessionWriter)>, SessionError> {
    for _ in 0..ATTEMPTS {
        let Some(head) = load_range(store.as_ref(), session, 0..0).await? else { return Ok(None) };
        let state = decode_state(session, &head.state)?;
        let StateHeader { system, .. } = StateHeader::decode(session, &head.state)?;
        let first = first_needed(&state.window).min(system.next.unwrap_or(usize::MAX));
        if first <= system.leading || first >= head.message_count {
            break;
        }
        let rest = load_range(store.as_ref(), session, first..usize::MAX).await?;
        let leading = match system.leading {
            0 => Some(SessionPart { messages: Vec::new(), ..head.clone() }),
            count => load_range(store.as_ref(), session, 0..count).await?,
        };
        let (Some(rest), Some(leading)) = (rest, leading) else { continue };
        if [rest.revision, leading.revision] != [head.revision; 2] {
            continue;
        }
        // Only where a prompt begins are no calls cut off from their results.
        if !matches!(rest.messages.first(), Some(Message::User { .. })) {
            break;
        }
        let leading = leading.messages;
        let summary_end = state.window.summary_end;
        let omitted = Omitted { leading: leading.len(), count: first - leading.len(), summary_end };
        let mut messages = [leading.clone(), rest.messages].concat();
        // An earlier run may have loaded less, and not have known the ids of these messages.
        let renamed = keep_last_ids(&mut messages);
        let mut writer =
            SessionWriter::new(Arc::clone(store), session, head.revision, messages.len())
                .with_omitted(omitted, leading, system);
        if let Some(index) = renamed {
            writer.rewrite_from(index);
        }
        return Ok(Some((omitted.loaded_state(state).with_transcript(messages), writer)));
    }
    let Some(record) = load_record(store.as_ref(), session).await? else { return Ok(None) };
    let state = decode_state(session, &record.state)?;
    let mut messages = record.messages;
    let writer = SessionWriter::new(Arc::clone(store), session, record.revision, messages.len());
    let system = SystemMessages::default().after_write(0, &messages);
    let mut writer = writer.with_system_messages(system);
    // A run that had not loaded the earlier messages did not know their ids.
    if let Some(index) = keep_last_ids(&mut messages) {
        writer.rewrite_from(index);
    }
    Ok(Some((state.with_transcript(messages), writer)))
}
