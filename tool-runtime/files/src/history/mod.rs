//! The changes that runs have made (`journal.rs`): patches of them (`recorder.rs`, `diff.rs`), and
//! their undoing (`undo.rs`).

pub(crate) mod diff;
pub(crate) mod journal;
pub(crate) mod recorder;
pub(crate) mod undo;
