//! Tools that most agents need, built on the public API of [`tool_runtime`].
//!
//! Most items are values whose methods are tools. Each is behind a feature:
//!
//! | feature | item | what it does |
//! |---|---|---|
//! | `files` | `Files` | reads, searches and changes the files of one folder (Linux) |
//! | `knowledge` | `Knowledge` | searches documents by words and meaning |
//! | `knowledge` | `Memory` | remembers facts across runs |
//! | `schedule` | `ScheduleTools` | lets a model schedule prompts, calls and messages |
//! | `schedule` | `Scheduler` | fires schedules at their times |
//! | `postgres` | `PostgresDocuments`, `PostgresSchedules` | store documents and schedules in PostgreSQL |
//! | `web` | `Web`, `WebRequests` | fetch content of public hosts, and send requests to them |
//! | `web` | `WebSearch` | searches the web with an engine |
//! | `shell` | `Shell` | runs commands and background processes in a sandbox (Linux) |
//! | `shell` | `SandboxLauncher` | starts programs in a sandbox for your own code |
//! | `terminal` | `TerminalApprover` | asks the person at the terminal for approvals |
//!
//! The [guide] has a page for each task.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(feature = "shell", feature = "web"))]
mod excerpt;
#[cfg(all(feature = "files", target_os = "linux"))]
mod files;
#[cfg(any(doc, doctest))]
#[path = "docs/guide.rs"]
pub mod guide;
#[cfg(any(feature = "knowledge", feature = "web"))]
mod html;
#[cfg(any(all(feature = "files", target_os = "linux"), feature = "web"))]
mod image;
#[cfg(feature = "knowledge")]
pub mod knowledge;
#[cfg(feature = "knowledge")]
pub mod memory;
#[cfg(any(all(feature = "files", target_os = "linux"), feature = "schedule"))]
mod rows;
#[cfg(feature = "schedule")]
pub mod schedule;
#[cfg(feature = "shell")]
mod shell;
#[cfg(feature = "terminal")]
mod terminal;
#[cfg(feature = "web")]
mod web;
#[cfg(feature = "knowledge")]
mod words;

#[cfg(all(feature = "files", target_os = "linux"))]
pub use files::{DiffRecorder, Files, OpenFilesError, Patch, UndoError};
#[cfg(feature = "schedule")]
pub use schedule::{ScheduleTools, Scheduler};
#[cfg(feature = "shell")]
pub use shell::{Sandbox, SandboxError, SandboxLauncher, SandboxStatus, SandboxedProcess, Shell};
#[cfg(feature = "terminal")]
pub use terminal::TerminalApprover;
#[cfg(feature = "web")]
pub use web::{
    Brave, InvalidHost, InvalidNetwork, Recency, Resolver, SearXng, SearchEngine, SearchQuery,
    SearchResult, Tavily, Web, WebRequests, WebResponse, WebSearch,
};
