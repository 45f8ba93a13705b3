//! Decoding of large messages on the blocking pool.
//!
//! A message of 32 MiB can take seconds to decode. In one poll, no time limit could stop its
//! reader, and the other tasks of the thread would wait.

use std::panic::resume_unwind;

use tokio::task::spawn_blocking;

use tool_core::Delta;
use tool_core::message::{GeneratedFile, Source};
use tool_core::models::DeltaSink;

/// The size from which on a message is large: it takes some milliseconds to decode.
const LARGE: usize = 256 << 10;

/// Returns whether so many bytes are decoded on the blocking pool.
pub(crate) fn is_large(bytes: usize) -> bool {
    bytes >= LARGE
}

/// Runs work on the blocking pool. Returns `None` if the runtime shuts down.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match spawn_blocking(work).await {
        Ok(decoded) => Some(decoded),
        Err(error) => error.try_into_panic().ok().map(|panic| resume_unwind(panic)),
    }
}

/// The deltas of a message, which are emitted once it is decoded.
#[derive(Debug, Default)]
pub(crate) struct DeltaBuffer(Vec<OwnedDelta>);

#[derive(Debug)]
enum OwnedDelta {
    Text(String),
    Reasoning(String),
    Call { index: usize, id: String, name: String },
    Arguments { index: usize, text: String },
    Source(Box<Source>),
    File(Box<GeneratedFile>),
}

impl DeltaBuffer {
    pub(crate) fn push(&mut self, delta: Delta<'_>) {
        self.0.push(match delta {
            Delta::Text(text) => OwnedDelta::Text(text.to_owned()),
            Delta::Reasoning(text) => OwnedDelta::Reasoning(text.to_owned()),
            Delta::Call { index, id, name } => {
                OwnedDelta::Call { index, id: id.to_owned(), name: name.to_owned() }
            }
            Delta::Arguments { index, text } => {
                OwnedDelta::Arguments { index, text: text.to_owned() }
            }
            Delta::Source(source) => OwnedDelta::Source(Box::new(source.clone())),
            Delta::File(file) => OwnedDelta::File(Box::new(file.clone())),
            // The codecs of this crate create the kinds above.
            _ => return,
        });
    }

    pub(crate) fn emit(&self, deltas: &mut DeltaSink<'_>) {
        for delta in &self.0 {
            deltas(match delta {
                OwnedDelta::Text(text) => Delta::Text(text),
                OwnedDelta::Reasoning(text) => Delta::Reasoning(text),
                OwnedDelta::Call { index, id, name } => Delta::Call { index: *index, id, name },
                OwnedDelta::Arguments { index, text } => Delta::Arguments { index: *index, text },
                OwnedDelta::Source(source) => Delta::Source(source),
                OwnedDelta::File(file) => Delta::File(file),
            });
        }
    }
}
