//! The entry of a session in the list of its store: its title, and the principal that it belongs
//! to.

use super::{Session, SessionError, SessionInfo, SessionQuery};
use crate::agent::persist::store_panicked;
use crate::guard::CatchPanic;
use crate::message::Message;

/// The longest default title, in characters.
const DEFAULT_TITLE_CHARS: usize = 60;

impl Session {
    /// Sets the user or tenant to whom the session belongs, such as the id of the signed-in user.
    ///
    /// The first run of a session stores the principal with it, and a
    /// [fork](Self::fork) belongs to the same one. [`SessionQuery::principal`] lists the sessions
    /// of a principal. A session that belongs to another principal is refused by all methods of
    /// this handle, before a message of it is returned or sent to a model; one that was created
    /// without a principal is not. The [owner](super::SessionOwner) of a lease is something else:
    /// the process that runs the session.
    ///
    /// ```
    /// use tool_runtime::agent::session::{
    ///     MemorySessions, SessionError, SessionQuery, SessionStore,
    /// };
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let store = MemorySessions::new();
    /// agent.session(store.clone(), "7").principal("ada").run("Hello").await?;
    ///
    /// let of_ada = store.list(SessionQuery::all().principal("ada")).await?;
    /// assert_eq!(of_ada[0].session, "7");
    /// let refused = agent.session(store, "7").principal("bob").messages().await;
    /// assert!(matches!(refused, Err(SessionError::OtherPrincipal { .. })));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn principal(self, principal: impl Into<String>) -> Self {
        Self { principal: Some(principal.into()), ..self }
    }

    /// Returns the status, title, principal and size of the session, or `None` if it does not
    /// exist.
    ///
    /// # Errors
    /// Returns [`OtherPrincipal`](SessionError::OtherPrincipal) if the session belongs to another
    /// [principal](Self::principal), and [`Unavailable`](SessionError::Unavailable) if the store
    /// can't be reached.
    ///
    /// ```
    /// use tool_runtime::agent::session::MemorySessions;
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("Hi!")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "ada");
    /// assert_eq!(session.info().await?, None);
    /// session.run("Hello").await?;
    /// assert_eq!(session.info().await?.map(|info| info.message_count), Some(2));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn info(&self) -> Result<Option<SessionInfo>, SessionError> {
        let (store, name) = (self.store.as_ref(), self.name.as_str());
        // The first name with this prefix is the name itself, if there is such a session.
        let query = SessionQuery::all().prefix(name).limit(1);
        let listed = CatchPanic::new(|| store.list(query), store_panicked).await?;
        let info = listed.into_iter().find(|info| info.session == name);
        let other = info.as_ref().and_then(|info| info.principal.as_ref());
        match self.principal.as_ref().zip(other) {
            Some((principal, other)) if principal != other => {
                Err(SessionError::OtherPrincipal { session: name.to_owned() })
            }
            _ => Ok(info),
        }
    }

    /// Sets the title of the session, for people, or removes it. It may be set while a run is in
    /// progress, and a [fork](Self::fork) has the same title at first.
    ///
    /// No title is set by itself. [`default_title`] returns one from the first prompt.
    ///
    /// # Errors
    /// Returns [`NotFound`](SessionError::NotFound) if the session does not exist: the first step
    /// of its first run creates it. Returns the errors of [`info`](Self::info) as well.
    ///
    /// ```
    /// use tool_runtime::agent::session::{MemorySessions, default_title};
    /// use tool_runtime::{Agent, ChatReply, ScriptedModel, Tools};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::new(ScriptedModel::new([ChatReply::text("A coat.")]), Tools::new());
    /// let session = agent.session(MemorySessions::new(), "7");
    /// session.run("What should I wear in Oslo?").await?;
    /// let title = default_title(&session.messages().await?);
    /// session.set_title(title.as_deref()).await?;
    ///
    /// let info = session.info().await?.ok_or("it was saved")?;
    /// assert_eq!(info.title.as_deref(), Some("What should I wear in Oslo?"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn set_title(&self, title: impl Into<Option<&str>>) -> Result<(), SessionError> {
        self.check_principal().await?;
        let (store, name, title) = (self.store.as_ref(), self.name.as_str(), title.into());
        CatchPanic::new(|| store.set_title(name, title), store_panicked).await
    }

    /// Checks that the session does not belong to another principal.
    pub(super) async fn check_principal(&self) -> Result<(), SessionError> {
        if self.principal.is_some() {
            self.info().await?;
        }
        Ok(())
    }
}

/// Returns a title for a conversation: the text of its first user message in one line, of at most
/// 60 characters. Returns `None` if no user message has a text.
///
/// A longer text ends after a whole word, if it has spaces, with the character `…`.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::default_title;
///
/// let messages = [Message::system("Be brief."), Message::user("What should I\nwear in Oslo?")];
/// assert_eq!(default_title(&messages).as_deref(), Some("What should I wear in Oslo?"));
/// assert_eq!(default_title(&[]), None);
/// ```
pub fn default_title(messages: &[Message]) -> Option<String> {
    let texts = messages.iter().filter(|message| matches!(message, Message::User { .. }));
    let line = texts.map(|message| words(&message.text())).find(|line| !line.is_empty())?;
    let Some((end, _)) = line.char_indices().nth(DEFAULT_TITLE_CHARS) else { return Some(line) };
    // Leaves room for the ellipsis.
    let beginning: String = line.chars().take(DEFAULT_TITLE_CHARS - 1).collect();
    let cuts_word = !line.get(beginning.len()..end).is_some_and(|next| next.starts_with(' '));
    let beginning = match beginning.rsplit_once(' ') {
        Some((whole, _)) if cuts_word => whole,
        _ => beginning.trim_end(),
    };
    Some(format!("{beginning}\u{2026}"))
}

/// Returns the words of a text, separated by single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_title_is_one_line_of_bounded_length() {
        let title = |text: &str| default_title(&[Message::user(text)]);
        let word = "x".repeat(59);
        for (text, expected) in [
            (String::new(), None),
            (" \n\t".into(), None),
            (" Two\n\n lines ".into(), Some("Two lines".into())),
            ("x".repeat(60), Some("x".repeat(60))),
            ("\u{e9}".repeat(61), Some(format!("{}\u{2026}", "\u{e9}".repeat(59)))),
            (format!("{word} y"), Some(format!("{word}\u{2026}"))),
            (format!("one {word}"), Some("one\u{2026}".into())),
            (
                format!("one two{}", " three".repeat(20)),
                Some(format!("one two{}\u{2026}", " three".repeat(8))),
            ),
        ] {
            let found = title(&text);
            assert_eq!(found, expected, "{text:?}");
            assert!(found.is_none_or(|title| title.chars().count() <= 60));
        }
        let messages = [Message::assistant("Hi!"), Message::user(" "), Message::user("Hello")];
        assert_eq!(default_title(&messages).as_deref(), Some("Hello"));
    }
}
