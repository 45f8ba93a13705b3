//! Long-lived child processes: language servers, MCP servers, workers, shells.
//!
//! [`ChildProcess::builder`] starts a program (`builder.rs`). Its standard input and output carry
//! lines (`line_reader.rs`) or bytes; its standard error is read continuously (`stderr.rs`).
//! `group.rs` starts, signals and kills processes: a child and all processes that it starts form
//! one process group (on Windows a job), which ends as a whole.
//!
//! # When this program ends
//!
//! All processes that this program started end with it, whether it returns, exits, panics, is
//! killed, or is stopped by Ctrl-C at a terminal:
//!
//! - On Unix, a shell (`/bin/sh`) waits beside the program and then kills the process groups that
//!   are left (`watchdog.rs`). Without a shell, the groups survive if the program is killed. If one
//!   of the processes kills the shell, another shell replaces it. If a process stops the shell,
//!   another one replaces it after some hundred process starts and ends. If a process kills the
//!   shell and the program at once, the groups survive.
//! - On Linux, the shell also kills the processes that left their group, as daemons and the jobs of
//!   an interactive shell do. If the program may create a cgroup (`cgroup.rs`), all of them are in
//!   it. A process survives only if it is moved to another cgroup, as by `systemd-run`, if another
//!   service starts it, such as that of a container engine, or if its parents start it and end
//!   within the moment before they are moved: a millisecond, or longer on a busy machine. In that
//!   moment the environment variable is all that identifies it.
//! - A cgroup takes Linux 5.14, cgroup v2, and the right to create one. Root has it unless
//!   `/sys/fs/cgroup` is read-only, as in most containers. Other users have it in a user unit of
//!   systemd, such as a program of a desktop, and in a service with `Delegate=yes`.
//! - On Linux without a cgroup, the shell finds them by the environment variable
//!   `TOOL_RUNTIME_PROGRAM`, which a process inherits. A process that leaves its group survives if
//!   it also clears its environment or runs as another user.
//! - On other Unix systems, every process that leaves its group survives.
//! - On Windows, the system ends the job.
//!
//! While the program runs, the end of a call or the drop of a [`ChildProcess`] ends the process
//! group only.
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
//! let status = server.0.shutdown(Shutdown::with_timeout(Duration::from_secs(10))).await?;
//! assert!(status.success()); // it ended when its input was closed
//! # Ok(())
//! # }
//! ```

mod builder;
#[cfg(target_os = "linux")]
mod cgroup;
mod child;
mod group;
mod line_reader;
mod shutdown;
mod stderr;
#[cfg(unix)]
mod watchdog;

pub use builder::ProcessBuilder;
pub use child::ChildProcess;
pub(crate) use group::{Group, command_line};
pub use line_reader::LineReader;
pub use shutdown::Shutdown;
