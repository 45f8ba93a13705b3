use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::json::Risk;

/// What running a tool does to the world; the runtime is as careful as this demands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: the output depends on the arguments alone.
    None,
    /// Looks at the world and leaves it as it was.
    Read,
    /// Changes something that the program owns.
    Write,
    /// Changes something beyond the program's reach: mail, payments, other people's systems.
    /// What a tool that says nothing is taken for.
    #[default]
    External,
}

/// Whether a tool can run now, and so is offered.
///
/// A call is tried all the same: one may be under way when a server goes, and be answered when it is
/// back. Where it fails, and the tool says then that it can't run, the model is told
/// `TOOL_UNAVAILABLE`, and why. What must not run is denied, by its `permission`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available,
    /// It can't: why, in a few words that operators read, and models whose calls fail for it.
    Unavailable(String),
}

impl Availability {
    /// Whether the tool can run.
    pub fn is_available(&self) -> bool {
        matches!(self, Self::Available)
    }
}

/// Whether a call may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// It may.
    #[default]
    Allow,
    /// Somebody is asked first. Where nobody can be, it may not.
    Ask,
    /// It may not.
    Deny,
}

/// What may be repaired in a tool's arguments, by what a repair puts at risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Nothing: only sound JSON of the schema's types is taken. To JSON Schema 30.0 is an integer, so
    /// that is taken for one.
    None,
    /// What changes no meaning, such as a code fence.
    Lossless,
    /// What is the evident meaning as well, such as prose around the value.
    Inferred,
    /// Everything, also what loses something: alone this takes a text that was cut off.
    Lossy,
}

impl Repair {
    /// What a tool of this effect takes that says nothing else: one that changes something must not
    /// act on half of what was meant.
    pub fn of_effect(effect: Effect) -> Self {
        match effect {
            Effect::None | Effect::Read => Self::Lossy,
            Effect::Write | Effect::External => Self::Inferred,
        }
    }

    /// Whether it allows a fix of this risk.
    pub fn allows(self, risk: Risk) -> bool {
        match self {
            Self::None => false,
            Self::Lossless => risk <= Risk::Lossless,
            Self::Inferred => risk <= Risk::Inferred,
            Self::Lossy => true,
        }
    }
}

/// How often a tool may be called: never more often in any span of that length, wherever it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RateLimit {
    /// This many times …
    pub times: u32,
    /// … in any span of this length.
    pub per: Duration,
}

impl RateLimit {
    /// So many times in each second.
    pub fn per_second(times: u32) -> Self {
        Self { times, per: Duration::from_secs(1) }
    }

    /// So many times in each minute.
    pub fn per_minute(times: u32) -> Self {
        Self { times, per: Duration::from_secs(60) }
    }

    /// So many times in each hour.
    pub fn per_hour(times: u32) -> Self {
        Self { times, per: Duration::from_secs(60 * 60) }
    }
}

/// What a tool is made of. It says how to show a tool, not how to run it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Code of the program.
    #[default]
    Function,
    /// A program of this name, which has to be on `PATH`.
    Cli(String),
}
