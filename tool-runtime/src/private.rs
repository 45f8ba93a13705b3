//! What generated code calls. Not for people: it changes without notice.

pub use std::borrow::ToOwned;
pub use std::boxed::Box;
pub use std::marker::{Send, Sync};
pub use std::result::Result::{Err, Ok};
pub use std::sync::{Arc, LazyLock};
pub use std::vec::Vec;

pub use schemars;
pub use serde;

pub use crate::tool::{Failure, Output, args as decoding, function, param};

pub use crate::tool::function::{Function, NamesFunction};
pub use crate::tool::layout::Lone;
pub use crate::tool::param::{
    Argument, BorrowedArgument, ByValue, FromText, Lent, NotShown, Owned, Param, PickLent,
    PickOwned, Shown, defaulted,
};
pub use crate::tool::{
    Availability, Bare, Effect, NoSchema, Permission, Repair, RequiredExtension, Returned, Returns,
    Toolbox, on_blocking_thread,
};

/// Stands in a tool whose function has errors, so that only those are reported.
pub fn unfinished() -> ! {
    unreachable!("a tool with errors doesn't compile")
}
