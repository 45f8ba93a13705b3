use std::fmt;

use serde_json::Value;

use super::kind::{Defaulted, Param, PassByReference, PassByValue};
use crate::schema::Generator;
use crate::tool::ToolContext;

/// The description of a parameter that is known before a call.
#[derive(Clone, Copy)]
pub struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// Generates the schema of the type; `None` for a parameter that is not an argument.
    pub(crate) schema: Option<fn(&mut Generator) -> Value>,
    /// Whether the argument can be missing.
    pub(crate) is_optional: fn() -> bool,
}

impl Parameter {
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

impl<P: Param> ArgumentSlot<Defaulted<P>> {
    /// Supplies the default if the argument is missing.
    #[inline]
    pub fn unwrap_or_else(self, default: impl FnOnce() -> P::Owned) -> ArgumentSlot<P> {
        ArgumentSlot(self.0.unwrap_or_else(default))
    }
}
