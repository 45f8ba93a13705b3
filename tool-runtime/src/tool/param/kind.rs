//! What a parameter can be.

use std::convert::Infallible;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::Error as Undecodable;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use super::slot::{Parameter, Slot};
use crate::schema::Generator;
use crate::tool::ToolContext;
use crate::tool::args::{Input, Misread};

/// One parameter of a tool's function.
pub trait Param: Sized {
    /// What is decoded and kept until the function is called.
    type Value: Send;

    /// What is known of it before a call.
    fn parameter(&self, name: &'static str, description: &'static str) -> Parameter;

    /// Reads what came for the parameter at `index`.
    ///
    /// # Errors
    /// It isn't such a value, or nothing came and it may not be left out.
    fn value(input: &Input<'_>, index: usize) -> Result<Self::Value, Misread>;

    /// The same, as it waits for the function.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    #[inline]
    fn read(&self, input: &Input<'_>, index: usize) -> Result<Slot<Self>, Misread> {
        match Self::value(input, index) {
            Ok(value) => Ok(Slot(value)),
            Err(misread) => Err(misread),
        }
    }
}

/// A parameter that is passed by value.
pub trait Give: Param {
    /// What the function receives.
    type Given<'a>;

    /// Hands it over.
    fn give(value: Self::Value, ctx: &ToolContext) -> Self::Given<'_>;
}

/// A parameter that is passed by reference.
pub trait Lend: Param {
    /// What the function borrows.
    type Lent: ?Sized;

    /// Lends it.
    fn lend<'a>(value: &'a Self::Value, ctx: &'a ToolContext) -> &'a Self::Lent;
}

/// An argument of type `T`.
#[derive(Debug)]
pub struct Value<T>(PhantomData<fn() -> T>);

/// An argument of type `T` that the function borrows as `&U`.
#[derive(Debug)]
pub struct Borrowed<T, U: ?Sized>(PhantomData<fn(&U) -> T>);

/// The context of the call.
#[derive(Debug)]
pub struct Context(());

/// A parameter that has a default: where it is left out, the caller fills it in.
#[derive(Debug)]
pub struct Defaulted<P>(P);

/// A type that can't be a parameter. Its error is reported elsewhere; this keeps it the only one.
#[derive(Debug)]
pub struct Misfit<T: ?Sized>(PhantomData<fn(&T)>);

/// What a [`Misfit`] decodes to.
pub type Never = Infallible;

impl<T> Value<T> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<T, U: ?Sized> Borrowed<T, U> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl Context {
    pub(super) const NEW: Self = Self(());
}

impl<T: ?Sized> Misfit<T> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<T: DeserializeOwned + JsonSchema + Send> Param for Value<T> {
    type Value = T;

    fn parameter(&self, name: &'static str, description: &'static str) -> Parameter {
        let schema: fn(&mut Generator) -> _ = Generator::part::<T>;
        Parameter { name, description, schema: Some(schema), is_optional: is_optional::<T> }
    }

    #[inline]
    fn value(input: &Input<'_>, index: usize) -> Result<T, Misread> {
        let Some(text) = input.text(index) else {
            return T::deserialize(Absent).map_err(|_| Misread::missing(index));
        };
        let mut text = serde_json::Deserializer::from_str(text);
        match T::deserialize(&mut text) {
            Ok(value) => match text.end() {
                Ok(()) => Ok(value),
                Err(error) => Err(Misread::new(index, error)),
            },
            Err(error) => Err(Misread::new(index, error)),
        }
    }
}

fn is_optional<T: DeserializeOwned>() -> bool {
    T::deserialize(Absent).is_ok()
}

impl<T: DeserializeOwned + JsonSchema + Send> Give for Value<T> {
    type Given<'a> = T;

    #[inline]
    fn give(value: T, _: &ToolContext) -> T {
        value
    }
}

impl<T, U: ?Sized> Param for Borrowed<T, U>
where
    Value<T>: Param<Value = T>,
    T: Send,
{
    type Value = T;

    fn parameter(&self, name: &'static str, description: &'static str) -> Parameter {
        Value::<T>::NEW.parameter(name, description)
    }

    #[inline]
    fn value(input: &Input<'_>, index: usize) -> Result<T, Misread> {
        Value::<T>::value(input, index)
    }
}

impl<T: AsRef<U> + Send, U: ?Sized> Lend for Borrowed<T, U>
where
    Value<T>: Param<Value = T>,
{
    type Lent = U;

    #[inline]
    fn lend<'a>(value: &'a T, _: &'a ToolContext) -> &'a U {
        value.as_ref()
    }
}

/// Of a parameter that is no argument.
fn unread(name: &'static str) -> Parameter {
    Parameter { name, description: "", schema: None, is_optional: || true }
}

impl Param for Context {
    type Value = ();

    fn parameter(&self, name: &'static str, _: &'static str) -> Parameter {
        unread(name)
    }

    #[inline]
    fn value(_: &Input<'_>, _: usize) -> Result<(), Misread> {
        Ok(())
    }
}

impl Give for Context {
    type Given<'a> = &'a ToolContext;

    #[inline]
    fn give((): (), ctx: &ToolContext) -> &ToolContext {
        ctx
    }
}

impl Lend for Context {
    type Lent = ToolContext;

    #[inline]
    fn lend<'a>((): &'a (), ctx: &'a ToolContext) -> &'a ToolContext {
        ctx
    }
}

/// A parameter with a default.
pub fn defaulted<P>(param: P) -> Defaulted<P> {
    Defaulted(param)
}

impl<P: Param> Param for Defaulted<P> {
    type Value = Option<P::Value>;

    fn parameter(&self, name: &'static str, description: &'static str) -> Parameter {
        Parameter { is_optional: || true, ..self.0.parameter(name, description) }
    }

    #[inline]
    fn value(input: &Input<'_>, index: usize) -> Result<Self::Value, Misread> {
        input.text(index).map(|_| P::value(input, index)).transpose()
    }
}

impl<T: ?Sized> Param for Misfit<T> {
    type Value = Never;

    fn parameter(&self, name: &'static str, _: &'static str) -> Parameter {
        unread(name)
    }

    fn value(_: &Input<'_>, index: usize) -> Result<Never, Misread> {
        Err(Misread::missing(index))
    }
}

impl<T> Give for Misfit<T> {
    type Given<'a> = T;

    fn give(never: Never, _: &ToolContext) -> T {
        match never {}
    }
}

impl<T: ?Sized> Lend for Misfit<T> {
    type Lent = T;

    fn lend<'a>(never: &'a Never, _: &'a ToolContext) -> &'a T {
        match *never {}
    }
}

/// An input with nothing in it: `Option` and the like read it, everything else refuses.
struct Absent;

impl<'de> Deserializer<'de> for Absent {
    type Error = Undecodable;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Undecodable::custom("left out"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}
