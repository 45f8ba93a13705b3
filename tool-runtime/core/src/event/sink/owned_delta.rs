//! A piece of a reply that waits in a queue.

use crate::message::{Delta, GeneratedFile, Source};

/// A [`Delta`] that owns its text.
pub(super) enum OwnedDelta {
    Text(String),
    Reasoning(String),
    Call { index: usize, id: String, name: String },
    Arguments { index: usize, text: String },
    Source(Box<Source>),
    File(Box<GeneratedFile>),
}

impl OwnedDelta {
    pub(super) fn as_delta(&self) -> Delta<'_> {
        match self {
            Self::Text(text) => Delta::Text(text),
            Self::Reasoning(text) => Delta::Reasoning(text),
            Self::Call { index, id, name } => Delta::Call { index: *index, id, name },
            Self::Arguments { index, text } => Delta::Arguments { index: *index, text },
            Self::Source(source) => Delta::Source(source),
            Self::File(file) => Delta::File(file),
        }
    }
}

impl From<Delta<'_>> for OwnedDelta {
    fn from(delta: Delta<'_>) -> Self {
        match delta {
            Delta::Text(text) => Self::Text(text.to_owned()),
            Delta::Reasoning(text) => Self::Reasoning(text.to_owned()),
            Delta::Call { index, id, name } => {
                Self::Call { index, id: id.to_owned(), name: name.to_owned() }
            }
            Delta::Arguments { index, text } => Self::Arguments { index, text: text.to_owned() },
            Delta::Source(source) => Self::Source(Box::new(source.clone())),
            Delta::File(file) => Self::File(Box::new(file.clone())),
        }
    }
}
