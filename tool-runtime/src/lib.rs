#![doc = include_str!("../README.md")]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod agent;
pub mod dispatch;
pub mod drivers;
pub mod event;
mod guard;
pub mod json;
pub mod message;
pub mod models;
#[cfg(feature = "providers")]
pub mod providers;
pub mod registry;
pub mod report;
pub mod schema;
mod secret;
mod span;
#[cfg(feature = "sqlite")]
pub mod store;
#[cfg(feature = "terminal")]
pub mod terminal;
// Not public: `use tool_runtime::tool` would import it beside the attribute.
mod tool;

pub use async_trait::async_trait;
pub use tokio_util::sync::CancellationToken;
#[doc = include_str!("docs/args.md")]
pub use tool_macros::args;
#[doc = include_str!("docs/tool.md")]
pub use tool_macros::tool;

pub use agent::{Agent, Answer, StopReason, Stopped};
pub use dispatch::{Dispatcher, Policy};
pub use event::{EffectRecord, Event, ToolExecution};
pub use message::{
    Arguments, AssistantPart, CallId, Image, Message, Reasoning, ToolCall, ToolResult, Usage,
    UserPart,
};
pub use models::{
    ChatModel, ChatOptions, ChatReply, ChatRequest, Delta, Finish, ModelError, ScriptedModel,
    ScriptedTurn, ToolChoice,
};
pub use registry::{Registry, RegistryError, Snapshot, Tools};
pub use tool::{
    Argument, Availability, BorrowedArgument, DefinitionError, Effect, Extensions, IntoToolOutput,
    Permission, RateLimit, Repair, RequiredExtension, Tool, ToolContext, ToolDefinition, ToolError,
    ToolErrorKind, ToolKind, ToolOutput, ToolPreference, Toolbox,
};
#[cfg(feature = "process")]
pub use tool::{Command, CommandOutput};

/// Turns the names of tools into [`Tools`].
///
/// Each entry is the path of a function under [`#[tool]`](macro@tool), or `..` and a value whose
/// `impl` is: all its tools.
///
/// ```
/// use tool_runtime::{tool, tools};
///
/// mod geo {
///     /// Finds a place.
///     #[tool_runtime::tool(effect = "read")]
///     pub async fn search(
///         /// Its name.
///         name: String,
///     ) -> String {
///         format!("{name} is at 59.91, 10.75")
///     }
/// }
///
/// /// Tells the time.
/// #[tool(effect = "read")]
/// async fn now() -> &'static str {
///     "noon"
/// }
///
/// let tools = tools![now, geo::search];
/// assert_eq!(tools.into_iter().count(), 2);
/// ```
#[macro_export]
macro_rules! tools {
    ($($($tool:ident)::+ ($($argument:tt)*)),+ $(,)?) => {
        ::core::compile_error!("name the functions without parentheses: `tools![search]`")
    };
    // Names alone need no recursion, however many there are.
    ($($tool:ty),* $(,)?) => {
        $crate::Tools::new()$(
            .with_function(<$tool as $crate::__private::NamesFunction>::function())
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
            $tools.with_function(<$tool as $crate::__private::NamesFunction>::function());
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
