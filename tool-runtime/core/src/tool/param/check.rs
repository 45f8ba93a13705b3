//! Reports an unsuitable type of a parameter: one error, at the type, that says what to write.
//!
//! Each trait has a blanket implementation for the types that satisfy its bounds, so that the
//! compiler reports the message of the trait. Generated code names the traits by path, which avoids
//! a note about where the bound was introduced.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::select::Lendable;
use crate::tool::ToolContext;

/// A type that a parameter of a tool can have: one that is decoded from the arguments of a call, or
/// `&ToolContext`.
///
/// It is implemented for every `DeserializeOwned + JsonSchema + Send`. Put
/// [`#[args]`](macro@crate::args) on a type of your own.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a tool",
    label = "put `#[args]` on this type, or derive both `serde::Deserialize` and `schemars::JsonSchema`",
    note = "the type must also be `Send`; a type of another crate must implement the traits of serde 1 \
            and schemars 1",
    note = "for a type of chrono or uuid, enable the feature `chrono` or `uuid` of tool-runtime",
    note = "for a value of the program, take `ctx: &ToolContext` and call `ctx.require::<T>()`"
)]
pub trait Argument {
    /// Fails to compile if the type is unsuitable.
    const FITS: () = ();
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send> Argument for T {}

#[diagnostic::do_not_recommend]
impl Argument for &ToolContext {}

/// Checks a type that is spelled `ToolContext`. If it is the context, the error says to borrow it.
#[diagnostic::on_unimplemented(
    message = "a tool can't take the context by value",
    label = "write `&ToolContext`: the context is borrowed"
)]
pub trait OwnedArgument {
    /// Fails to compile if the type is the context.
    const FITS: () = ();
}

#[diagnostic::do_not_recommend]
impl<T: Argument> OwnedArgument for T {}

/// A type that a parameter of a tool can borrow: `str`, `[T]` or `ToolContext`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a tool can't borrow `{Self}` from its arguments",
    label = "take it by value; only `&str`, `&[T]` and `&ToolContext` can be borrowed",
    note = "for a value of the program, take `ctx: &ToolContext` and call `ctx.require::<T>()`"
)]
pub trait BorrowedArgument {
    /// Fails to compile if the type is unsuitable.
    const FITS: () = ();
}

#[diagnostic::do_not_recommend]
impl<T: Lendable + ?Sized> BorrowedArgument for T {}
