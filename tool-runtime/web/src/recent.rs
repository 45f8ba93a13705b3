//! Keeps the documents that runs read in sections, so that the sections of one fit together.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tool_core::event::RunId;

use crate::content::Document;

/// The most documents that are kept.
const MAX_DOCUMENTS: usize = 16;

/// The most bytes of their texts.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// A document with the URL and the status of its response.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) document: Document,
    pub(crate) url: String,
    pub(crate) status: u16,
}

/// The last documents, by run and requested URL.
#[derive(Debug, Default)]
pub(crate) struct RecentDocuments(Mutex<VecDeque<(RunId, String, Arc<Fetched>)>>);

impl RecentDocuments {
    pub(crate) fn get(&self, run: RunId, url: &str) -> Option<Arc<Fetched>> {
        let documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = documents.iter().find(|(of, at, _)| *of == run && at == url);
        found.map(|(_, _, fetched)| Arc::clone(fetched))
    }

    /// Keeps a document in the place of an earlier one, and drops the oldest.
    pub(crate) fn put(&self, run: RunId, url: &str, fetched: Arc<Fetched>) {
        let mut documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        documents.retain(|(of, at, _)| *of != run || at != url);
        documents.push_back((run, url.to_owned(), fetched));
        let size = |documents: &VecDeque<(RunId, String, Arc<Fetched>)>| {
            documents.iter().map(|(_, _, fetched)| fetched.document.text.len()).sum::<usize>()
        };
        while documents.len() > MAX_DOCUMENTS || size(&documents) > MAX_BYTES {
            documents.pop_front();
        }
    }
}
