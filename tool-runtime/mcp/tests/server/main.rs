//! Tests of the server, through the messages that clients send and receive.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::or_fun_call,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test stops at the first failure"
)]

mod approvals;
mod calls;
mod changes;
mod client;
mod content;
mod hostile;
mod http;
mod http_calls;
mod http_limits;
mod http_serve;
mod input;
mod malformed;
mod offers;
mod principals;
mod tasks;
#[cfg(feature = "client")]
mod warnings;
