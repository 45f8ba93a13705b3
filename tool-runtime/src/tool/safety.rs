use serde::{Deserialize, Serialize};

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

/// Whether a tool can run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available,
    /// It can't: why, for the operator.
    Unavailable(String),
}

impl Availability {
    /// Whether the tool can run.
    pub fn is_available(&self) -> bool {
        matches!(self, Self::Available)
    }
}
