//! Turns plain async functions into tools that a language model can call, and runs the agent loop.
//! It repairs and validates arguments, enforces limits and approvals, records each call, and
//! resumes a run after a crash.
//!
//! ```
//! use tool_runtime::{Agent, ChatReply, ScriptedModel, tool, tools};
//!
//! /// Returns the temperature in a city.
//! #[tool(effect = "read")]
//! async fn temperature(city: String) -> String {
//!     format!("4 degrees in {city}")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tool_runtime::Stopped> {
//! // A fixed script. A real model is, for instance, `OpenAi::from_env()?` (feature `openai`).
//! let model = ScriptedModel::new([
//!     ChatReply::default().call("temperature", r#"{"city": "Oslo"}"#),
//!     ChatReply::text("Take a coat: it is 4 degrees in Oslo."),
//! ]);
//! let agent = Agent::new(model, tools![temperature]);
//! let answer = agent.run("What should I wear in Oslo?").await?;
//! assert_eq!(answer.to_string(), "Take a coat: it is 4 degrees in Oslo.");
//! # Ok(())
//! # }
//! ```
//!
//! The [guide] has one page for each task; the [design] pages are for contributors.
//!
//! | I want to … | item | guide |
//! |---|---|---|
//! | turn a function into a tool | [`#[tool]`](macro@tool), [`#[args]`](macro@args), [`tools!`] | [tools](guide::tools) |
//! | return errors and effects | [`ToolError`], [`ToolOutput`], [`EffectRecord`] | [results](guide::results) |
//! | share state with tools | [`ToolContext`], [`Agent::extension`] | [context](guide::context) |
//! | connect a model | [`ChatModel`], [`models`], `providers` | [providers](guide::providers) |
//! | embed texts | [`models::Embedder`] | [embeddings](guide::embeddings) |
//! | run, stream, resume | [`Agent`], [`agent::Run`], [`agent::RunStream`] | [streaming](guide::streaming), [steps](guide::steps) |
//! | get a value as the answer | [`Agent::extract`] | [structured output](guide::structured_output) |
//! | approve or deny calls | [`Policy`], [`dispatch::Approver`] | [approvals](guide::approvals) |
//! | limit, retry, time out | [`Policy`], [`agent::Limits`] | [policy](guide::policy) |
//! | keep a conversation | [`agent::session`] | [sessions](guide::sessions) |
//! | steer or hook into a run | [`agent::Steering`], [`agent::ModelHook`] | [steering](guide::steering) |
//! | offer many tools | [`Registry`], [`registry::Selector`] | [many tools](guide::many_tools) |
//! | log, trace, redact | [`Event`], [`event`], `report` | [observability](guide::observability) |
//! | test | [`ScriptedModel`], [`event::Recorder`] | [testing](guide::testing) |
//! | use a small model | [`drivers`] | [small models](guide::small_models) |
//! | parse a model's JSON | [`json`], [`schema`] | [JSON repair](guide::json_repair) |
//! | run calls without an agent | [`Dispatcher`] | [results](guide::results#inspect-what-happened) |
//! | let agents call agents | [`Agent::into_tool`], [`agent::SubAgent`] | [sub-agents](guide::subagents) |
//! | stop a run | [`Agent::cancellation`], [`CancellationToken`] | [cancellation](guide::cancellation) |
//! | go live | [`Agent::check`] | [production checklist](guide::production) |
//!
//! All cargo features are optional. Clients: `openai`, `anthropic`, `gemini`, `mistral`, `ollama`;
//! `providers` is the generic client. Others: `http`, `cassette`, `search`, `process`, `sqlite`,
//! `postgres`, `report`, `terminal`, `tracing`, `chrono`, `uuid`.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod agent;
#[cfg(any(doc, doctest))]
#[path = "docs/design.rs"]
pub mod design;
pub mod dispatch;
pub mod drivers;
pub mod event;
pub mod framing;
mod guard;
#[cfg(any(doc, doctest))]
#[path = "docs/guide.rs"]
pub mod guide;
#[doc(inline)]
pub use tool_json as json;
#[cfg(feature = "http")]
pub mod http;
pub mod message;
pub mod models;
#[cfg(feature = "process")]
pub mod process;
#[cfg(feature = "providers")]
pub mod providers;
pub mod registry;
#[cfg(feature = "report")]
pub mod report;
pub mod schema;
mod secret;
mod span;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub mod store;
#[cfg(feature = "terminal")]
pub mod terminal;
// Private, because `use tool_runtime::tool` would import the module beside the attribute.
mod tool;

/// Compiles the code of the README.
#[cfg(all(doctest, feature = "openai"))]
#[doc = include_str!("../README.md")]
struct Readme;

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
    Arguments, AssistantPart, CallId, ContentPart, Image, Message, Reasoning, ToolCall, ToolResult,
    Untrusted, Usage,
};
pub use models::{
    ChatModel, ChatOptions, ChatReply, ChatRequest, Delta, FinishReason, ModelError, ScriptedModel,
    ScriptedTurn, ToolChoice,
};
pub use registry::{Registry, RegistryError, Snapshot, Tools};
pub use tool::{
    Argument, Availability, BackgroundChange, BorrowedArgument, DefinitionError, Effect,
    Extensions, Fingerprint, IntoToolError, IntoToolOutput, InvalidFingerprint, OutputFormat,
    Permission, RateLimit, Repair, RequiredExtension, Row, RunContext, TokenReservation, Tool,
    ToolContext, ToolDefinition, ToolError, ToolErrorKind, ToolKind, ToolOutput, ToolPreference,
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
