//! Tests that need internals: files of other versions, files that can't be written, and processes
//! that are killed between two statements.

mod folder;
pub(super) mod kills;
#[cfg(unix)]
mod links;
mod read_only;
mod tables;
mod versions;
