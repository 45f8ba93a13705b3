//! Converts the return value of a function, with or without a `Result`, into an output.

use std::convert::Infallible;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde_json::Value;

use crate::schema::Schema;

/// The return value of a tool's function.
///
/// In `ReturnValue(value).__into_result()` the compiler finds the inherent method if the value is a
/// `Result`, and the method of [`NotResult`] otherwise. So an alias of `Result` is recognized too.
#[derive(Debug)]
pub struct ReturnValue<T>(pub T);

impl<T, E> ReturnValue<Result<T, E>> {
    /// Returns the `Result`.
    #[inline]
    pub fn __into_result(self) -> Result<T, E> {
        self.0
    }
}

/// Wraps a return value that is not a `Result`.
pub trait NotResult {
    /// The type of the return value.
    type Value;

    /// Returns the value as a `Result`.
    ///
    /// # Errors
    /// Never.
    fn __into_result(self) -> Result<Self::Value, Infallible>;
}

impl<T> NotResult for ReturnValue<T> {
    type Value = T;

    #[inline]
    fn __into_result(self) -> Result<T, Infallible> {
        Ok(self.0)
    }
}

/// The return type of a tool's function, from which the schema of the output is derived.
#[derive(Debug)]
pub struct ReturnType<T>(PhantomData<fn() -> T>);

impl<T> ReturnType<T> {
    /// Creates a value that stands for `T`.
    #[expect(clippy::new_without_default, reason = "only generated code calls it")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T, E> ReturnType<Result<T, E>> {
    /// Returns the type of the value in a `Result`.
    pub fn __value(self) -> ReturnType<T> {
        ReturnType(PhantomData)
    }
}

impl<T: JsonSchema> ReturnType<T> {
    /// Returns the schema of an output that is sent as JSON. Text and `()` have none.
    pub fn __schema(self) -> Option<Schema> {
        let schema = Schema::of_output::<T>();
        let is_text = matches!(
            schema.as_value().get("type").and_then(Value::as_str),
            Some("string" | "null")
        );
        (!is_text).then_some(schema)
    }
}

/// The fallback for return types that are not a `Result` or have no schema.
pub trait NoSchema: Sized {
    /// Returns the type itself.
    fn __value(self) -> Self {
        self
    }

    /// Returns `None`.
    fn __schema(self) -> Option<Schema> {
        None
    }
}

impl<T> NoSchema for ReturnType<T> {}
