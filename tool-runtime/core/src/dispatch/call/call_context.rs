//! The context of one call, which the stages of `call.rs` receive.

use crate::dispatch::call::call_record::CallRecord;
use crate::dispatch::context::BatchContext;
use crate::message::Arguments;
use crate::registry::Entry;
use crate::tool::{ToolContext, ToolError, ValidatedArguments};

/// A call whose name is resolved to a tool.
pub(crate) struct CallContext<'c> {
    pub(crate) batch: &'c BatchContext,
    pub(crate) entry: &'c Entry,
    pub(crate) ctx: &'c ToolContext,
    pub(crate) record: &'c mut CallRecord,
    /// The validated arguments, if a stage before the tool needs them.
    pub(crate) validated: Option<Box<ValidatedArguments>>,
}

impl<'c> CallContext<'c> {
    pub(crate) fn new(
        batch: &'c BatchContext,
        entry: &'c Entry,
        ctx: &'c ToolContext,
        record: &'c mut CallRecord,
    ) -> Self {
        record.tool_kind = Some(entry.definition().kind.clone());
        Self { batch, entry, ctx, record, validated: None }
    }

    /// Returns the validated arguments, which are validated first if that is not done.
    pub(crate) fn validated(&mut self) -> Result<&ValidatedArguments, ToolError> {
        let validated = match self.validated.take() {
            Some(validated) => validated,
            None => {
                let definition = self.entry.definition();
                Box::new(definition.validate_arguments(&self.ctx.call().arguments, self.ctx)?)
            }
        };
        Ok(self.validated.insert(validated))
    }

    /// Repairs and validates the arguments, unless that is done or the tool does it itself.
    pub(crate) fn ensure_validated(&mut self) -> Result<(), ToolError> {
        if self.validated.is_some() || self.entry.decodes_arguments() {
            Ok(())
        } else {
            self.validated().map(drop)
        }
    }

    /// Returns the arguments for the tool: the validated ones, or else those of the model, which
    /// the tool repairs and validates as it decodes them.
    pub(crate) fn arguments(&self) -> &Arguments {
        match &self.validated {
            Some(validated) => &validated.json,
            None => &self.ctx.call().arguments,
        }
    }
}
