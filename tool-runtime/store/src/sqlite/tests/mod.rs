//! Tests that need internals: files of other versions, files that can't be written, and processes
//! that are killed between two statements.

mod folder;
pub(super) mod kills;
mod read_only;
mod tables;
mod versions;
