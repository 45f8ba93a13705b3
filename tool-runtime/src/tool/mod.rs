//! The contract of a tool: what it says of itself, what it takes and what it gives.
//!
//! Nothing here knows who calls a tool or how many are called at once.

mod approval;
pub mod args;
mod bill;
mod blocking;
mod bounds;
#[cfg(feature = "process")]
mod capture;
mod cli;
#[cfg(feature = "process")]
mod command;
mod context;
mod definition;
pub(crate) mod dispatch;
mod error;
mod extensions;
pub(crate) mod full_name;
pub mod function;
pub(crate) mod layout;
mod output;
pub mod param;
mod preference;
mod safety;
mod spent;
mod toolbox;
mod work;

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;

pub use approval::{Approval, Decision, Suspended};
#[cfg(feature = "process")]
pub use command::{Command, CommandOutput};
pub use context::ToolContext;
pub use definition::{DefinitionError, ToolDefinition};
pub use dispatch::{Batch, Dispatch};
pub use error::{ToolError, ToolErrorKind};
pub use extensions::{Extensions, RequiredExtension};
pub use output::{IntoToolOutput, ToolOutput};
pub use preference::ToolPreference;
pub use safety::{Availability, Effect, Permission, RateLimit, Repair, ToolKind};

pub(crate) use args::refused;
pub(crate) use bill::Bill;
pub(crate) use blocking::LeftRunning;
pub use blocking::on_blocking_thread;
pub use output::{Bare, Failure, NoSchema, Output, Returned, Returns};
pub use param::{Argument, BorrowedArgument};
pub(crate) use spent::Spent;
pub use toolbox::Toolbox;

use crate::message::Arguments;

/// What comes of one call.
pub(crate) type Call<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// Something that a model can call.
///
/// `#[tool]` writes this impl for a function; write it by hand for a tool that is known only
/// at run time, such as one that lives on another machine. Both look the same from outside.
///
/// Its impl stands under `#[async_trait]`, which this crate re-exports.
///
/// ```
/// use tool_runtime::{Arguments, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
/// use tool_runtime::async_trait;
///
/// struct Echo(ToolDefinition);
///
/// #[async_trait]
/// impl Tool for Echo {
///     fn definition(&self) -> &ToolDefinition {
///         &self.0
///     }
///
///     async fn call(&self, args: Arguments, _: &ToolContext) -> Result<ToolOutput, ToolError> {
///         Ok(ToolOutput::text(args.to_text()))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let schema = serde_json::json!({ "type": "object" });
/// let echo = Echo(ToolDefinition::new("echo", "Says it back.", schema));
/// let output = echo.call("{}".into(), &ToolContext::default()).await.unwrap();
/// assert_eq!(output.as_text(), "{}");
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "put `#[tool]` on the function and name it in `tools![…]`, or implement `Tool` by hand"
)]
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the model and the runtime are told of this tool; the same at each call.
    fn definition(&self) -> &ToolDefinition;

    /// Whether the tool can run now; asked each time tools are offered to a model, and when a call of
    /// it has failed: see [`Availability`]. Must not block.
    fn availability(&self) -> Availability {
        Availability::Available
    }

    /// Runs the tool.
    ///
    /// # Errors
    /// What the model should be told instead of an output; see [`ToolErrorKind`].
    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError>;

    /// The same with arguments that are lent, as the dispatcher calls: a tool of `#[tool]` decodes
    /// them where they are. Written by hand, `call` is enough.
    fn call_with<'a>(&'a self, args: &Arguments, ctx: &'a ToolContext) -> Call<'a> {
        self.call(args.clone(), ctx)
    }
}

impl fmt::Debug for dyn Tool + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.definition().name).finish()
    }
}
