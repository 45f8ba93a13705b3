//! The kinds of parameters.

use std::convert::Infallible;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::Error as AbsentError;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use super::parameter::{ArgumentSlot, Param, Parameter, PassByReference, PassByValue};
use crate::schema::Generator;
use crate::tool::ToolContext;
use crate::tool::args::{ArgumentDecodeError, RawArguments};

/// An argument of type `T`.
#[derive(Debug)]
pub struct Value<T>(PhantomData<fn() -> T>);

/// An argument that is decoded as `T` and borrowed as `&U`.
#[derive(Debug)]
pub struct Borrowed<T, U: ?Sized>(PhantomData<fn(&U) -> T>);

/// The context of the call.
#[derive(Debug)]
pub struct Context(());

/// A parameter with a default, which the caller supplies if the argument is missing.
#[derive(Debug)]
pub struct Defaulted<P>(P);

/// A type that can't be a parameter. The error is reported elsewhere; this kind avoids another one.
#[derive(Debug)]
pub struct UnsupportedParam<T: ?Sized>(PhantomData<fn(&T)>);

/// The value of an [`UnsupportedParam`] parameter, which never exists.
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

impl<T: ?Sized> UnsupportedParam<T> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<T: DeserializeOwned + JsonSchema + Send> Param for Value<T> {
    type Owned = T;

    fn parameter(&self, name: &'static str, description: &'static str) -> Parameter {
        let schema: fn(&mut Generator) -> _ = Generator::part::<T>;
        Parameter { name, description, schema: Some(schema), decode_error: decode_error::<Self> }
    }

    #[inline]
    fn value(arguments: &RawArguments<'_>, index: usize) -> Result<T, ArgumentDecodeError> {
        let Some(text) = arguments.text(index) else {
            return T::deserialize(Absent).map_err(|_| ArgumentDecodeError::Missing);
        };
        let mut text = serde_json::Deserializer::from_str(text);
        match T::deserialize(&mut text) {
            Ok(value) => match text.end() {
                Ok(()) => Ok(value),
                Err(error) => Err(ArgumentDecodeError::rejected(error)),
            },
            Err(error) => Err(ArgumentDecodeError::rejected(error)),
        }
    }
}

/// Decodes the text of one argument, independently of the other arguments.
fn decode_error<P: Param>(text: Option<&str>) -> Option<ArgumentDecodeError> {
    P::value(&RawArguments::first(text), 0).err()
}

impl<T: DeserializeOwned + JsonSchema + Send> PassByValue for Value<T> {
    type Passed<'a> = T;

    #[inline]
    fn pass(value: T, _: &ToolContext) -> T {
        value
    }
}

impl<T, U: ?Sized> Param for Borrowed<T, U>
where
    Value<T>: Param<Owned = T>,
    T: Send,
{
    type Owned = T;

    fn parameter(&self, name: &'static str, description: &'static str) -> Parameter {
        Value::<T>::NEW.parameter(name, description)
    }

    #[inline]
    fn value(arguments: &RawArguments<'_>, index: usize) -> Result<T, ArgumentDecodeError> {
        Value::<T>::value(arguments, index)
    }
}

impl<T: AsRef<U> + Send, U: ?Sized> PassByReference for Borrowed<T, U>
where
    Value<T>: Param<Owned = T>,
{
    type Borrowed = U;

    #[inline]
    fn borrow<'a>(value: &'a T, _: &'a ToolContext) -> &'a U {
        value.as_ref()
    }
}

/// Describes a parameter that is not an argument.
fn not_an_argument(name: &'static str) -> Parameter {
    Parameter { name, description: "", schema: None, decode_error: |_| None }
}

impl Param for Context {
    type Owned = ();

    fn parameter(&self, name: &'static str, _: &'static str) -> Parameter {
        not_an_argument(name)
    }

    #[inline]
    fn value(_: &RawArguments<'_>, _: usize) -> Result<(), ArgumentDecodeError> {
        Ok(())
    }
}

impl PassByValue for Context {
    type Passed<'a> = &'a ToolContext;

    #[inline]
    fn pass((): (), ctx: &ToolContext) -> &ToolContext {
        ctx
    }
}

impl PassByReference for Context {
    type Borrowed = ToolContext;

    #[inline]
    fn borrow<'a>((): &'a (), ctx: &'a ToolContext) -> &'a ToolContext {
        ctx
    }
}

/// Declares that a parameter has a default.
pub fn with_default<P>(param: P) -> Defaulted<P> {
    Defaulted(param)
}

impl<P: Param> Param for Defaulted<P> {
    type Owned = Option<P::Owned>;

    fn parameter(&self, name: &'static str, description: &'static str) -> Parameter {
        let decode_error = decode_error::<Self>;
        Parameter { decode_error, ..self.0.parameter(name, description) }
    }

    #[inline]
    fn value(
        arguments: &RawArguments<'_>,
        index: usize,
    ) -> Result<Self::Owned, ArgumentDecodeError> {
        arguments.text(index).map(|_| P::value(arguments, index)).transpose()
    }
}

impl<P: Param> ArgumentSlot<Defaulted<P>> {
    /// Supplies the default if the argument is missing.
    #[inline]
    pub fn unwrap_or_else(self, default: impl FnOnce() -> P::Owned) -> ArgumentSlot<P> {
        ArgumentSlot(self.0.unwrap_or_else(default))
    }
}

impl<T: ?Sized> Param for UnsupportedParam<T> {
    type Owned = Never;

    fn parameter(&self, name: &'static str, _: &'static str) -> Parameter {
        not_an_argument(name)
    }

    fn value(_: &RawArguments<'_>, _: usize) -> Result<Never, ArgumentDecodeError> {
        Err(ArgumentDecodeError::Missing)
    }
}

impl<T> PassByValue for UnsupportedParam<T> {
    type Passed<'a> = T;

    fn pass(never: Never, _: &ToolContext) -> T {
        match never {}
    }
}

impl<T: ?Sized> PassByReference for UnsupportedParam<T> {
    type Borrowed = T;

    fn borrow<'a>(never: &'a Never, _: &'a ToolContext) -> &'a T {
        match *never {}
    }
}

/// The input of a missing argument: `Option` and the like accept it, everything else rejects it.
struct Absent;

impl<'de> Deserializer<'de> for Absent {
    type Error = AbsentError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(AbsentError::custom("left out"))
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
