//! Connections that a model opens, within the program's list of servers.

pub(crate) mod allowed_servers;
pub(crate) mod connection_tools;
pub(crate) mod model_tools;
