//! What can only be tried from within: files of other versions, and processes that are killed
//! between any two statements.

mod folder;
pub(super) mod kills;
mod versions;
