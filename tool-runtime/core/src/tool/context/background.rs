//! Changes that go on after the call that began them.

use std::any::Any;
use std::fmt;

use super::ToolContext;

/// A change that continues in the background, such as that of a process which a call has started.
///
/// While it lives, the run does not reuse what tools with the effect `read` return. See
/// [`ToolContext::begin_background_change`].
///
/// ```
/// use tool_runtime::ToolContext;
///
/// let change = ToolContext::default().begin_background_change();
/// drop(change); // The process has ended.
/// ```
#[must_use = "dropping it ends the change"]
pub struct BackgroundChange {
    /// Ends the change when it is dropped; `None` outside of a dispatcher.
    _guard: Option<Box<dyn Any + Send + Sync>>,
}

impl ToolContext {
    /// Begins a change that continues after this call: what pure tools have read in this run is
    /// evicted, and nothing that they read is stored until the returned value is dropped.
    ///
    /// A call of a tool that changes something does the same until it returns. Use this method if
    /// the call leaves something behind that changes what other tools read, such as a process.
    ///
    /// ```
    /// use std::process::{Child, Command};
    /// use std::sync::Mutex;
    ///
    /// use tool_runtime::{BackgroundChange, ToolContext, ToolError, tool};
    ///
    /// /// The build that runs in the background.
    /// static BUILD: Mutex<Option<(Child, BackgroundChange)>> = Mutex::new(None);
    ///
    /// /// Starts a build.
    /// #[tool(effect = "write")]
    /// async fn start_build(ctx: &ToolContext) -> Result<(), ToolError> {
    ///     let child = Command::new("make").spawn()?;
    ///     let build = (child, ctx.begin_background_change());
    ///     *BUILD.lock().map_err(|_| "the state of the build is unknown")? = Some(build);
    ///     Ok(())
    /// }
    /// ```
    pub fn begin_background_change(&self) -> BackgroundChange {
        BackgroundChange { _guard: self.host.as_ref().map(|host| host.begin_background_change()) }
    }
}

impl fmt::Debug for BackgroundChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundChange").finish_non_exhaustive()
    }
}
