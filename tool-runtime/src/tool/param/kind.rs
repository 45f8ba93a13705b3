//! What a parameter can be.

use std::convert::Infallible;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::Error as Undecodable;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value as Json;

use crate::schema::Generator;
use crate::tool::ToolContext;

/// One parameter of a tool's function.
pub trait Param {
    /// What is decoded and kept until the function is called.
    type Value: Send;

    /// Whether the model fills it. The other methods are asked of arguments only.
    const IS_ARGUMENT: bool;

    /// Its schema, as a part of the tool's.
    fn schema(generator: &mut Generator) -> Json;

    /// Its schema, as a document of its own.
    fn root_schema() -> Json;

    /// Reads it.
    ///
    /// # Errors
    /// The input isn't such a value.
    fn decode<'de, D: Deserializer<'de>>(input: D) -> Result<Self::Value, D::Error>;

    /// What it is when the model leaves it out; none where it may not be left out.
    fn absent() -> Option<Self::Value>;
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
pub struct Defaulted<P>(PhantomData<fn() -> P>);

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

    const IS_ARGUMENT: bool = true;

    fn schema(generator: &mut Generator) -> Json {
        generator.part::<T>()
    }

    fn root_schema() -> Json {
        Generator::new().root::<T>()
    }

    #[inline]
    fn decode<'de, D: Deserializer<'de>>(input: D) -> Result<T, D::Error> {
        T::deserialize(input)
    }

    #[inline]
    fn absent() -> Option<T> {
        T::deserialize(Absent).ok()
    }
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

    const IS_ARGUMENT: bool = true;

    fn schema(generator: &mut Generator) -> Json {
        Value::<T>::schema(generator)
    }

    fn root_schema() -> Json {
        Value::<T>::root_schema()
    }

    #[inline]
    fn decode<'de, D: Deserializer<'de>>(input: D) -> Result<T, D::Error> {
        Value::<T>::decode(input)
    }

    #[inline]
    fn absent() -> Option<T> {
        Value::<T>::absent()
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

impl Param for Context {
    type Value = ();

    const IS_ARGUMENT: bool = false;

    fn schema(_: &mut Generator) -> Json {
        Json::Null
    }

    fn root_schema() -> Json {
        Json::Null
    }

    fn decode<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
        Err(D::Error::custom("not an argument"))
    }

    #[inline]
    fn absent() -> Option<()> {
        Some(())
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

impl<P> Defaulted<P> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<P: Param> Param for Defaulted<P> {
    type Value = Option<P::Value>;

    const IS_ARGUMENT: bool = P::IS_ARGUMENT;

    fn schema(generator: &mut Generator) -> Json {
        P::schema(generator)
    }

    fn root_schema() -> Json {
        P::root_schema()
    }

    #[inline]
    fn decode<'de, D: Deserializer<'de>>(input: D) -> Result<Self::Value, D::Error> {
        P::decode(input).map(Some)
    }

    #[inline]
    fn absent() -> Option<Self::Value> {
        Some(None)
    }
}

impl<T: ?Sized> Param for Misfit<T> {
    type Value = Never;

    const IS_ARGUMENT: bool = false;

    fn schema(_: &mut Generator) -> Json {
        Json::Null
    }

    fn root_schema() -> Json {
        Json::Null
    }

    fn decode<'de, D: Deserializer<'de>>(_: D) -> Result<Never, D::Error> {
        Err(D::Error::custom("not an argument"))
    }

    fn absent() -> Option<Never> {
        None
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
