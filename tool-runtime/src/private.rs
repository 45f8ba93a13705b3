//! What generated code calls. Not for people: it changes without notice.

pub use std::boxed::Box;
pub use std::sync::LazyLock;

pub use schemars;
pub use serde;

pub use crate::tool::function::{Function, NamesFunction};
pub use crate::tool::param::{Argument, BorrowedArgument, Lent, Names, Owned, PickLent, PickOwned};
pub use crate::tool::{Bare, Effect, Returned, ToolContext, finish};

/// Stands in a tool whose function has errors, so that only those are reported.
pub fn unfinished() -> ! {
    unreachable!("a tool with errors doesn't compile")
}
