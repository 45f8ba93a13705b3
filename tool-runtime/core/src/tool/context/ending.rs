//! When and why the current attempt of a call ends.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ToolContext;
use crate::tool::CallEnd;

impl ToolContext {
    /// Returns when this attempt times out; `None` if it has no time limit.
    pub fn deadline(&self) -> Option<Instant> {
        let of_batch = self.scope().and_then(|scope| scope.deadline);
        let of_attempt = self.work.get().and_then(|work| work.deadline());
        [of_batch, of_attempt].into_iter().flatten().min()
    }

    /// Returns a token that is cancelled when this attempt ends, however it ends.
    ///
    /// Use it for work that can't be stopped by dropping a future, such as a thread.
    ///
    /// ```
    /// use tool_runtime::{ToolContext, tool};
    ///
    /// /// Finds the next larger prime.
    /// #[tool(effect = "none", blocking, timeout = "5s")]
    /// fn prime(above: u64, ctx: &ToolContext) -> Option<u64> {
    ///     let cancellation = ctx.cancellation();
    ///     let is_prime = |n: &u64| (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    ///     (above + 1..).take_while(|_| !cancellation.is_cancelled()).find(is_prime)
    /// }
    /// ```
    pub fn cancellation(&self) -> CancellationToken {
        self.work().cancellation(self.batch_cancellation())
    }

    /// Returns why this attempt ended, or `None` while it runs.
    ///
    /// The reason is known before [`cancellation`](Self::cancellation) is cancelled and before the
    /// future of the tool is dropped, so that a task or a destructor can decide by it. A destructor
    /// that runs while the tool returns gets `None`.
    ///
    /// ```
    /// use tool_runtime::dispatch::CallEnd;
    /// use tool_runtime::{ToolContext, tool};
    ///
    /// struct Job<'c>(&'c ToolContext);
    ///
    /// impl Drop for Job<'_> {
    ///     fn drop(&mut self) {
    ///         if let Some(CallEnd::Cancelled | CallEnd::TimedOut) = self.0.end_reason() {
    ///             // Stop the job on its worker.
    ///         }
    ///     }
    /// }
    ///
    /// /// Renders a film on a worker.
    /// #[tool]
    /// async fn render(film: String, ctx: &ToolContext) {
    ///     let _job = Job(ctx);
    ///     // Start the job and wait for it.
    /// }
    /// ```
    pub fn end_reason(&self) -> Option<CallEnd> {
        self.end.get().or_else(|| self.work.get()?.end.get())
    }
}
