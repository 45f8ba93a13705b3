//! States of one file, before and after a change.

use std::fs::Metadata;
use std::sync::Arc;

use crate::change::atomic::mode;
use crate::read::content::as_text;
use crate::version::Version;

/// A file with its content, unless it is too large to be loaded.
#[derive(Clone, Debug)]
pub(crate) struct FileState {
    /// The content; `None` if it has more than [`MAX_CONTENT`](crate::version::MAX_CONTENT) bytes.
    pub(crate) bytes: Option<Arc<[u8]>>,
    /// The text without secrets, if it differs from the content.
    redacted: Option<Arc<str>>,
    pub(crate) len: u64,
    /// The permission bits.
    pub(crate) mode: u32,
    pub(crate) version: Version,
}

impl FileState {
    pub(crate) fn of_file(bytes: Option<Vec<u8>>, metadata: &Metadata) -> Self {
        let version = match &bytes {
            Some(bytes) => Version::of_content(bytes),
            None => Version::of_large_file(metadata),
        };
        let len = match &bytes {
            Some(bytes) => bytes.len() as u64,
            None => metadata.len(),
        };
        let bytes = bytes.map(Arc::from);
        Self { bytes, redacted: None, len, mode: mode(metadata), version }
    }

    /// Returns the state of a file with this content and these permission bits.
    pub(crate) fn of_content(bytes: &[u8], mode: u32) -> Self {
        let (len, version) = (bytes.len() as u64, Version::of_content(bytes));
        Self { bytes: Some(Arc::from(bytes)), redacted: None, len, mode, version }
    }

    /// Replaces the secrets of the text that diffs show.
    pub(crate) fn redact(mut self, redact: &impl Fn(&str) -> String) -> Self {
        if let Some(text) = self.bytes.as_deref().and_then(as_text) {
            let redacted = redact(text);
            self.redacted = (redacted != text).then(|| redacted.into());
        }
        self
    }

    /// Returns the text that diffs show; `None` if the content is not text or too large.
    pub(crate) fn diff_text(&self) -> Option<&str> {
        self.redacted.as_deref().or_else(|| as_text(self.bytes.as_deref()?))
    }

    /// Returns the bytes that the state takes in memory.
    pub(crate) fn size(&self) -> usize {
        let bytes = self.bytes.as_deref().map_or(0, <[u8]>::len);
        bytes + self.redacted.as_deref().map_or(0, str::len)
    }
}
