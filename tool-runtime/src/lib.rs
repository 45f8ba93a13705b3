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
//! | use a small model, parse its JSON | [`drivers`], [`json`], [`schema`] | [small models](guide::small_models), [JSON repair](guide::json_repair) |
//! | run calls without an agent, or on workers | [`Dispatcher`] | [results](guide::results#inspect-what-happened), [workers](guide::workers) |
//! | let agents call agents | [`Agent::into_tool`], [`agent::SubAgent`] | [sub-agents](guide::subagents) |
//! | stop a run | [`Agent::cancellation`], [`CancellationToken`] | [cancellation](guide::cancellation) |
//! | use files, commands, the web | `files`, `shell`, `web` | [files](guide/workspace_tools/index.html), [sandbox](guide/sandbox/index.html), [web](guide/fetching_and_searching/index.html) |
//! | search, remember, schedule | `knowledge`, `schedule` | [knowledge](guide/knowledge/index.html), [memory](guide/memory/index.html), [schedules](guide/schedules/index.html) |
//! | use MCP, make tools at run time | `mcp`, `dynamic` | [MCP](mcp/guide/index.html), [dynamic tools](dynamic/guide/index.html) |
//! | go live | [`Agent::check`] | [production checklist](guide::production) |
//!
//! All features are optional. Clients: `providers`, `openai`, `anthropic`, `gemini`, `mistral`,
//! `ollama`. Tools: `files`, `shell`, `web`, `knowledge`, `schedule`. Stores: `sqlite`, `postgres`.
//! MCP: `mcp-client`, `mcp-server`, `mcp-client-stdio`, `mcp-server-stdio`, `oauth`, `oauth-jwt`.
//! Dynamic tools: `dynamic`, `catalog`, `keyring`, `javascript`, `fetch`, `rust-tools`. More:
//! `http`, `cassette`, `search`, `process`, `report`, `terminal`, `tracing`, `otel`, `chrono`,
//! `uuid`.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(doc, doctest))]
#[path = "docs/design.rs"]
pub mod design;
#[cfg(any(doc, doctest))]
#[path = "docs/guide.rs"]
pub mod guide;

/// Compiles the code of the README.
#[cfg(all(doctest, feature = "openai"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[doc(inline)]
pub use tool_core::*;
#[cfg(feature = "dynamic")]
#[doc(inline)]
pub use tool_dynamic as dynamic;
#[cfg(feature = "files")]
#[doc(inline)]
pub use tool_files as files;
#[doc(inline)]
pub use tool_http as http;
#[cfg(feature = "knowledge")]
#[doc(inline)]
pub use tool_knowledge as knowledge;
#[cfg(any(feature = "mcp-client-stdio", feature = "mcp-server-stdio"))]
#[doc(inline)]
pub use tool_mcp as mcp;
#[cfg(feature = "otel")]
#[doc(inline)]
pub use tool_otel as otel;
#[cfg(feature = "providers")]
#[doc(inline)]
pub use tool_providers as providers;
#[cfg(feature = "report")]
#[doc(inline)]
pub use tool_report::report;
#[cfg(feature = "terminal")]
#[doc(inline)]
pub use tool_report::terminal;
#[doc = include_str!("docs/args.md")]
pub use tool_runtime_macros::args;
#[doc = include_str!("docs/tool.md")]
pub use tool_runtime_macros::tool;
#[cfg(feature = "schedule")]
#[doc(inline)]
pub use tool_schedule as schedule;
#[cfg(feature = "shell")]
#[doc(inline)]
pub use tool_shell as shell;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
#[doc(inline)]
pub use tool_store as store;
#[cfg(feature = "web")]
#[doc(inline)]
pub use tool_web as web;
