//! A parameter of a tool's function: its description, its decoded argument and how it is passed.

use std::fmt;

use serde_json::Value;

use crate::schema::Generator;
use crate::tool::ToolContext;
use crate::tool::args::{ArgumentDecodeError, RawArguments};

/// A parameter of a tool's function.
pub trait Param: Sized {
    /// The decoded value, which is kept until the function is called.
    type Owned: Send;

    /// Describes the parameter for the schema.
    fn parameter(&self, name: &'static str, description: &'static str) -> Parameter;

    /// Decodes the argument of the parameter at `index`.
    ///
    /// # Errors
    /// The type rejects the text, or the argument is missing and not optional.
    fn value(
        arguments: &RawArguments<'_>,
        index: usize,
    ) -> Result<Self::Owned, ArgumentDecodeError>;

    /// Decodes the argument into a slot, from which the function receives it.
    ///
    /// # Errors
    /// The errors of [`value`](Self::value).
    #[inline]
    fn decode(
        &self,
        arguments: &RawArguments<'_>,
        index: usize,
    ) -> Result<ArgumentSlot<Self>, ArgumentDecodeError> {
        match Self::value(arguments, index) {
            Ok(value) => Ok(ArgumentSlot(value)),
            Err(error) => Err(error),
        }
    }
}

/// A parameter that is passed by value.
pub trait PassByValue: Param {
    /// The type that the function receives.
    type Passed<'a>;

    /// Converts the decoded value into what the function receives.
    fn pass(value: Self::Owned, ctx: &ToolContext) -> Self::Passed<'_>;
}

/// A parameter that is passed by reference.
pub trait PassByReference: Param {
    /// The type that the function borrows.
    type Borrowed: ?Sized;

    /// Borrows what the function receives.
    fn borrow<'a>(value: &'a Self::Owned, ctx: &'a ToolContext) -> &'a Self::Borrowed;
}

/// The description of a parameter that is known before a call.
#[derive(Clone, Copy)]
pub struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// Generates the schema of the type; `None` for a parameter that is not an argument.
    pub(crate) schema: Option<fn(&mut Generator) -> Value>,
    /// Decodes the text of the argument alone and returns its error.
    pub(crate) decode_error: fn(Option<&str>) -> Option<ArgumentDecodeError>,
}

impl Parameter {
    /// Whether the argument can be missing.
    pub(crate) fn is_optional(&self) -> bool {
        (self.decode_error)(None).is_none()
    }

    /// Returns the name of the argument; empty for a parameter that is not an argument.
    pub(crate) fn argument_name(&self) -> &'static str {
        if self.schema.is_some() { self.name } else { "" }
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameter").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The decoded argument of a parameter.
pub struct ArgumentSlot<P: Param>(pub(super) P::Owned);

impl<P: Param> fmt::Debug for ArgumentSlot<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArgumentSlot")
    }
}

impl<P: PassByValue> ArgumentSlot<P> {
    /// Returns the argument of a parameter written `T`.
    #[inline]
    pub fn pass(self, ctx: &ToolContext) -> P::Passed<'_> {
        P::pass(self.0, ctx)
    }
}

impl<P: PassByReference> ArgumentSlot<P> {
    /// Borrows the argument of a parameter written `&T`.
    #[inline]
    pub fn borrow<'a>(&'a self, ctx: &'a ToolContext) -> &'a P::Borrowed {
        P::borrow(&self.0, ctx)
    }
}
