//! Where a call comes from: which run, which turn of it, which other call.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::message::CallId;

/// The id of one run: 128 bits, printed as 32 hexadecimal digits. The default is 0: no run.
///
/// ```
/// use tool_runtime::event::RunId;
///
/// let run = RunId::random();
/// assert_eq!(run.to_string().parse(), Ok(run));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(u128);

impl RunId {
    /// A fresh id. It tells runs apart; it is no secret, and nobody should be let in by it.
    pub fn random() -> Self {
        Self(fastrand::u128(1..))
    }
}

impl From<u128> for RunId {
    fn from(id: u128) -> Self {
        Self(id)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for RunId {
    type Error = ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for RunId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where calls and events come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The run.
    pub run: RunId,
    /// How often the model has been asked in it; 0 before that, and outside of runs.
    pub turn: u32,
    /// The call whose tool made these calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    /// How many calls lie around these.
    #[serde(default, skip_serializing_if = "is_outermost")]
    pub depth: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_outermost(depth: &u32) -> bool {
    *depth == 0
}

impl Origin {
    /// A turn of a run.
    pub fn new(run: RunId, turn: u32) -> Self {
        Self { run, turn, parent: None, depth: 0 }
    }

    /// Where the calls come from that the tool of `call` makes.
    #[must_use]
    pub fn within(&self, call: &CallId) -> Self {
        Self { parent: Some(call.clone()), depth: self.depth + 1, ..*self }
    }
}
