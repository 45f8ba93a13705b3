//! What is wrong with the type of a parameter: one error, under the type, that names the mend.
//!
//! Each trait is a blanket over what it asks for and nothing else, so that the compiler reports it
//! in the trait's own words, and generated code names it by path, which spares the reader a note
//! on where the bound stands.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::pick::Lendable;
use crate::tool::ToolContext;

/// A type that a parameter may have: one that is decoded from what a model sends, or
/// `&ToolContext`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a tool",
    label = "put `#[args]` on this type, or derive both `serde::Deserialize` and `schemars::JsonSchema`",
    note = "what a model doesn't send comes through `ctx: &ToolContext`, by `ctx.get::<T>()`; \
            a type of another crate has to know serde 1 and schemars 1, and any has to be `Send`"
)]
pub trait Argument {
    /// It is one.
    const FITS: () = ();
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send> Argument for T {}

#[diagnostic::do_not_recommend]
impl Argument for &ToolContext {}

/// The same of a type that is named like the context: where it is the context, the mend is another.
#[diagnostic::on_unimplemented(
    message = "a tool can't take the context by value",
    label = "write `&ToolContext`: the context is lent"
)]
pub trait ByValue {
    /// It is one.
    const FITS: () = ();
}

#[diagnostic::do_not_recommend]
impl<T: Argument> ByValue for T {}

/// A type that a parameter may borrow: `str`, `[T]` or `ToolContext`.
#[diagnostic::on_unimplemented(
    message = "a tool can't borrow `{Self}` from its arguments",
    label = "take it by value; only `&str`, `&[T]` and `&ToolContext` are lent",
    note = "what a model doesn't send comes through `ctx: &ToolContext`, by `ctx.get::<T>()`"
)]
pub trait BorrowedArgument {
    /// It is one.
    const FITS: () = ();
}

#[diagnostic::do_not_recommend]
impl<T: Lendable + ?Sized> BorrowedArgument for T {}
