//! Redaction of the texts that a tool stores, logs or shows itself.

use std::ops::Range;

use super::ToolContext;
use crate::secret::{Redactor, floor};

impl ToolContext {
    /// Replaces the secrets in a text by `[redacted]`, as in events.
    ///
    /// The results and the effects of a call are redacted without it. Use it for a text that the
    /// tool stores, logs or shows itself. Outside of a dispatcher there are no secrets.
    ///
    /// ```
    /// use tool_runtime::{
    ///     Dispatcher, Policy, Registry, ToolCall, ToolContext, ToolError, tool, tools,
    /// };
    ///
    /// /// Writes a line of a log.
    /// #[tool(effect = "write")]
    /// async fn log(line: String, ctx: &ToolContext) -> Result<(), ToolError> {
    ///     let path = std::env::temp_dir().join("redacted.log");
    ///     Ok(std::fs::write(path, ctx.redact(&line))?)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy = Policy::new().secrets(["k3y-0f-th3-h0us3"]);
    /// let dispatcher = Dispatcher::new(Registry::try_from(tools![log])?).policy(policy);
    /// let call = ToolCall::new("1", "log", r#"{"line": "opened with k3y-0f-th3-h0us3"}"#);
    /// dispatcher.dispatch(vec![call]).await;
    /// let path = std::env::temp_dir().join("redacted.log");
    /// assert_eq!(std::fs::read_to_string(&path)?, "opened with [redacted]");
    /// # std::fs::remove_file(path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(redactor) = self.redactor() {
            redactor.redact(&mut text);
        }
        text
    }

    /// Returns a part of a text, in which `[redacted]` replaces the secrets, also those that begin
    /// before the part or end behind it.
    ///
    /// Use it to cut a text: half a secret at a cut is not found in the part alone. The part is a
    /// range of bytes. A bound within a character is moved to its start.
    ///
    /// ```
    /// use tool_runtime::ToolContext;
    ///
    /// // Outside of a dispatcher there are no secrets.
    /// let ctx = ToolContext::default();
    /// assert_eq!(ctx.redact_part("the key is s3cr3t, of course", 0..13), "the key is s3");
    /// ```
    pub fn redact_part(&self, text: &str, part: Range<usize>) -> String {
        let part = floor(text, part.start)..floor(text, part.end.max(part.start));
        match self.redactor() {
            Some(redactor) => redactor.redact_range(text, part),
            None => text.get(part).unwrap_or_default().to_owned(),
        }
    }

    /// Returns the byte offset from which on the end of a text may be the start of a secret.
    ///
    /// Use it for a text that arrives in pieces: show the text before the offset, and keep the rest
    /// until more arrives. One or two characters of a secret in base64 or hexadecimal digits are
    /// not recognized as its start.
    ///
    /// ```
    /// use tool_runtime::ToolContext;
    ///
    /// // Outside of a dispatcher there are no secrets.
    /// assert_eq!(ToolContext::default().unfinished_secret("the key is s3c"), None);
    /// ```
    pub fn unfinished_secret(&self, text: &str) -> Option<usize> {
        self.redactor()?.unfinished_secret(text)
    }

    fn redactor(&self) -> Option<&Redactor> {
        self.scope()?.redactor.as_ref()
    }
}
