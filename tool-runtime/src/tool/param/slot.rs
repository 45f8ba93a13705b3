use std::fmt;

use serde_json::Value;

use super::kind::{Defaulted, Give, Lend, Param};
use crate::schema::Generator;
use crate::tool::ToolContext;

/// What is known of a parameter before it is called.
#[derive(Clone, Copy)]
pub struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    /// The schema of its type, as a part of the tool's; none for one that is no argument.
    pub(crate) schema: Option<fn(&mut Generator) -> Value>,
    /// Whether a model may leave it out.
    pub(crate) is_optional: fn() -> bool,
}

impl Parameter {
    /// Empty for one that is no argument: no member of an object is meant for it.
    pub(crate) fn argument_name(&self) -> &'static str {
        if self.schema.is_some() { self.name } else { "" }
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parameter").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What was decoded for one parameter.
pub struct Slot<P: Param>(pub(super) P::Value);

impl<P: Param> fmt::Debug for Slot<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

impl<P: Give> Slot<P> {
    /// Hands a parameter written `T` to the function.
    #[inline]
    pub fn give(self, ctx: &ToolContext) -> P::Given<'_> {
        P::give(self.0, ctx)
    }
}

impl<P: Lend> Slot<P> {
    /// Lends a parameter written `&T` to the function.
    #[inline]
    pub fn lend<'a>(&'a self, ctx: &'a ToolContext) -> &'a P::Lent {
        P::lend(&self.0, ctx)
    }
}

impl<P: Param> Slot<Defaulted<P>> {
    /// Fills in what the model left out.
    #[inline]
    pub fn or_else(self, default: impl FnOnce() -> P::Value) -> Slot<P> {
        Slot(self.0.unwrap_or_else(default))
    }
}
