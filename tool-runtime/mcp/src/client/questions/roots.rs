//! The folders that a server may work in.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ListRootsResult, Root};

/// The folders of a connection, which the program can replace.
#[derive(Clone, Debug)]
pub(crate) struct Roots(Arc<Mutex<Vec<Root>>>);

impl Roots {
    pub(crate) fn new(roots: Vec<Root>) -> Self {
        Self(Arc::new(Mutex::new(roots)))
    }

    pub(crate) fn set(&self, roots: Vec<Root>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    /// Answers the request of a server for the folders.
    pub(crate) fn list(&self) -> ListRootsResult {
        ListRootsResult::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Creates a folder with a name.
pub(crate) fn named_root(uri: impl Into<String>, name: impl Into<String>) -> Root {
    let mut root = Root::new(uri);
    root.name = Some(name.into());
    root
}
