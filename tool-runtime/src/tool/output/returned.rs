//! From what a function returned, bare or in a `Result`, to its output.

use std::convert::Infallible;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde_json::Value;

use super::IntoToolOutput;
use crate::schema::Schema;
use crate::tool::{ToolError, ToolOutput};

/// What a tool's function returned.
///
/// `Returned(value).__split()` finds the method of `Result` first, for it is inherent, and the one
/// of [`Bare`] for everything else. So types decide, under whatever alias they were written.
#[derive(Debug)]
pub struct Returned<T>(pub T);

impl<T, E> Returned<Result<T, E>> {
    /// It was a `Result`.
    #[inline]
    pub fn __split(self) -> Result<T, E> {
        self.0
    }
}

/// The other half of [`Returned`].
pub trait Bare {
    /// What was returned.
    type Value;

    /// It was no `Result`.
    ///
    /// # Errors
    /// Never.
    fn __split(self) -> Result<Self::Value, Infallible>;
}

impl<T> Bare for Returned<T> {
    type Value = T;

    #[inline]
    fn __split(self) -> Result<T, Infallible> {
        Ok(self.0)
    }
}

/// A type that can be sent to a model. A blanket over [`IntoToolOutput`], for its words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the output of a tool",
    label = "derive `serde::Serialize` for it, or return text or a `ToolOutput`"
)]
pub trait Output {
    /// The output of a call.
    ///
    /// # Errors
    /// The value can't be written as JSON.
    fn output(self) -> Result<ToolOutput, ToolError>;
}

#[diagnostic::do_not_recommend]
impl<T: IntoToolOutput> Output for T {
    #[inline]
    fn output(self) -> Result<ToolOutput, ToolError> {
        self.into_tool_output()
    }
}

/// An error that a tool may return. A blanket over `Into<ToolError>`, for its words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the error of a tool",
    label = "implement `std::error::Error + Send + Sync` for it, or return `ToolError` or text"
)]
pub trait Failure {
    /// What the model is told.
    fn failure(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> Failure for E {
    fn failure(self) -> ToolError {
        self.into()
    }
}

/// The type that a function returns, asked for the schema of its output.
#[derive(Debug)]
pub struct Returns<T>(PhantomData<fn() -> T>);

impl<T> Returns<T> {
    /// Asks about `T`.
    #[expect(clippy::new_without_default, reason = "only generated code asks")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T, E> Returns<Result<T, E>> {
    /// The value in a `Result`.
    pub fn __value(self) -> Returns<T> {
        Returns(PhantomData)
    }
}

impl<T: JsonSchema> Returns<T> {
    /// The schema of what is sent as JSON; text, and nothing at all, have none.
    pub fn __schema(self) -> Option<Schema> {
        let schema = Schema::of_output::<T>();
        let is_text = matches!(
            schema.as_value().get("type").and_then(Value::as_str),
            Some("string" | "null")
        );
        (!is_text).then_some(schema)
    }
}

/// What [`Returns`] is otherwise.
pub trait NoSchema: Sized {
    /// The value, which is in no `Result`.
    fn __value(self) -> Self {
        self
    }

    /// None.
    fn __schema(self) -> Option<Schema> {
        None
    }
}

impl<T> NoSchema for Returns<T> {}
