//! Reads the messages for the session of a run, and deletes those that are delivered.

use super::Run;
use crate::agent::steering::{InboxMessage, InboxMessages};
use crate::event::RunEvent;
use crate::guard::error_chain;
use crate::records::StoreError;

impl Run {
    /// Reads the messages that wait for the session. All that was delivered before is saved by now,
    /// with its keys, so that it can be deleted.
    pub(super) async fn read_inbox(&mut self) {
        let Some((inbox, session)) = self.agent.inbox.clone().zip(self.session.name()) else {
            return;
        };
        self.requests.inbox.clear();
        let read = async {
            let InboxMessages { messages, corrupt } = inbox.read(&session).await?;
            let is_delivered =
                |message: &InboxMessage| self.state.delivered.inbox.contains(&message.key);
            let (delivered, new): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_delivered);
            for message in &delivered {
                // If this fails, no new messages are taken: their keys could displace this one.
                inbox.remove(message).await?;
            }
            Ok::<_, StoreError>((new, corrupt))
        };
        // If time is over, the step finds that out.
        let Ok(read) = self.deadline().wait(read).await else { return };
        let error = match read {
            Ok((new, corrupt)) => {
                self.requests.inbox = new;
                corrupt
            }
            Err(error) => Some(error),
        };
        let has_failed = std::mem::replace(&mut self.requests.has_inbox_failed, error.is_some());
        if let Some(error) = error.filter(|_| !has_failed) {
            let error = error_chain(&error);
            self.emit(|| RunEvent::InboxFailed { session, error });
        }
    }
}
