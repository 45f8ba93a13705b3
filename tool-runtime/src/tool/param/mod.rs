//! The parameters of a tool's function, judged by their types.
//!
//! Of a parameter written `T` generated code asks that `T` be an [`Argument`], of one written `&T`
//! that `T` be a [`BorrowedArgument`]: what is wrong with the type is said there, once. [`Owned`]
//! and [`Lent`] then pick what it is, an argument or the context, without a bound that could fail a
//! second time. Types decide; how they were spelled does not.

mod check;
mod kind;
mod pick;
mod slot;

pub use check::{Argument, BorrowedArgument, ByValue};
pub use kind::{Borrowed, Context, Defaulted, Give, Lend, Misfit, Never, Param, Value, defaulted};
pub use pick::{FromText, Lendable, Lent, NotShown, Owned, PickLent, PickOwned, Shown};
pub use slot::{Parameter, Slot};
