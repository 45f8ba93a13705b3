//! From what a function returned, bare or in a `Result`, to its output.

use std::convert::Infallible;

use super::IntoToolOutput;
use crate::tool::{ToolError, ToolOutput};

/// What a tool's function returned.
///
/// `Returned(value).split()` finds the method of `Result` first, for it is inherent, and the one
/// of [`Bare`] for everything else. So types decide, under whatever alias they were written.
#[derive(Debug)]
pub struct Returned<T>(pub T);

impl<T, E> Returned<Result<T, E>> {
    /// It was a `Result`.
    #[inline]
    pub fn split(self) -> Result<T, E> {
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
    fn split(self) -> Result<Self::Value, Infallible>;
}

impl<T> Bare for Returned<T> {
    type Value = T;

    #[inline]
    fn split(self) -> Result<T, Infallible> {
        Ok(self.0)
    }
}

/// A type that can be sent to a model. A blanket over [`IntoToolOutput`], for its words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the output of a tool",
    label = "derive `serde::Serialize` for it, or return text or a `ToolOutput`"
)]
pub trait Output: IntoToolOutput {}

#[diagnostic::do_not_recommend]
impl<T: IntoToolOutput> Output for T {}

/// An error that a tool may return. A blanket over `Into<ToolError>`, for its words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the error of a tool",
    label = "implement `std::error::Error` for it, or return `ToolError` or text as the error"
)]
pub trait Failure {
    /// What the model is told.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> Failure for E {
    fn into_tool_error(self) -> ToolError {
        self.into()
    }
}

/// The output of a call.
///
/// # Errors
/// The function's own, or its value can't be written as JSON.
#[inline]
pub fn finish<T: Output, E: Failure>(returned: Result<T, E>) -> Result<ToolOutput, ToolError> {
    returned.map_err(Failure::into_tool_error)?.into_tool_output()
}
