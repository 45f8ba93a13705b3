//! The guide: one page for each task.

#[cfg(feature = "client")]
#[doc = include_str!("guide/client.md")]
pub mod client {}

#[cfg(feature = "client")]
#[doc = include_str!("guide/trust.md")]
pub mod trust {}

#[cfg(feature = "oauth")]
#[doc = include_str!("guide/oauth.md")]
pub mod oauth {}

#[cfg(feature = "server")]
#[doc = include_str!("guide/server.md")]
pub mod server {}
