//! Messages as lines of a pair of byte streams, without waiting or growing without a limit.
//!
//! `reader.rs` reads lines of bounded size, and `envelope.rs` finds the kind and the id of a line
//! that can't be read. `writer.rs` writes lines in the order in which they are queued, each within
//! a time limit.

mod envelope;
mod reader;
mod writer;

pub(crate) use envelope::Envelope;
pub(crate) use reader::{BoundedLines, Line};
#[cfg(feature = "client-stdio")]
pub(crate) use writer::WriteError;
pub(crate) use writer::{LineWriter, Sending};
