//! The context of one call, which the stages of `call.rs` receive.

use super::call_record::CallRecord;
use super::context::BatchContext;
use crate::message::Arguments;
use crate::registry::Entry;
use crate::tool::{ToolContext, ToolError, ValidatedArguments};

/// A call whose name is resolved to a tool.
pub(super) struct CallContext<'c> {
    pub(super) batch: &'c BatchContext,
    pub(super) entry: &'c Entry,
    pub(super) ctx: &'c ToolContext,
    pub(super) record: &'c mut CallRecord,
    /// The validated arguments, if a stage before the tool needs them.
    pub(super) validated: Option<Box<ValidatedArguments>>,
}

impl<'c> CallContext<'c> {
    #[inline]
    pub(super) fn new(
        batch: &'c BatchContext,
        entry: &'c Entry,
        ctx: &'c ToolContext,
        record: &'c mut CallRecord,
    ) -> Self {
        Self { batch, entry, ctx, record, validated: None }
    }

    /// Repairs and validates the arguments before the tool is invoked.
    pub(super) fn validate(&mut self) -> Result<(), ToolError> {
        let arguments = &self.ctx.call().arguments;
        let validated = self.entry.definition().validate_arguments(arguments, self.ctx)?;
        self.validated = Some(Box::new(validated));
        Ok(())
    }

    /// Repairs and validates the arguments, unless that is done or the tool does it itself.
    #[inline]
    pub(super) fn ensure_validated(&mut self) -> Result<(), ToolError> {
        match self.validated.is_some() || self.entry.decodes_arguments() {
            true => Ok(()),
            false => self.validate(),
        }
    }

    /// Returns the arguments for the tool: the validated ones, or else those of the model, which
    /// the tool repairs and validates as it decodes them.
    #[inline]
    pub(super) fn arguments(&self) -> &Arguments {
        match &self.validated {
            Some(validated) => &validated.json,
            None => &self.ctx.call().arguments,
        }
    }
}
