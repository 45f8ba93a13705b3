//! What stands between a call and its tool. Each decides from plain values, without a clock.

mod breaker;
mod cap;
mod permission;
mod retry;
mod window;

use std::collections::BTreeSet;

pub use breaker::Breaker;
pub(super) use breaker::{Circuit, Passage};
pub(super) use cap::{DEFAULT as OUTPUT_LIMIT, capped};
pub use permission::Permissions;
pub(super) use permission::{is_granted, not_allowed};
pub(super) use retry::pause_before_next;
pub(super) use window::Window;

/// What the tools of a dispatcher may use, by name.
pub(super) type Granted = BTreeSet<String>;
