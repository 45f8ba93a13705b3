//! What generated code calls. Not for people: it changes without notice.

pub use std::sync::LazyLock;

pub use schemars;
pub use serde;

pub use crate::message::Arguments;
pub use crate::tool::function::{FunctionTool, Outcome, Spec, ToolFn, decode};
pub use crate::tool::param::{Lent, Owned};
pub use crate::tool::{Bare, Effect, Returned, ToolContext};

/// Stands in a tool whose function has errors, so that only those are reported.
pub fn unfinished() -> ! {
    unreachable!("a tool with errors doesn't compile")
}
