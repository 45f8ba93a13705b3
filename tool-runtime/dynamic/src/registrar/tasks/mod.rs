//! The tasks that make the entries of a catalog usable.
//!
//! A tool is registered at once as a `catalog_tool.rs`, which is unavailable until `tool_task.rs`
//! has built it. `connection_task.rs` connects to a server (`client.rs`) and registers its tools.

pub(super) mod catalog_tool;
mod client;
pub(super) mod connection_task;
pub(super) mod tool_task;
