//! Connects [tool-runtime](https://docs.rs/tool-runtime) to MCP (Model Context Protocol): the tools
//! of any server become tools of a registry, and the tools of a registry are served to any client.
//!
//! - Feature `client`: `McpClient` connects to a server over stdio or HTTP and registers its tools.
//! - Feature `server`: `McpServer` serves tools, a registry or a dispatcher over stdio or HTTP.
//! - Feature `oauth`: `OAuth` gets access tokens for HTTP servers.
//!
//! The features `client-stdio` and `server-stdio` are the client and the server without HTTP.
//!
//! The [guide] has one page for each task.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client-stdio")]
#[expect(deprecated, reason = "the newest revision deprecates sampling, roots and logging")]
mod client;
#[cfg(feature = "client-stdio")]
pub use client::*;
#[cfg(feature = "server-stdio")]
mod content;
#[path = "docs/guide.rs"]
pub mod guide;
#[cfg(any(feature = "client-stdio", feature = "server-stdio"))]
mod lines;
#[cfg(any(feature = "client-stdio", feature = "server-stdio"))]
mod log_level;
#[cfg(any(feature = "client-stdio", feature = "server-stdio"))]
mod meta;
#[cfg(feature = "server-stdio")]
pub mod server;

#[cfg(any(feature = "client-stdio", feature = "server-stdio"))]
pub use log_level::LogLevel;
#[cfg(any(feature = "client-stdio", feature = "server-stdio"))]
pub use meta::Meta;
#[cfg(feature = "server-stdio")]
pub use server::mcp_server::McpServer;
