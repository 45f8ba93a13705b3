use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::json::Risk;
use crate::message::Effect;

/// Whether a tool can run now. An unavailable tool is not offered.
///
/// A call of an unavailable tool is still attempted, because the tool may become available in the
/// meantime. If the attempt fails and the tool is still unavailable, the model receives the reason
/// with the code `TOOL_UNAVAILABLE`. To prevent calls, deny them with a
/// [`Permission`].
///
/// ```
/// use tool_runtime::Availability;
///
/// let offline = Availability::Unavailable("the network is down".into());
/// assert!(!offline.is_available());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The tool can run.
    Available,
    /// The tool can't run. The reason is a short text for operators, and for a model whose call
    /// fails.
    Unavailable(String),
}

impl Availability {
    /// Returns `true` if the tool can run.
    pub fn is_available(&self) -> bool {
        matches!(self, Self::Available)
    }
}

/// Whether calls of a tool are allowed.
///
/// ```
/// use tool_runtime::{Permission, Registry, tool, tools};
///
/// /// Sends money.
/// #[tool(permission = "ask")]
/// async fn pay(amount: u32) {}
///
/// let tools = Registry::try_from(tools![pay])?.snapshot();
/// assert_eq!(tools.definition("pay").unwrap().permission, Permission::Ask);
/// # Ok::<(), tool_runtime::RegistryError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Calls of the tool are allowed.
    #[default]
    Allow,
    /// Each call needs an approval. Without an approver it is denied.
    Ask,
    /// Calls of the tool are denied.
    Deny,
}

/// The riskiest repairs that a tool accepts in its arguments.
///
/// ```
/// use tool_runtime::Repair;
/// use tool_runtime::json::Risk;
///
/// assert!(Repair::Inferred.allows(Risk::Lossless));
/// assert!(!Repair::Inferred.allows(Risk::Lossy));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// No repairs: the arguments must be valid JSON that matches the schema. Two exceptions are
    /// accepted at every level: 30.0 for an integer, because JSON Schema defines it as one, and
    /// `null` for an absent member.
    None,
    /// Repairs that do not change the meaning, such as removing a code fence.
    Lossless,
    /// In addition, repairs whose meaning is evident, such as removing prose around the value.
    Inferred,
    /// All repairs, including those that lose something. Only this level accepts truncated
    /// arguments.
    Lossy,
}

impl Repair {
    /// Returns the default level for tools with this effect. A tool that changes something must not
    /// run with incomplete arguments.
    pub fn of_effect(effect: Effect) -> Self {
        match effect {
            Effect::None | Effect::Read => Self::Lossy,
            Effect::Write | Effect::External => Self::Inferred,
        }
    }

    /// Returns `true` if this level allows a fix of this risk.
    pub fn allows(self, risk: Risk) -> bool {
        match self {
            Self::None => false,
            Self::Lossless => risk <= Risk::Lossless,
            Self::Inferred => risk <= Risk::Inferred,
            Self::Lossy => true,
        }
    }
}

/// The maximum number of calls of a tool within any period of a given length (sliding window).
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::RateLimit;
///
/// let limit = RateLimit::per_minute(10);
/// assert_eq!(limit, RateLimit { times: 10, per: Duration::from_secs(60) });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RateLimit {
    /// The maximum number of calls.
    pub times: u32,
    /// The length of the period.
    pub per: Duration,
}

impl RateLimit {
    /// Allows this many calls in any second.
    pub fn per_second(times: u32) -> Self {
        Self { times, per: Duration::from_secs(1) }
    }

    /// Allows this many calls in any minute.
    pub fn per_minute(times: u32) -> Self {
        Self { times, per: Duration::from_secs(60) }
    }

    /// Allows this many calls in any hour.
    pub fn per_hour(times: u32) -> Self {
        Self { times, per: Duration::from_secs(60 * 60) }
    }
}
