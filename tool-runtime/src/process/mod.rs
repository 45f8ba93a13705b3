//! Long-lived child processes: language servers, MCP servers, workers, shells.
//!
//! [`ChildProcess::builder`] starts a program (`builder.rs`). Its standard input and output carry
//! lines (`line_reader.rs`) or bytes; its standard error is read all the time (`stderr.rs`).
//! `group.rs` is the only file that starts, signals and kills processes: a child and all processes
//! that it starts form one process group (on Windows a job), which ends as a whole. A process that
//! leaves the group, as a daemon does, survives. So does a group whose parent, this program, is
//! killed.
//!
//! A program that runs within one call of a tool is easier to start with `ToolContext::command`.
//!
//! An exchange with an MCP server over standard input and output:
//!
//! ```
//! use std::time::Duration;
//!
//! use serde_json::{Value, json};
//! use tool_runtime::process::{ChildProcess, Shutdown};
//! use tool_runtime::{ToolError, ToolErrorKind};
//!
//! struct Server(ChildProcess);
//!
//! impl Server {
//!     async fn request(&mut self, id: u32, method: &str) -> Result<Value, ToolError> {
//!         let request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
//!         self.0.write_line(&request.to_string()).await?;
//!         while let Some(line) = self.0.next_line().await? {
//!             let mut message: Value = serde_json::from_str(&line)?;
//!             if message["id"] == id {
//!                 return Ok(message["result"].take());
//!             }
//!         }
//!         let text = format!("The server has ended: {}", self.0.stderr_tail());
//!         Err(ToolError::new(ToolErrorKind::Unavailable, text))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ToolError> {
//! # if cfg!(windows) { return Ok(()) }
//! // Not a real server: it answers each line alike.
//! let script = r#"while read -r line; do
//!     echo '{"jsonrpc": "2.0", "method": "notifications/message"}'
//!     echo '{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}'
//! done"#;
//! let child = ChildProcess::builder("sh").args(["-c", script]).env_clear().spawn()?;
//! let mut server = Server(child);
//! assert_eq!(server.request(1, "tools/list").await?, json!({ "tools": [] }));
//! let status = server.0.shutdown(Shutdown::with_limit(Duration::from_secs(10))).await?;
//! assert!(status.success()); // it ended when its input was closed
//! # Ok(())
//! # }
//! ```

mod builder;
mod child;
mod group;
mod line_reader;
mod shutdown;
mod stderr;

pub use builder::ProcessBuilder;
pub use child::ChildProcess;
pub(crate) use group::{Group, command_line};
pub use line_reader::{LineError, LineReader};
pub use shutdown::Shutdown;
