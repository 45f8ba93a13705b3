//! The parameters of a tool's function, classified by their types.
//!
//! 1. For a parameter written `T`, generated code requires `T: Argument`; for one written `&T`, it
//!    requires `T: BorrowedArgument` (`check.rs`). An unsuitable type is reported there, once.
//! 2. [`OwnedParam`] and [`BorrowedParam`] then select the kind of the parameter (`select.rs`)
//!    without a trait bound that could cause a second error.
//! 3. The kinds (`kind.rs`) implement [`Param`] (`parameter.rs`): they provide the schema and
//!    decode the text of the argument into an [`ArgumentSlot`], from which the function receives
//!    it.
//!
//! Types decide, not their spelling: an alias has the same meaning.

mod check;
mod kind;
mod parameter;
mod range_bound;
mod select;

pub use check::{Argument, BorrowedArgument, OwnedArgument};
pub use kind::{Borrowed, Context, Defaulted, Never, UnsupportedParam, Value, with_default};
pub use parameter::{ArgumentSlot, Param, Parameter, PassByReference, PassByValue};
pub use range_bound::{RangeBound, range_bound};
pub use select::{
    BorrowedParam, DefaultValue, FromStaticStr, Lendable, NotSerializable, OwnedParam,
    SelectBorrowed, SelectOwned,
};
