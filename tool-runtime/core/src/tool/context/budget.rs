//! Reserves a part of the budget of a run.

use super::ToolContext;
use crate::message::Usage;
use crate::tool::{ToolError, ToolErrorKind, UsageMeter};

/// Tokens of the budget of a run that are reserved for a model request of a tool. Dropping it
/// releases them.
///
/// ```
/// use tool_runtime::{ToolCall, ToolContext, ToolError};
///
/// # fn main() -> Result<(), ToolError> {
/// let ctx = ToolContext::new(ToolCall::new("c", "summarize", "{}"));
/// // Outside of a run, there is no limit.
/// let reservation = ctx.reserve_tokens(100, 500)?;
/// assert_eq!(reservation.max_output(), 500);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "the tokens are released when this is dropped"]
pub struct TokenReservation {
    usage: Usage,
    meter: Option<UsageMeter>,
}

impl TokenReservation {
    /// Returns the maximum number of tokens that the reply may have.
    pub fn max_output(&self) -> u64 {
        self.usage.output_tokens
    }
}

impl Drop for TokenReservation {
    fn drop(&mut self) {
        if let Some(meter) = &self.meter {
            meter.release(self.usage);
        }
    }
}

impl ToolContext {
    /// Reserves tokens of the budget of the run before a model request of the tool.
    ///
    /// `input` is the size of the prompt, about four bytes for a token. The reply gets up to
    /// `max_output` tokens, or [fewer](TokenReservation::max_output) if that is all that is left.
    /// Calls at the same time share the budget. Record what the request took, with
    /// [`record`](Self::record), before you drop the reservation. Without a
    /// [limit](crate::agent::Limits) of tokens or cost, everything is granted.
    ///
    /// # Errors
    /// Returns [`ToolErrorKind::Denied`] if the budget has no room for the prompt and a reply.
    ///
    /// ```
    /// use tool_runtime::{EffectRecord, ToolContext, ToolError, Usage, tool};
    ///
    /// /// Summarizes a text.
    /// #[tool(effect = "none")]
    /// async fn summarize(text: String, ctx: &ToolContext) -> Result<String, ToolError> {
    ///     let input = text.len() as u64 / 4;
    ///     let reservation = ctx.reserve_tokens(input, 500)?;
    ///     let (summary, usage) = ask_model(&text, reservation.max_output()).await;
    ///     ctx.record(EffectRecord::TokensSpent { usage, cost: None, model: None });
    ///     Ok(summary)
    /// }
    /// # async fn ask_model(_: &str, _: u64) -> (String, Usage) { Default::default() }
    /// ```
    pub fn reserve_tokens(
        &self,
        input: u64,
        max_output: u64,
    ) -> Result<TokenReservation, ToolError> {
        let request = Usage::new(input, max_output);
        let Some(meter) = self.scope().and_then(|scope| scope.usage_meter.as_ref()) else {
            return Ok(TokenReservation { usage: request, meter: None });
        };
        let Some(usage) = meter.reserve(request) else {
            let text = "Not run: the token budget of this run has no room for it.";
            return Err(ToolError::new(ToolErrorKind::Denied, text));
        };
        Ok(TokenReservation { usage, meter: Some(meter.clone()) })
    }
}
