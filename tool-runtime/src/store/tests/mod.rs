//! Tests that need internals: files of other versions, and processes that are killed between two
//! statements.

mod folder;
pub(super) mod kills;
mod versions;
