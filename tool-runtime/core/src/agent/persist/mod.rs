//! Saves a run to its session, step by step, and loads what a next run needs of it.
//!
//! - `load.rs` reads the state and the messages from the window on. The others stay in the store.
//! - `omitted.rs` converts the indices of a run, which count the loaded messages, to those of the
//!   stored conversation.
//! - `stored.rs` has the stored form of a state, and reads from the store.
//! - `system_messages.rs` finds the system messages, which every window shows.
//! - `truncate.rs` removes the end of a conversation.
//! - `writer.rs` writes the messages that are new or changed.

mod load;
mod omitted;
mod stored;
mod system_messages;
mod truncate;
mod writer;

pub(super) use load::load;
pub(super) use stored::{decode_state, load_record, store_panicked};
pub(super) use truncate::{Truncated, truncate};
pub(super) use writer::SessionWriter;
