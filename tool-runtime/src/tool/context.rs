use std::sync::OnceLock;

use super::Extensions;
use crate::json::Fix;
use crate::message::{CallId, ToolCall};

/// What a tool may know of the call that it serves.
///
/// A function takes it as a parameter `ctx: &ToolContext`, at any position; it is no argument
/// and the model never hears of it. `ToolContext::default()` serves a unit test.
#[derive(Clone, Debug)]
pub struct ToolContext {
    call: ToolCall,
    fixes: OnceLock<Vec<Fix>>,
    extensions: Extensions,
}

impl ToolContext {
    /// The context of one call.
    pub fn new(call: ToolCall) -> Self {
        Self { call, fixes: OnceLock::new(), extensions: Extensions::default() }
    }

    /// Gives the tool these values to use.
    #[must_use]
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    /// The program's value of this type, as given to
    /// [`Agent::extension`](crate::Agent::extension).
    ///
    /// ```
    /// use tool_runtime::{Extensions, ToolContext, ToolError, tool};
    ///
    /// struct Stock(u32);
    ///
    /// /// Tells how many there are.
    /// #[tool(effect = "read")]
    /// async fn in_stock(ctx: &ToolContext) -> Result<u32, ToolError> {
    ///     let Stock(count) = ctx.get().ok_or("there is no stock")?;
    ///     Ok(*count)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let ctx = ToolContext::default().with_extensions(Extensions::default().with(Stock(7)));
    /// assert_eq!(in_stock(&ctx).await.unwrap(), 7);
    /// # }
    /// ```
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// The call as it came.
    pub(crate) fn call(&self) -> &ToolCall {
        &self.call
    }

    /// The id of the call.
    pub fn call_id(&self) -> &CallId {
        &self.call.id
    }

    /// The name under which the tool was called.
    pub fn tool_name(&self) -> &str {
        &self.call.name
    }

    /// What was repaired on the way from the model's text to the arguments.
    pub fn fixes(&self) -> &[Fix] {
        self.fixes.get().map_or(&[], Vec::as_slice)
    }

    /// The call and what was repaired in it, by value, when it is over.
    pub(crate) fn into_parts(self) -> (ToolCall, Vec<Fix>) {
        (self.call, self.fixes.into_inner().unwrap_or_default())
    }

    /// Notes what decoding repaired. A call is decoded once; a retry repairs the same text alike.
    pub(crate) fn record_fixes(&self, fixes: Vec<Fix>) {
        if !fixes.is_empty() {
            let _ = self.fixes.set(fixes);
        }
    }
}

impl Default for ToolContext {
    fn default() -> Self {
        Self::new(ToolCall::new("call", "tool", ""))
    }
}
