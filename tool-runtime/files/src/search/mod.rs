//! Lists and searches files: by path (`list.rs`) and by content (`grep.rs`). Both walk through the
//! folder (`walk.rs`), and keep the first results in the order of the paths (`first.rs`).

mod first;
pub(crate) mod grep;
pub(crate) mod list;
mod walk;
