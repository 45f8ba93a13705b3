//! One connection to a server: how it is opened, kept alive and ended.

pub(crate) mod failure_reason;
pub(crate) mod handshake;
#[cfg(feature = "client")]
pub(crate) mod http_target;
pub(crate) mod late_discovery;
pub(crate) mod link;
pub(crate) mod open_connections;
pub(crate) mod open_transport;
pub(crate) mod process_target;
pub(crate) mod secrets;
pub(crate) mod server_program;
pub(crate) mod session;
pub(crate) mod subscription;
pub(crate) mod supervisor;
pub(crate) mod target;
