//! The client: connects to servers and registers their tools.
//!
//! 1. `builder.rs`: [`McpClient`] collects the [`options`] and starts a connection to a target.
//! 2. `connect/` opens a transport, agrees on a revision of the protocol, and keeps the connection
//!    alive. If it fails, it finds the reason, without the secrets of the program.
//! 3. `wire/` carries the messages, over lines or HTTP. A guard routes, bounds and paces what a
//!    server sends before the SDK decodes it.
//! 4. `tools/` requests the list of tools, `pins/` compares it with the definitions that a person
//!    has approved, and the result is registered as a whole.
//! 5. `calls/` makes calls: it checks the arguments, sends the request with its metadata, follows
//!    long calls, and converts the result or the error.
//! 6. `questions/` answers what a server asks for: input of the user, replies of a model, folders.
//! 7. `challenge.rs` answers the challenges of servers by the authorization of `oauth/`, and the
//!    refused request is sent again.
//! 8. `connection.rs`: [`McpConnection`], the handle for the program. `features/` offers resources,
//!    prompts and completion to the program and the model. By `model_connections/`, a model
//!    connects to servers of the program's list.
//!
//! # Invariants
//! - Nothing waits for a server without a limit: every request has a deadline, every write a
//!   timeout, and the end of a connection kills what does not end.
//! - Nothing that a server sends is kept without a limit.
//! - All generic code of the SDK is instantiated here, in functions that are not generic.

mod builder;
mod calls;
mod challenge;
mod connect;
mod connection;
mod error;
mod events;
mod features;
mod limits;
mod model_connections;
mod notices;
#[cfg(feature = "oauth")]
mod oauth;
mod options;
mod pins;
mod questions;
mod settings;
mod status;
mod tools;
mod trust;
mod wire;

pub use builder::McpClient;
pub use calls::metadata::result_meta;
pub use connection::McpConnection;
pub use error::McpError;
pub use events::McpEvent;
pub use features::prompts::{McpPrompt, McpPromptArgument};
pub use features::resources::{McpResource, McpResourceTemplate};
pub use limits::{ListLimits, ResultLimits};
pub use model_connections::allowed_servers::AllowedServers;
pub use model_connections::connection_tools::{
    ConnectionHost, ConnectionTools, ListedConnection, RequestedServer,
};
pub use model_connections::model_tools::{McpConnections, tools};
#[cfg(feature = "oauth")]
pub use oauth::{AuthorizationHandler, LoopbackRedirect, OAuth, Tokens};
#[cfg(feature = "oauth-jwt")]
pub use oauth::{SigningAlgorithm, SigningKey};
pub use pins::file_pins::FilePins;
pub use pins::record_pins::RecordPins;
pub use pins::{ChangeKind, DefinitionChange, MemoryPins, PinStore, PinnedDefinition, Pins};
pub use questions::elicitation::{
    ElicitLater, Elicitation, ElicitationAction, ElicitationHandler, ElicitationKind,
};
pub use questions::sampling::Sampling;
pub use status::McpStatus;
pub use tools::catalog::{SkippedServerTool, ToolsReport};
pub use trust::Trust;
