//! The guide: one page for each task.

#[cfg(feature = "server")]
#[doc = include_str!("guide/server.md")]
pub mod server {}
