//! Messages as lines of a pair of byte streams, without waiting or growing without a limit.
//!
//! `reader.rs` reads lines of bounded size, and `envelope.rs` finds the kind and the id of a line
//! that can't be read. `writer.rs` writes lines in the order in which they are queued, each within
//! a time limit.

mod envelope;
mod reader;
mod writer;

use serde::Serialize;

pub(crate) use envelope::Envelope;
pub(crate) use reader::{BoundedLines, Line};
#[cfg(feature = "client-stdio")]
pub(crate) use writer::WriteError;
pub(crate) use writer::{LineWriter, Sending};

/// The length of most messages, which are then written without growing their buffer.
const LINE_BYTES: usize = 1 << 10;

/// Returns a message as a line of JSON, with its end.
pub(crate) fn json_line(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(LINE_BYTES);
    serde_json::to_writer(&mut line, message)?;
    line.push(b'\n');
    Ok(line)
}
