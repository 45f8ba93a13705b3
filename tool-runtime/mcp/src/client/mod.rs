//! The client: connects to servers and registers their tools.
//!
//! 1. `builder.rs`: [`McpClient`] collects the [`options`] (`settings.rs`, `process_target.rs`,
//!    `http_target.rs`, `limits.rs`) and starts a connection to a `target.rs`.
//! 2. `handshake.rs` opens a transport (`open_transport.rs`, `wire/`) behind the guard (`guard.rs`,
//!    `flood.rs`, `incoming.rs`), and agrees on a revision of the protocol, also if the discovery
//!    is late (`late_discovery.rs`). If it fails, `failure_reason.rs` and `server_program.rs` find
//!    the reason, without the `secrets.rs`.
//! 3. `refresh.rs` requests the tools (`list.rs`, `page.rs`), compares them with the pinned
//!    definitions of its target (`pinning.rs`, `pins.rs`, `diff.rs`) and registers them
//!    (`definition.rs`, `trust.rs`).
//!    `catalog.rs` holds the result. `pin_file.rs`, `sqlite_pins.rs` and `postgres_pins.rs` store
//!    pins, and `pin_conformance.rs` tests such stores.
//! 4. `remote_tool.rs` makes calls: `rounded_number.rs` checks the arguments, `session.rs` sends
//!    the request, `input.rs` answers what the server asks for (`elicitation.rs`, `page_url.rs`,
//!    `sampling.rs`), `content.rs` converts the result, `media.rs` checks what is no text,
//!    `request_error.rs` converts the error. `task.rs`
//!    follows long calls, `metadata.rs` sends and reads `_meta`, and `trace_context.rs` connects
//!    the traces of both sides.
//! 5. `supervisor.rs` keeps the connection and its `subscription.rs` alive; `notices.rs` delivers
//!    notifications, and `handler.rs` receives requests of the server. `traffic.rs` holds what is
//!    in flight, `link.rs` what all parts share, such as the `roots.rs`.
//! 6. `challenge.rs` answers challenges by the authorization of `oauth/`, and the refused request
//!    is sent again.
//! 7. `connection.rs`: [`McpConnection`], the handle for the program, with `resources.rs`,
//!    `prompts.rs` and `completion.rs`. `feature_tools.rs` gives them to a model, if
//!    `offered_features.rs` has them, with errors by `feature_error.rs`. `connection_tools.rs` lets
//!    a model connect to `allowed_servers.rs`, and `model_tools.rs` keeps such connections.
//!
//! # Invariants
//! - Nothing waits for a server without a limit: every request has a deadline, every write a
//!   timeout, and the end of a connection kills what does not end.
//! - Nothing that a server sends is kept without a limit.
//! - All generic code of the SDK is instantiated here, in functions that are not generic.

mod allowed_servers;
mod builder;
mod catalog;
mod challenge;
mod completion;
mod connection;
mod connection_tools;
mod content;
mod deadline;
mod decode;
mod definition;
mod diff;
mod elicitation;
mod error;
mod events;
mod failure_reason;
mod feature_error;
mod feature_tools;
mod flood;
mod guard;
mod handler;
mod handshake;
#[cfg(feature = "client")]
mod http_target;
mod incoming;
mod input;
mod late_discovery;
mod limits;
mod link;
mod list;
mod media;
mod metadata;
mod model_tools;
mod notices;
#[cfg(feature = "oauth")]
mod oauth;
mod offered_features;
mod open_connections;
mod open_transport;
mod options;
mod page;
mod page_url;
pub mod pin_conformance;
mod pin_file;
mod pinning;
mod pins;
#[cfg(feature = "postgres")]
mod postgres_pins;
mod process_target;
mod prompts;
mod refresh;
mod remote_tool;
mod request_error;
mod resources;
mod roots;
mod rounded_number;
mod sampling;
mod secrets;
mod server_program;
mod session;
mod settings;
#[cfg(feature = "sqlite")]
mod sqlite_pins;
mod status;
mod subscription;
mod supervisor;
mod target;
mod task;
mod text;
mod trace_context;
mod traffic;
mod trust;
mod wire;

pub use allowed_servers::AllowedServers;
pub use builder::McpClient;
pub use catalog::{SkippedServerTool, ToolsReport};
pub use connection::McpConnection;
pub use connection_tools::{ConnectionHost, ConnectionTools, ListedConnection, RequestedServer};
pub use elicitation::{
    ElicitLater, Elicitation, ElicitationAction, ElicitationHandler, ElicitationKind,
};
pub use error::McpError;
pub use events::McpEvent;
pub use limits::{ListLimits, ResultLimits};
pub use metadata::{CallMeta, result_meta};
pub use model_tools::{McpConnections, tools};
#[cfg(feature = "oauth")]
pub use oauth::{
    AuthorizationHandler, LoopbackRedirect, MemoryTokens, OAuth, StoredTokens, TokenFile,
    TokenStore,
};
#[cfg(feature = "oauth-jwt")]
pub use oauth::{SigningAlgorithm, SigningKey};
pub use pin_file::PinFile;
pub use pins::{ChangeKind, DefinitionChange, MemoryPins, PinStore, PinnedDefinition, Pins};
#[cfg(feature = "postgres")]
pub use postgres_pins::PostgresPins;
pub use prompts::{McpPrompt, McpPromptArgument};
pub use resources::{McpResource, McpResourceTemplate};
pub use sampling::Sampling;
#[cfg(feature = "sqlite")]
pub use sqlite_pins::SqlitePins;
pub use status::McpStatus;
pub use trust::Trust;
