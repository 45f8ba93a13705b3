//! The contract of tools, models and stores, the registry, dispatch, and the agent loop of
//! [tool-runtime](https://docs.rs/tool-runtime).
//!
//! Programs depend on `tool-runtime`, which re-exports this crate and has the guide. A crate that
//! implements a tool, a provider of tools, a model client or a store can depend on this crate
//! alone: it is what the clients, stores and tools of this project are written against.
//!
//! ```
//! use tool_core::{Agent, ChatReply, ScriptedModel, tool, tools};
//!
//! /// Returns the temperature in a city.
//! #[tool(effect = "read")]
//! async fn temperature(city: String) -> String {
//!     format!("4 degrees in {city}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_core::Stopped> {
//! let model = ScriptedModel::new([
//!     ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#),
//!     ChatReply::text("It is 4 degrees in Oslo."),
//! ]);
//! let answer = Agent::new(model, tools![temperature]).run("How warm is it in Oslo?").await?;
//! assert_eq!(answer.to_string(), "It is 4 degrees in Oslo.");
//! # Ok(())
//! # }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
#[doc(hidden)]
#[path = "workspace.rs"]
pub mod __workspace;
pub mod agent;
pub mod dispatch;
pub mod drivers;
mod errors;
pub mod event;
mod guard;
#[doc(inline)]
pub use tool_json as json;
pub mod message;
pub mod models;
#[cfg(feature = "process")]
pub mod process;
pub mod records;
pub mod registry;
pub mod schema;
mod secret;
mod span;
// Private, because `use tool_core::tool` would import the module beside the attribute.
mod tool;

pub use async_trait::async_trait;
pub use tokio_util::sync::CancellationToken;
/// Derives what the arguments of a tool need; `tool_runtime::args` documents it.
pub use tool_runtime_macros::core_args as args;
/// Makes a tool of a function; `tool_runtime::tool` documents it.
pub use tool_runtime_macros::core_tool as tool;

pub use agent::handle::Agent;
pub use agent::outcome::answer::{Answer, Stopped};
pub use agent::outcome::stop_reason::StopReason;
pub use dispatch::dispatcher::Dispatcher;
pub use dispatch::policy::config::Policy;
pub use errors::ModelError;
pub use event::effect::EffectRecord;
pub use event::kind::Event;
pub use event::tool::execution::ToolExecution;
pub use message::arguments::Arguments;
pub use message::call::{CallId, ToolCall};
pub use message::content::ContentPart;
pub use message::delta::Delta;
pub use message::finish_reason::FinishReason;
pub use message::media::Image;
pub use message::reasoning::Reasoning;
pub use message::tool_kind::ToolKind;
pub use message::tool_result::ToolResult;
pub use message::transcript::{AssistantPart, Message};
pub use message::untrusted::Untrusted;
pub use message::usage::Usage;
pub use models::chat_model::ChatModel;
pub use models::options::{ChatOptions, ToolChoice};
pub use models::request::{ChatReply, ChatRequest};
pub use models::scripted::{ScriptedModel, ScriptedTurn};
pub use registry::error::RegistryError;
pub use registry::handle::Registry;
pub use registry::snapshot::Snapshot;
pub use registry::tools::Tools;
pub use tool::{
    Availability, BackgroundChange, DefinitionError, Effect, Extensions, Fingerprint,
    IntoToolOutput, OutputFormat, Permission, RateLimit, Repair, Row, RunContext, TokenReservation,
    Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolOutput, ToolPreference,
    Toolbox, ValidatedArguments,
};
#[cfg(feature = "process")]
pub use tool::{Command, CommandOutput};

/// Collects functions under `#[tool]` and toolboxes into a list of [`Tools`].
///
/// An entry is the path of a function under [`#[tool]`](macro@tool), or `..` and a value whose
/// `impl` block is under `#[tool]`, which adds all its tools. For other implementations of
/// [`Tool`], add [`Tools::with`].
///
/// ```
/// use tool_runtime::{tool, tools};
///
/// mod geo {
///     /// Returns the coordinates of a place.
///     #[tool_runtime::tool(effect = "read")]
///     pub async fn search(name: String) -> String {
///         format!("{name} is at 59.91, 10.75")
///     }
/// }
///
/// struct Clock;
///
/// #[tool]
/// impl Clock {
///     /// Returns the current time.
///     #[tool(effect = "read")]
///     async fn now(&self) -> &'static str {
///         "noon"
///     }
/// }
///
/// let tools = tools![geo::search, ..Clock];
/// assert_eq!(tools.into_iter().count(), 2);
/// ```
#[macro_export]
macro_rules! tools {
    ($($($tool:ident)::+ ($($argument:tt)*)),+ $(,)?) => {
        ::core::compile_error!("name the functions without parentheses: `tools![search]`")
    };
    // Without toolboxes there is no recursion, so the number of entries is unlimited.
    ($($tool:ty),* $(,)?) => {
        $crate::Tools::new()$(
            .with_function(<$tool as $crate::__private::ToolFunction>::function())
        )*
    };
    ($($entries:tt)*) => {
        $crate::__more_tools!($crate::Tools::new(); $($entries)*)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __more_tools {
    ($tools:expr;) => {
        $tools
    };
    ($tools:expr; .. $toolbox:expr $(, $($rest:tt)*)?) => {
        $crate::__more_tools!(
            $tools.with_all($crate::Toolbox::into_tools($toolbox)); $($($rest)*)?
        )
    };
    ($tools:expr; $tool:ty $(, $($rest:tt)*)?) => {
        $crate::__more_tools!(
            $tools.with_function(<$tool as $crate::__private::ToolFunction>::function());
            $($($rest)*)?
        )
    };
    ($tools:expr; $($other:tt)*) => {
        ::core::compile_error!(
            "`tools![…]` takes the names of functions under `#[tool]`, \
             and `..value` where an `impl` is under `#[tool]`"
        )
    };
}
