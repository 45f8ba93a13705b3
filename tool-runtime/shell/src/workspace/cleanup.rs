//! Removes what a command has left in repositories, when its last process has ended.

use std::sync::Arc;
use std::thread;

use tokio::task::spawn_blocking;

use super::super::left_behind::LeftBehind;
use super::WrittenFolders;
use super::namespace::Namespace;
use super::scan::Scan;

const NOT_CHECKED: &str = "repositories were not checked for links";

/// The work that is due after a command. If it is dropped, as after a call that was cancelled, a
/// thread does the work.
#[derive(Debug)]
pub(crate) struct Cleanup(Option<Due>);

#[derive(Debug)]
struct Due {
    written: Arc<WrittenFolders>,
    before: Vec<Scan>,
    namespace: Option<Namespace>,
}

impl Cleanup {
    /// Creates the work after a command, with the folders as they are before it starts.
    pub(crate) fn new(written: Arc<WrittenFolders>, before: Vec<Scan>) -> Self {
        Self(Some(Due { written, before, namespace: None }))
    }

    /// Awaits the end of these processes first.
    pub(crate) fn after(mut self, namespace: Namespace) -> Self {
        if let Some(due) = &mut self.0 {
            due.namespace = Some(namespace);
        }
        self
    }

    /// Does the work after the command has ended, and reports what was removed, also after earlier
    /// commands whose calls were cancelled.
    pub(crate) async fn finish(&mut self) -> LeftBehind {
        let Some(due) = self.0.take() else { return LeftBehind::default() };
        let written = Arc::clone(&due.written);
        // The thread continues if this future is dropped.
        if spawn_blocking(|| due.work()).await.is_err() {
            written.seal(NOT_CHECKED);
        }
        std::mem::take(&mut *written.reports())
    }
}

impl Due {
    fn work(self) {
        let ended = self.namespace.map_or(Ok(()), Namespace::wait);
        self.written.remove_new_links(&self.before);
        if let Err(error) = ended {
            self.written.seal(&format!("processes of the command have not ended: {error}"));
        }
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        let Some(due) = self.0.take() else { return };
        let written = Arc::clone(&due.written);
        let thread = thread::Builder::new().name("sandbox-cleanup".to_owned());
        if thread.spawn(|| due.work()).is_err() {
            written.seal(NOT_CHECKED);
        }
    }
}
