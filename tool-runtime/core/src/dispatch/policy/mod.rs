//! The policy of calls: whether, when and how often each of them runs.
//!
//! [`Policy`] (`config.rs`) is the configuration. The other files decide from plain values: they
//! neither await nor read a clock, so that each rule can be tested on its own.
//!
//! - `permission.rs`: permissions and capabilities
//! - `breaker.rs`: the state machine of a circuit breaker
//! - `window.rs`: the sliding window of a rate limit
//! - `retry.rs`: the delay before a retry
//! - `cap.rs`: the part of a long output that the model receives
//! - `strings.rs`: the collections of strings that the configuration takes

mod breaker;
mod cap;
pub(crate) mod config;
mod permission;
pub(crate) mod retry;
pub(crate) mod strings;
mod window;

use std::collections::BTreeSet;

pub use breaker::Breaker;
pub(super) use breaker::{AdmissionKind, Circuit};
pub(super) use cap::{
    DEFAULT_MAX_MEDIA_BYTES, DEFAULT_MAX_OUTPUT_BYTES, limit_media, truncate_result,
};
pub(crate) use config::Policy;
pub use permission::Permissions;
pub(super) use permission::{CallPermission, check_capabilities, not_allowed};
pub(super) use retry::retry_delay;
pub(crate) use strings::IntoStrings;
pub(super) use window::SlidingWindow;

/// The capabilities that a policy grants, by name.
pub(super) type Granted = BTreeSet<String>;
