//! Forks, renames, truncates and deletes a session.

use super::{Session, SessionError, SessionHold, SessionWrite};
use crate::agent::StopReason;
use crate::agent::persist::{Truncated, store_panicked, truncate};
use crate::guard::CatchPanic;

impl Session {
    /// Copies the first `count` messages to a session of the new name, and returns that session.
    ///
    /// The copy belongs to the same [principal](Self::principal), and has the same title at first.
    /// It has no unfinished run: if its last message would be a reply with calls, that reply
    /// is left out. A `count` that exceeds the conversation copies all of it. This session stays
    /// unchanged, even if a run of it is in progress. A session exists once the first step of its
    /// first run is saved.
    ///
    /// # Errors
    /// Returns [`NotFound`](SessionError::NotFound) if this session does not exist,
    /// [`AlreadyExists`](SessionError::AlreadyExists) if there is a session of the new name,
    /// [`Conflict`](SessionError::Conflict) if another writer changes this session meanwhile, and
    /// the errors of [`messages`](Self::messages).
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, Message, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let replies = ["Hi, Ada.", "Four.", "Hello."].map(ChatReply::text);
    /// # let agent = Agent::new(ScriptedModel::new(replies), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// session.run("I am Ada.").await?;
    /// session.run("Roll the dice.").await?;
    ///
    /// // Another branch of the conversation, from the first answer on.
    /// let branch = session.fork("ada/2", 2).await?;
    /// branch.run("Greet me.").await?;
    /// assert_eq!(branch.messages().await?.len(), 4);
    /// assert_eq!(session.messages().await?[3], Message::assistant("Four."));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn fork(&self, name: impl Into<String>, count: usize) -> Result<Self, SessionError> {
        self.check_principal().await?;
        let name = name.into();
        let Truncated { revision, count, state, status } =
            truncate(self.store.as_ref(), &self.name, count).await?;
        let write = SessionWrite::update(revision).messages(count, &[]).state(&state);
        let write = write.status(status, None);
        let (store, session) = (self.store.as_ref(), self.name.as_str());
        CatchPanic::new(|| store.fork(session, &name, write), store_panicked).await?;
        Ok(Self { name, ..self.clone() })
    }

    /// Removes all messages but the first `count`, and returns the number of those that remain.
    ///
    /// Afterwards, no call of the session lacks a result: if the last message would be a reply with
    /// calls, that reply is removed as well, even if `count` exceeds the conversation. An
    /// unfinished or paused run is thereby abandoned. If the last message is a user message,
    /// [`resume`](Self::resume) requests a new reply to it.
    ///
    /// # Errors
    /// Returns [`NotFound`](SessionError::NotFound) if the session does not exist,
    /// [`Busy`](SessionError::Busy) if a run is in progress and the session [does not
    /// wait](Self::fail_if_busy) for it, [`Conflict`](SessionError::Conflict) if another writer
    /// changes the session meanwhile, and the errors of [`messages`](Self::messages).
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let replies = ["Heads.", "Tails."].map(ChatReply::text);
    /// # let agent = Agent::new(ScriptedModel::new(replies), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// session.run("Toss a coin.").await?;
    ///
    /// // Another answer to the same prompt.
    /// session.truncate(1).await?;
    /// let run = session.resume().await?.ok_or("there is a prompt")?;
    /// assert_eq!(run.finish().await?.to_string(), "Tails.");
    /// assert_eq!(session.messages().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn truncate(&self, count: usize) -> Result<usize, SessionError> {
        let hold = self.hold_to_edit().await?;
        let (store, session) = (self.store.as_ref(), self.name.as_str());
        let truncated = async {
            let Truncated { revision, count, state, status } =
                truncate(store, session, count).await?;
            let write = SessionWrite::update(revision).messages(count, &[]).state(&state);
            let write = write.status(status, None).epoch(hold.epoch());
            CatchPanic::new(|| store.save(session, write), store_panicked).await?;
            Ok(count)
        };
        let truncated = truncated.await;
        hold.release().await;
        truncated
    }

    /// Renames the session, and returns the session of the new name.
    ///
    /// Messages that wait in an [inbox](crate::Agent::inbox) stay under the old name. This handle
    /// keeps the old name. A prompt to it, or one that is queued under the old name,
    /// begins a new conversation of that name: continue with the session that is returned.
    ///
    /// # Errors
    /// Returns [`NotFound`](SessionError::NotFound) if the session does not exist,
    /// [`AlreadyExists`](SessionError::AlreadyExists) if there is a session of the new name,
    /// [`Busy`](SessionError::Busy) if a run is in progress and the session [does not
    /// wait](Self::fail_if_busy) for it, and [`Unavailable`](SessionError::Unavailable) if the
    /// store can't be reached.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "new chat");
    /// session.run("What should I wear in Oslo?").await?;
    /// let session = session.rename("a coat for Oslo").await?;
    /// assert_eq!(session.messages().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn rename(&self, name: impl Into<String>) -> Result<Self, SessionError> {
        let name = name.into();
        let hold = self.hold_to_edit().await?;
        let (store, session, epoch) = (self.store.as_ref(), self.name.as_str(), hold.epoch());
        let renamed = CatchPanic::new(|| store.rename(session, &name, epoch), store_panicked).await;
        hold.release().await;
        renamed.map(|()| Self { name, ..self.clone() })
    }

    /// Deletes the session, its messages, and those that wait for it in the
    /// [inbox](crate::Agent::inbox) of the agent. Succeeds even if the session does not exist.
    ///
    /// A prompt to the session begins a new conversation of its name.
    ///
    /// # Errors
    /// Returns [`Busy`](SessionError::Busy) if a run is in progress and the session [does not
    /// wait](Self::fail_if_busy) for it, and [`Unavailable`](SessionError::Unavailable) if the
    /// store can't be reached.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// session.run("Hello").await?;
    /// session.delete().await?;
    /// assert!(session.messages().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete(&self) -> Result<(), SessionError> {
        let hold = self.hold_to_edit().await?;
        let (store, session, epoch) = (self.store.as_ref(), self.name.as_str(), hold.epoch());
        let mut deleted = CatchPanic::new(|| store.delete(session, epoch), store_panicked).await;
        if let (Ok(()), Some(inbox)) = (&deleted, &self.agent.config.inbox) {
            deleted = inbox.clear(session).await.map_err(SessionError::unavailable);
        }
        hold.release().await;
        deleted
    }

    /// Acquires the session for a change without a run.
    pub(super) async fn hold_to_edit(&self) -> Result<SessionHold, SessionError> {
        self.check_principal().await?;
        self.hold(self.patience()).await.map_err(|reason| match reason {
            StopReason::Session(error) => error,
            // The agent was cancelled while the session waited.
            _ => self.busy(),
        })
    }
}
