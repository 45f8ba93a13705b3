//! Selects the kind of a parameter.
//!
//! The compiler prefers an inherent method to a method of a trait, if the bounds of its `impl`
//! hold. So `__select` is the inherent method for suitable types, and the method of the trait for
//! all others.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::kind::{Borrowed, Context, UnsupportedParam, Value};
use super::parameter::PassByReference;
use crate::tool::ToolContext;

/// A parameter written `T`.
#[derive(Debug)]
pub struct OwnedParam<T>(PhantomData<fn() -> T>);

/// A parameter written `&T`.
#[derive(Debug)]
pub struct BorrowedParam<T: ?Sized>(PhantomData<fn(&T)>);

impl<T> OwnedParam<T> {
    /// Creates a value that stands for `T`.
    #[expect(clippy::new_without_default, reason = "only generated code calls it")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: ?Sized> BorrowedParam<T> {
    /// Creates a value that stands for `&T`.
    #[expect(clippy::new_without_default, reason = "only generated code calls it")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: DeserializeOwned + JsonSchema + Send> OwnedParam<T> {
    /// Selects an argument.
    pub fn __select(self) -> Value<T> {
        Value::NEW
    }
}

/// Recognizes the context under an alias that hides the reference.
impl OwnedParam<&ToolContext> {
    /// Selects the context.
    pub fn __select(self) -> Context {
        Context::NEW
    }
}

/// The fallback for types that [`OwnedParam`] does not support.
pub trait SelectOwned: Sized {
    /// The type of the parameter.
    type Type;

    /// Selects the unsupported kind.
    fn __select(self) -> UnsupportedParam<Self::Type> {
        UnsupportedParam::NEW
    }
}

impl<T> SelectOwned for OwnedParam<T> {
    type Type = T;
}

/// A type that a function can borrow as `&T`.
pub trait Lendable {
    /// The kind of the parameter.
    type Kind: PassByReference<Borrowed = Self>;

    /// The kind as a value.
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

impl<T: Lendable + ?Sized> BorrowedParam<T> {
    /// Selects the kind of the borrowed type.
    pub fn __select(self) -> T::Kind {
        T::KIND
    }
}

/// The fallback for types that [`BorrowedParam`] does not support.
pub trait SelectBorrowed: Sized {
    /// The type of the parameter.
    type Type: ?Sized;

    /// Selects the unsupported kind.
    fn __select(self) -> UnsupportedParam<Self::Type> {
        UnsupportedParam::NEW
    }
}

impl<T: ?Sized> SelectBorrowed for BorrowedParam<T> {
    type Type = T;
}

/// A type that a string literal can initialize as a default.
#[diagnostic::on_unimplemented(
    message = "a text can't be the default of a `{Self}`",
    label = "write a value of that type: `default = 3`, not `default = \"3\"`",
    note = "a text literal is converted with `From<&'static str>`"
)]
pub trait FromStaticStr {
    /// Converts the literal.
    fn from_static_str(text: &'static str) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T> FromStaticStr for T
where
    &'static str: Into<T>,
{
    fn from_static_str(text: &'static str) -> Self {
        text.into()
    }
}

/// The default of a parameter, which the schema shows if it can be serialized as JSON.
#[derive(Debug)]
pub struct DefaultValue<T>(pub T);

impl<T: Serialize> DefaultValue<T> {
    /// Returns the value as JSON.
    pub fn __json(self) -> Option<Json> {
        serde_json::to_value(self.0).ok()
    }
}

/// The fallback for defaults that are not serializable.
pub trait NotSerializable: Sized {
    /// Returns `None`.
    fn __json(self) -> Option<Json> {
        None
    }
}

impl<T> NotSerializable for DefaultValue<T> {}
