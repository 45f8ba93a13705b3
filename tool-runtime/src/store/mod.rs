//! Conversations in an SQLite file.
//!
//! Nothing here knows what a conversation is about: messages are JSON texts in their order, and the
//! loop's own part is a text that nobody reads here.

mod kept;
mod open;
mod schema;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::task::spawn_blocking;

pub use open::OpenError;

use crate::agent::session::{SessionError, SessionInfo, SessionRecord, SessionStore, SessionWrite};

/// Keeps conversations in an SQLite file of their own. Clones share its connection.
///
/// What is acknowledged is on the disk: neither a kill nor a power cut undoes it, as far as the disk
/// keeps its word. A [`save`](SessionStore::save) is one transaction, so that a kill at any moment
/// leaves all of it or nothing. Several processes may use one file; they wait for each other, five
/// seconds at most, and who builds on a revision that is gone by then is told of the
/// [conflict](SessionError::Conflict). The file may not lie on a network file system.
///
/// It works on tokio's blocking pool, one statement at a time. A save whose future is dropped goes on
/// to its end.
///
/// ```
/// use tool_runtime::Message;
/// use tool_runtime::agent::session::{SessionStore, SessionWrite};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("sessions-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("sessions.db");
/// let store = Sqlite::open(&path).await?;
/// store.save("ada", SessionWrite::create().messages(0, &[Message::user("Hello")])).await?;
/// drop(store);
///
/// // Another day, in another process.
/// let kept = Sqlite::open(&path).await?.load("ada").await?.expect("it was saved");
/// assert_eq!(kept.messages, [Message::user("Hello")]);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Sqlite {
    // One is enough: SQLite writes one at a time whoever asks, and to read a session takes no long time.
    connection: Arc<Mutex<Connection>>,
}

impl Sqlite {
    /// Opens the file, or begins it where there is none; its folder has to be there. One that an older
    /// version of this crate has written is brought up to date.
    ///
    /// # Errors
    /// It can't be opened, is of a newer version, or is another program's. It was not changed then.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref().to_owned();
        let opened = spawn_blocking(move || open::file(&path)).await;
        Ok(Self::of(opened.map_err(OpenError::unavailable)??))
    }

    /// Keeps conversations for as long as the process runs: for tests of what is to run on a file.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn in_memory() -> Result<Self, OpenError> {
        open::in_memory().map(Self::of)
    }

    fn of(connection: Connection) -> Self {
        Self { connection: Arc::new(Mutex::new(connection)) }
    }

    /// Works where it holds up nobody.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, SessionError> + Send + 'static,
    ) -> Result<T, SessionError> {
        let connection = Arc::clone(&self.connection);
        // A transaction that a panic cut off was rolled back as it unwound.
        let work = move || work(&mut connection.lock().unwrap_or_else(PoisonError::into_inner));
        spawn_blocking(work).await.map_err(SessionError::unavailable)?
    }
}

#[async_trait]
impl SessionStore for Sqlite {
    async fn load(&self, session: &str) -> Result<Option<SessionRecord>, SessionError> {
        let session = session.to_owned();
        self.work(move |connection| kept::load(connection, &session)).await
    }

    async fn save(&self, session: &str, write: SessionWrite<'_>) -> Result<u64, SessionError> {
        let write = kept::Texts::of(session, &write)?;
        self.work(move |connection| write.save(connection)).await
    }

    async fn list(&self) -> Result<Vec<SessionInfo>, SessionError> {
        self.work(kept::list).await
    }

    async fn delete(&self, session: &str) -> Result<(), SessionError> {
        let session = session.to_owned();
        self.work(move |connection| kept::delete(connection, &session)).await
    }
}
