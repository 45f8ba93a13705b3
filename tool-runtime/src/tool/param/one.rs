use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::Error as Undecodable;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use crate::schema::Generator;
use crate::tool::ToolContext;

/// A parameter written `T`.
#[derive(Debug)]
pub struct Owned<T>(PhantomData<fn() -> T>);

/// A parameter written `&T`.
#[derive(Debug)]
pub struct Lent<T: ?Sized>(PhantomData<fn(&T)>);

/// One parameter of a tool's function.
pub trait Param {
    /// What is decoded and kept until the function is called.
    type Value;

    /// Whether the model fills it. The other methods are asked of arguments only.
    const IS_ARGUMENT: bool = true;

    /// Its schema, as a part of the tool's.
    fn schema(generator: &mut Generator) -> Value;

    /// Its schema, as a document of its own.
    fn root_schema() -> Value;

    /// Reads it.
    ///
    /// # Errors
    /// The input isn't such a value.
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Value, D::Error>;

    /// What it is when the model leaves it out; none where it may not be left out.
    fn absent() -> Option<Self::Value>;
}

/// A parameter that is passed by value.
pub trait Give: Param {
    /// What the function receives.
    type Given<'a>;

    /// Hands it to the function.
    fn give(value: Self::Value, ctx: &ToolContext) -> Self::Given<'_>;
}

/// A type that has a schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a tool: it has no JSON Schema",
    label = "doesn't implement `JsonSchema`",
    note = "put `#[args]` on it, or derive both `serde::Deserialize` and `schemars::JsonSchema`"
)]
pub trait HasSchema {
    /// The type itself. Bounds on this are looked at only where there is a schema, so that a type
    /// that lacks both derives gives one error instead of two.
    type Described;

    /// Its schema, as a part of a tool's.
    fn schema(generator: &mut Generator) -> Value;

    /// Its schema, as a document of its own.
    fn root_schema() -> Value;
}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema> HasSchema for T {
    type Described = T;

    fn schema(generator: &mut Generator) -> Value {
        generator.part::<T>()
    }

    fn root_schema() -> Value {
        Generator::new().root::<T>()
    }
}

/// A type that can be decoded.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a tool: it can't be decoded",
    label = "doesn't implement `Deserialize`",
    note = "put `#[args]` on it, or derive `serde::Deserialize` beside `JsonSchema`"
)]
pub trait Decodes: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// The input isn't such a value.
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> Decodes for T {
    #[inline]
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer)
    }
}

impl<T> Param for Owned<T>
where
    T: HasSchema,
    T::Described: Decodes,
{
    type Value = T::Described;

    fn schema(generator: &mut Generator) -> Value {
        T::schema(generator)
    }

    fn root_schema() -> Value {
        T::root_schema()
    }

    #[inline]
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Value, D::Error> {
        T::Described::decode(deserializer)
    }

    #[inline]
    fn absent() -> Option<Self::Value> {
        T::Described::decode(Absent).ok()
    }
}

impl<T> Give for Owned<T>
where
    T: HasSchema,
    T::Described: Decodes,
{
    type Given<'a> = T::Described;

    #[inline]
    fn give(value: Self::Value, _: &ToolContext) -> Self::Given<'_> {
        value
    }
}

/// The context behind an alias that hides the reference.
impl Param for Owned<&ToolContext> {
    type Value = ();

    const IS_ARGUMENT: bool = false;

    fn schema(_: &mut Generator) -> Value {
        Value::Null
    }

    fn root_schema() -> Value {
        Value::Null
    }

    fn decode<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
        Ok(())
    }

    fn absent() -> Option<()> {
        Some(())
    }
}

impl Give for Owned<&ToolContext> {
    type Given<'a> = &'a ToolContext;

    fn give((): (), ctx: &ToolContext) -> Self::Given<'_> {
        ctx
    }
}

/// A type that a function may borrow as `&T`.
#[diagnostic::on_unimplemented(
    message = "a tool can't take `&{Self}`",
    label = "can't be borrowed from the arguments",
    note = "take `{Self}` by value; only `&str`, `&[T]` and `&ToolContext` are lent"
)]
pub trait Lend {
    /// How it is decoded.
    type Kept: Param;

    /// Borrows it from what was decoded, or from the call.
    fn lend<'a>(value: &'a <Self::Kept as Param>::Value, ctx: &'a ToolContext) -> &'a Self;
}

impl Lend for str {
    type Kept = Owned<String>;

    #[inline]
    fn lend<'a>(value: &'a String, _: &'a ToolContext) -> &'a Self {
        value
    }
}

impl<T> Lend for [T]
where
    Vec<T>: HasSchema<Described = Vec<T>> + Decodes,
{
    type Kept = Owned<Vec<T>>;

    #[inline]
    fn lend<'a>(value: &'a Vec<T>, _: &'a ToolContext) -> &'a Self {
        value
    }
}

impl Lend for ToolContext {
    type Kept = Owned<&'static Self>;

    #[inline]
    fn lend<'a>((): &'a (), ctx: &'a ToolContext) -> &'a Self {
        ctx
    }
}

impl<T: Lend + ?Sized> Param for Lent<T> {
    type Value = <T::Kept as Param>::Value;

    const IS_ARGUMENT: bool = <T::Kept as Param>::IS_ARGUMENT;

    fn schema(generator: &mut Generator) -> Value {
        T::Kept::schema(generator)
    }

    fn root_schema() -> Value {
        T::Kept::root_schema()
    }

    #[inline]
    fn decode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Value, D::Error> {
        T::Kept::decode(deserializer)
    }

    #[inline]
    fn absent() -> Option<Self::Value> {
        T::Kept::absent()
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
