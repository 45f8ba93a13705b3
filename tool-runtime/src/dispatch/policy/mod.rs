//! What stands between a call and its tool. Each decides from plain values, without a clock.

mod breaker;
mod cap;
mod config;
mod permission;
mod retry;
mod window;

use std::collections::BTreeSet;

pub use breaker::Breaker;
pub(super) use breaker::{Circuit, Passage};
pub(super) use cap::{DEFAULT as OUTPUT_LIMIT, capped};
pub use config::Policy;
pub use permission::Permissions;
pub(super) use permission::{is_granted, not_allowed};
pub(super) use retry::retry_delay;
pub(super) use window::Window;

/// The capabilities that a policy grants, by name.
pub(super) type Granted = BTreeSet<String>;
