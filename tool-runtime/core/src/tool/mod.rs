//! The contract of a tool: its definition, arguments, context, output and errors.
//!
//! The path of a call of a `#[tool]` function:
//!
//! 1. `function/`: `Function` implements [`Tool`] for the generated code.
//! 2. `args.rs` and `args/`: the text of the arguments is repaired, validated and split into the
//!    texts of the parameters.
//! 3. `param/`: each text is decoded into the type of its parameter.
//! 4. The function runs with its [`ToolContext`] (`context/`). `work/` tracks the tasks that it
//!    spawns, `work/blocking.rs` the threads, `work/command.rs` the processes.
//! 5. `output/`: the return value becomes a [`ToolOutput`], an error a [`ToolError`].
//!
//! `definition/` and `definition/bounds.rs` validate definitions, `function/layout.rs` builds the
//! schema of the arguments, `dispatch_contract.rs` declares what executes calls, and
//! `start_permit.rs` limits the time at which they may start.
//!
//! Nothing in this module depends on the code that calls tools, or on how many calls run at once.

mod approval;
pub mod args;
mod cli;
mod context;
pub(crate) mod definition;
pub(crate) mod dispatch_contract;
mod envelope;
mod error;
mod error_kind;
pub mod function;
pub(crate) mod output;
pub mod param;
mod safety;
mod start_permit;
mod suspended;
mod work;

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;

pub use approval::{Approval, Decision};
pub(crate) use approval::{RunApproval, definition_changed};
pub use context::extensions::{Extensions, RequiredExtension};
pub use context::run_context::{RunContext, RunInfo};
pub use context::{BackgroundChange, TokenReservation, ToolContext};
pub use definition::preference::ToolPreference;
pub use definition::{DefinitionError, Fingerprint, ToolDefinition};
pub use dispatch_contract::{Batch, Dispatch};
pub use envelope::CallEnvelope;
pub(crate) use error::indeterminate_text;
pub use error::{IntoToolError, ToolError};
pub use error_kind::ToolErrorKind;
pub(crate) use output::Attachments;
pub use output::{IntoToolOutput, OutputFormat, Row, ToolOutput};
pub use safety::{Availability, Permission, RateLimit, Repair};
#[cfg(feature = "process")]
pub use work::command::{Command, CommandOutput};

pub(crate) use crate::message::ToolKind;
pub use crate::message::tool_kind::Effect;
pub(crate) use start_permit::StartPermit;
pub use suspended::{CallAnswer, SuspendedCall};
pub(crate) use suspended::{MAX_PENDING_LEVELS, can_be_pending};

pub use args::ValidatedArguments;
pub(crate) use args::problems_of;
pub(crate) use context::metered_usage::MeteredUsage;
pub(crate) use context::usage_meter::{Allowance, CostAllowance, UsageMeter};
pub use function::toolbox::Toolbox;
pub use output::{NoSchema, NotResult, ReturnType, ReturnValue};
pub(crate) use work::CallWork;
pub(crate) use work::blocking::DetachedThreads;
pub use work::blocking::on_blocking_thread;
pub use work::end::CallEnd;

use crate::message::Arguments;

/// The future of one call.
pub(crate) type ToolFuture<'a> =
    Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A tool that a model can call.
///
/// `#[tool]` implements this trait for a function. Implement it by hand for a tool that is known
/// only at run time, such as a remote one. Callers can't tell the two apart.
///
/// Implement it under `#[async_trait]`, which this crate re-exports.
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
/// let echo = Echo(ToolDefinition::new("echo", "Returns its arguments.", schema));
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
    /// Returns what the model and the runtime know about this tool. It must not change between
    /// calls.
    fn definition(&self) -> &ToolDefinition;

    /// Returns whether the tool can run now. Must not block.
    ///
    /// It is called each time tools are offered to a model, and when a call of the tool failed: see
    /// [`Availability`]. Default: available.
    fn availability(&self) -> Availability {
        Availability::Available
    }

    /// Returns whether the tool repairs, validates and decodes its arguments itself. Default:
    /// `false`.
    ///
    /// If it returns `false`, the dispatcher repairs and
    /// [validates](ToolDefinition::validate_arguments) the arguments: the tool receives valid JSON
    /// that matches its schema, and is not called if the arguments are invalid. A `#[tool]`
    /// function returns `true`: it applies the same rules in one pass.
    ///
    /// The registry calls this method once, when the tool is registered.
    fn decodes_arguments(&self) -> bool {
        false
    }

    /// Checks valid arguments further, such as by decoding them, without running the tool.
    ///
    /// The dispatcher calls this method before it asks an approver, so that no person decides on a
    /// call that its tool would refuse. `args` match the schema. A `#[tool]` function decodes them
    /// into its types, which may accept less than the schema, and passes them to its `check`.
    /// Default: accepts all.
    ///
    /// # Errors
    /// The error that the model receives, of the kind [`ToolErrorKind::InvalidArguments`].
    fn check_arguments(&self, args: &Arguments, ctx: &ToolContext) -> Result<(), ToolError> {
        let _ = (args, ctx);
        Ok(())
    }

    /// Runs the tool for one call.
    ///
    /// # Errors
    /// The error that the model receives instead of an output; see [`ToolErrorKind`].
    ///
    /// # Cancellation
    /// The future is dropped when the call times out or is cancelled.
    async fn call(&self, args: Arguments, ctx: &ToolContext) -> Result<ToolOutput, ToolError>;

    /// Stops the work that continues elsewhere for a call of an abandoned run.
    ///
    /// A run is abandoned if its process ended during the call and another prompt replaces the run,
    /// so that nothing waits for the result. The session calls this method for tools that
    /// [reattach](ToolDefinition::reattaches), with the [idempotency
    /// key](ToolContext::idempotency_key) of the call, before the new run makes its first request,
    /// and possibly more than once. The method times out after 10 seconds. An error is reported as
    /// [`ToolEvent::Abandoned`](crate::event::ToolEvent::Abandoned). Default: does nothing.
    ///
    /// Calls that a tool makes by [`ToolContext::dispatch`] are not saved, and so not abandoned.
    ///
    /// # Errors
    /// Returns an error if the work may still run.
    async fn abandon(&self, key: &str) -> Result<(), ToolError> {
        let _ = key;
        Ok(())
    }

    /// Runs the tool with borrowed arguments. The dispatcher calls this method.
    ///
    /// A `#[tool]` function decodes its arguments without a copy. The default implementation calls
    /// [`call`](Self::call), which is sufficient for a tool that you implement by hand.
    fn call_with<'a>(&'a self, args: &Arguments, ctx: &'a ToolContext) -> ToolFuture<'a> {
        self.call(args.clone(), ctx)
    }
}

impl fmt::Debug for dyn Tool + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.definition().name).finish()
    }
}
