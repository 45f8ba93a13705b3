//! Items for code that the macros generate. They are not part of the public API and can change in
//! any release.

pub use std::borrow::ToOwned;
pub use std::boxed::Box;
pub use std::marker::{Send, Sync};
pub use std::option::Option::{None, Some};
pub use std::result::Result::{self, Err, Ok};
pub use std::sync::{Arc, LazyLock};
pub use std::vec::Vec;

pub use schemars;
pub use serde;

pub use crate::tool::{args as decoding, function, param};

pub use crate::schema::{length_mark, range_mark};
pub use crate::tool::function::layout::LoneParameter;
pub use crate::tool::function::{Function, ToolFunction};
pub use crate::tool::param::{
    Argument, BorrowedArgument, BorrowedParam, DefaultValue, FromStaticStr, NotSerializable,
    OwnedArgument, OwnedParam, Param, RangeBound, SelectBorrowed, SelectOwned, range_bound,
    with_default,
};
pub use crate::tool::{
    Availability, Effect, IntoToolError, IntoToolOutput, NoSchema, NotResult, Permission, Repair,
    RequiredExtension, ReturnType, ReturnValue, ToolError, Toolbox, on_blocking_thread,
};

/// Replaces the body of a tool whose function has errors, so that the compiler reports only those.
pub fn invalid_tool() -> ! {
    unreachable!("a tool with errors does not compile")
}
