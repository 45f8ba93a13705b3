//! The server: a dispatcher behind MCP.
//!
//! [`McpServer`] serves the tools of a dispatcher, [`Resources`], [`Prompts`] and completions to
//! clients of the revisions 2025-11-25 and 2026-07-28.
//!
//! Every call passes through the dispatcher: its arguments are repaired and validated, the policy
//! applies, and observers receive its events. A tool finds the client behind a call as
//! [`McpRequest`] among its extensions.

// The path of a request:
//
// - `connection/`: `stream.rs` with `transport.rs` and `unanswered.rs`, or `http/`, receives it;
//   `malformed.rs` answers one whose parameters are not valid, and `peer.rs` is its sender;
//   `running.rs` is what a request over HTTP holds meanwhile, and `session.rs` what belongs to one
//   connection. `outbox.rs` sends what comes before the answer, `notifications.rs` reports changes.
// - `handler.rs` has a method for each kind of request; `shared.rs` is what belongs to the server.
// - `call/` runs tools; `features/` renders prompts, reads resources and runs long calls.
// - `request.rs` is what tools see of the client; `input/` are questions to the client.
//   `definitions.rs` describes the tools, and `result_meta.rs` is what a tool adds to its result.

mod access;
mod call;
mod connection;
mod definitions;
mod error;
mod errors;
mod features;
mod handler;
#[cfg(feature = "server")]
mod http;
mod input;
mod into_dispatcher;
mod limits;
pub(crate) mod mcp_server;
mod request;
mod request_span;
mod result_meta;
mod shared;

pub use access::Access;
pub use error::ServeError;
pub use features::completion::{CompletionRequest, CompletionTarget};
pub use features::prompts::{Prompt, PromptMessage, PromptRequest, Prompts};
pub use features::resources::{ResourceRequest, ResourceTemplate, Resources};
pub use features::tasks::Tasks;
#[cfg(feature = "server")]
pub use http::{Authenticator, Denied};
pub use input::{
    ElicitationReply, ElicitationRequest, InputRequests, InputResponses, SamplingReply,
    SamplingRequest,
};
pub use into_dispatcher::IntoDispatcher;
pub use limits::Limits;
use mcp_server::McpServer;
pub use request::McpRequest;
use shared::Shared;
