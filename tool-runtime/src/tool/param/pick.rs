//! Which kind a parameter is.
//!
//! A method of the type itself is found before one of a trait, and only where its impl's bounds
//! hold: so `__pick` is the inherent one for types that fit and the trait's for all others.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::kind::{Borrowed, Context, Lend, Misfit, Value};
use crate::tool::ToolContext;

/// A parameter written `T`.
#[derive(Debug)]
pub struct Owned<T>(PhantomData<fn() -> T>);

/// A parameter written `&T`.
#[derive(Debug)]
pub struct Lent<T: ?Sized>(PhantomData<fn(&T)>);

impl<T> Owned<T> {
    /// Asks about `T`.
    #[expect(clippy::new_without_default, reason = "only generated code asks")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: ?Sized> Lent<T> {
    /// Asks about `&T`.
    #[expect(clippy::new_without_default, reason = "only generated code asks")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: DeserializeOwned + JsonSchema + Send> Owned<T> {
    /// An argument.
    pub fn __pick(self) -> Value<T> {
        Value::NEW
    }
}

/// The context under an alias that hides the reference.
impl Owned<&ToolContext> {
    /// The context.
    pub fn __pick(self) -> Context {
        Context::NEW
    }
}

/// What [`Owned`] is otherwise.
pub trait PickOwned: Sized {
    /// The type.
    type Type;

    /// Nothing.
    fn __pick(self) -> Misfit<Self::Type> {
        Misfit::NEW
    }
}

impl<T> PickOwned for Owned<T> {
    type Type = T;
}

/// A type that a function may borrow as `&T`.
pub trait Lendable {
    /// What it is.
    type Kind: Lend<Lent = Self>;

    /// What it is.
    const KIND: Self::Kind;
}

impl Lendable for str {
    type Kind = Borrowed<String, Self>;

    const KIND: Self::Kind = Borrowed::NEW;
}

impl<T: DeserializeOwned + JsonSchema + Send> Lendable for [T] {
    type Kind = Borrowed<Vec<T>, Self>;

    const KIND: Self::Kind = Borrowed::NEW;
}

impl Lendable for ToolContext {
    type Kind = Context;

    const KIND: Self::Kind = Context::NEW;
}

impl<T: Lendable + ?Sized> Lent<T> {
    /// What is lent.
    pub fn __pick(self) -> T::Kind {
        T::KIND
    }
}

/// What [`Lent`] is otherwise.
pub trait PickLent: Sized {
    /// The type.
    type Type: ?Sized;

    /// Nothing.
    fn __pick(self) -> Misfit<Self::Type> {
        Misfit::NEW
    }
}

impl<T: ?Sized> PickLent for Lent<T> {
    type Type = T;
}

/// A type that a text literal stands for as a default. A blanket over `Into`, for its words.
#[diagnostic::on_unimplemented(
    message = "a text can't be the default of a `{Self}`",
    label = "write a value of that type: `default = 3`, not `default = \"3\"`"
)]
pub trait FromText {
    /// What the text stands for.
    fn from_text(text: &'static str) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T> FromText for T
where
    &'static str: Into<T>,
{
    fn from_text(text: &'static str) -> Self {
        text.into()
    }
}

/// A default that is shown in the schema where it can be written as JSON.
#[derive(Debug)]
pub struct Shown<T>(pub T);

impl<T: Serialize> Shown<T> {
    /// The value.
    pub fn __json(self) -> Option<Json> {
        serde_json::to_value(self.0).ok()
    }
}

/// What [`Shown`] is otherwise.
pub trait NotShown: Sized {
    /// Nothing.
    fn __json(self) -> Option<Json> {
        None
    }
}

impl<T> NotShown for Shown<T> {}
