//! The context of one call, which the stages of `call.rs` receive.

use serde_json::Value;

use super::call_record::CallRecord;
use super::context::BatchContext;
use crate::message::Arguments;
use crate::registry::Entry;
use crate::tool::args::validated_arguments;
use crate::tool::{ToolContext, ToolError};

/// A call whose name is resolved to a tool.
pub(super) struct CallContext<'c> {
    pub(super) batch: &'c BatchContext,
    pub(super) entry: &'c Entry,
    pub(super) ctx: &'c ToolContext,
    pub(super) record: &'c mut CallRecord,
    /// The validated arguments, if a stage before the tool needs them.
    pub(super) validated: Option<Box<ValidatedArguments>>,
}

/// The repaired and validated arguments of a call.
pub(super) struct ValidatedArguments {
    pub(super) value: Value,
    /// The JSON that the tool receives, exactly as it was approved.
    pub(super) json: Arguments,
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
        let definition = self.entry.definition();
        let (value, json) = validated_arguments(definition, &self.ctx.call().arguments, self.ctx)?;
        self.validated = Some(Box::new(ValidatedArguments { value, json: json.into() }));
        Ok(())
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
