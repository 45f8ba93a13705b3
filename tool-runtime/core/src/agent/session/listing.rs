//! The list of the sessions of a store, as a whole or page by page.

use std::time::SystemTime;

use super::SessionStatus;

/// Query for the sessions to list: all of them, those of a principal, or one page.
///
/// ```
/// use tool_runtime::agent::session::{MemorySessions, SessionQuery, SessionStore, SessionWrite};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemorySessions::new();
/// for session in ["acme/1", "acme/2", "acme/3", "other/1"] {
///     store.save(session, SessionWrite::create()).await?;
/// }
/// // Pages of two sessions of one tenant.
/// let query = SessionQuery::all().prefix("acme/").limit(2);
/// let first = store.list(query).await?;
/// assert_eq!(first.len(), 2);
/// let last = first.last().ok_or("the page is not empty")?;
/// let second = store.list(query.after(&last.session)).await?;
/// assert_eq!((second[0].session.as_str(), second.len()), ("acme/3", 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionQuery<'q> {
    /// The prefix of the names, compared byte by byte. An empty prefix selects all names.
    pub prefix: &'q str,
    /// The name after which the page begins: the last one of the page before it.
    pub after: Option<&'q str>,
    /// The [principal](SessionInfo::principal) of the sessions. `None` selects all of them.
    pub principal: Option<&'q str>,
    /// The status of the sessions. `None` selects all of them.
    pub status: Option<SessionStatus>,
    /// The maximum number of sessions to return. `None` is no limit.
    pub limit: Option<usize>,
}

impl<'q> SessionQuery<'q> {
    /// Creates a query for all sessions.
    pub fn all() -> Self {
        Self { prefix: "", after: None, principal: None, status: None, limit: None }
    }

    /// Selects the sessions whose names begin with `prefix`.
    #[must_use]
    pub fn prefix(self, prefix: &'q str) -> Self {
        Self { prefix, ..self }
    }

    /// Selects the sessions whose names follow this one in the order of their bytes.
    #[must_use]
    pub fn after(self, session: &'q str) -> Self {
        Self { after: Some(session), ..self }
    }

    /// Selects the sessions of this [principal](SessionInfo::principal).
    ///
    /// ```
    /// use tool_runtime::agent::session::{
    ///     MemorySessions, SessionQuery, SessionStore, SessionWrite,
    /// };
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemorySessions::new();
    /// store.save("1", SessionWrite::create().principal("ada")).await?;
    /// store.save("2", SessionWrite::create().principal("bob")).await?;
    /// let of_ada = store.list(SessionQuery::all().principal("ada")).await?;
    /// assert_eq!((of_ada[0].session.as_str(), of_ada.len()), ("1", 1));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn principal(self, principal: impl Into<Option<&'q str>>) -> Self {
        Self { principal: principal.into(), ..self }
    }

    /// Selects the sessions that have this status now.
    #[must_use]
    pub fn status(self, status: impl Into<Option<SessionStatus>>) -> Self {
        Self { status: status.into(), ..self }
    }

    /// Limits the number of sessions to return.
    #[must_use]
    pub fn limit(self, limit: impl Into<Option<usize>>) -> Self {
        Self { limit: limit.into(), ..self }
    }

    /// Returns whether the query selects a session with this entry, whose status is the
    /// [listed](SessionStatus::listed) one, apart from the limit. For implementations of
    /// [`SessionStore::list`](super::SessionStore::list).
    ///
    /// ```
    /// use std::time::UNIX_EPOCH;
    ///
    /// use tool_runtime::agent::session::{SessionInfo, SessionQuery, SessionStatus};
    ///
    /// let query = SessionQuery::all().prefix("a").after("ab").status(SessionStatus::Idle);
    /// let info = |name| SessionInfo::new(name, 0, 1, UNIX_EPOCH);
    /// let selected = ["aa", "ab", "ac", "b"].map(|name| query.matches(&info(name)));
    /// assert_eq!(selected, [false, false, true, false]);
    /// assert!(!query.matches(&info("ac").status(SessionStatus::Paused, None)));
    /// assert!(!query.principal("ada").matches(&info("ac")));
    /// ```
    pub fn matches(&self, info: &SessionInfo) -> bool {
        info.session.starts_with(self.prefix)
            && self.after.is_none_or(|after| info.session.as_str() > after)
            && self.principal.is_none_or(|principal| info.principal.as_deref() == Some(principal))
            && self.status.is_none_or(|selected| info.status == selected)
    }
}

impl Default for SessionQuery<'_> {
    fn default() -> Self {
        Self::all()
    }
}

/// A session in the list of a store, without its messages.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{MemorySessions, SessionQuery, SessionStore, SessionWrite};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemorySessions::new();
/// store.save("ada", SessionWrite::create().messages(0, &[Message::user("Hello")])).await?;
/// let sessions = store.list(SessionQuery::all()).await?;
/// assert_eq!((sessions[0].session.as_str(), sessions[0].message_count), ("ada", 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The name of the session.
    pub session: String,
    /// The number of stored messages.
    pub message_count: usize,
    /// The current revision of the session.
    pub revision: u64,
    /// The time of the last write.
    pub saved_at: SystemTime,
    /// The status, which says what the session waits for.
    pub status: SessionStatus,
    /// The [code](crate::StopReason::code) with which the last run stopped, if it has
    /// [failed](SessionStatus::Failed).
    pub failure: Option<String>,
    /// The title that the program has [set](super::Session::set_title), for people.
    pub title: Option<String>,
    /// The user or tenant to whom the session belongs, as the program
    /// [names](super::Session::principal) them. It has nothing to do with the
    /// [owner](super::SessionOwner) of a lease, which is a process.
    pub principal: Option<String>,
}

impl SessionInfo {
    /// Creates the entry of an idle session.
    ///
    /// ```
    /// use std::time::UNIX_EPOCH;
    ///
    /// use tool_runtime::agent::session::SessionInfo;
    ///
    /// let info = SessionInfo::new("ada", 2, 1, UNIX_EPOCH);
    /// assert_eq!((info.session.as_str(), info.message_count), ("ada", 2));
    /// ```
    pub fn new(
        session: impl Into<String>,
        message_count: usize,
        revision: u64,
        saved_at: SystemTime,
    ) -> Self {
        let (session, status) = (session.into(), SessionStatus::Idle);
        let (failure, title, principal) = (None, None, None);
        Self { session, message_count, revision, saved_at, status, failure, title, principal }
    }

    /// Sets the status, and the code of the failure if there is one.
    #[must_use]
    pub fn status(self, status: SessionStatus, failure: Option<String>) -> Self {
        Self { status, failure, ..self }
    }

    /// Sets the title for people.
    #[must_use]
    pub fn title(self, title: Option<String>) -> Self {
        Self { title, ..self }
    }

    /// Sets the user or tenant to whom the session belongs.
    #[must_use]
    pub fn principal(self, principal: Option<String>) -> Self {
        Self { principal, ..self }
    }
}
