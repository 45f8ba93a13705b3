use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::message::CallId;

/// The id of a run: 128 bits, printed as 32 hexadecimal digits.
///
/// The default is 0, which stands for no run.
///
/// ```
/// use tool_runtime::event::RunId;
///
/// let run = RunId::random();
/// assert_eq!(run.to_string().parse(), Ok(run));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId {
    // Two halves, since the alignment of a `u128` pads everything that holds an id.
    high: u64,
    low: u64,
}

impl RunId {
    /// Creates a random id.
    ///
    /// The id distinguishes runs. It is not a secret: never use it to grant access.
    pub fn random() -> Self {
        Self::from(fastrand::u128(1..))
    }
}

impl From<u128> for RunId {
    fn from(id: u128) -> Self {
        Self { high: (id >> 64) as u64, low: id as u64 }
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
        u128::from_str_radix(text, 16).map(Self::from)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.high, self.low)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The place in a run that calls and events come from: run, turn and parent call.
///
/// ```
/// use tool_runtime::CallId;
/// use tool_runtime::event::{Origin, RunId};
///
/// let turn = Origin::new(RunId::random(), 3);
/// let nested = turn.nested(&CallId::from("call_1"));
/// assert_eq!((nested.turn, nested.depth), (3, 1));
/// assert_eq!(nested.parent, Some("call_1".into()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// The id of the run.
    pub run: RunId,
    /// The number of model requests in the run so far; 0 before the first, and outside of runs.
    pub turn: u32,
    /// The call whose tool made these calls, if they are nested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    /// The number of calls that these calls are nested in.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(depth: &u32) -> bool {
    *depth == 0
}

impl Origin {
    /// Returns the text that identifies a call of this origin which has been resumed this often.
    pub(crate) fn call_key(&self, call: &CallId, resumptions: u32) -> String {
        let Self { run, turn, .. } = self;
        // A model may assign the id of a nested call to another call.
        let depth = match self.depth {
            0 => String::new(),
            depth => format!(".{depth}"),
        };
        match resumptions {
            0 => format!("{run}-{turn}{depth}-{call}"),
            // Before the id, which a model may choose.
            resumptions => format!("{run}-{turn}{depth}+{resumptions}-{call}"),
        }
    }

    /// Creates the origin of the calls and events of a turn.
    pub fn new(run: RunId, turn: u32) -> Self {
        Self { run, turn, parent: None, depth: 0 }
    }

    /// Returns the origin of the calls that the tool of `call` makes.
    #[must_use]
    pub fn nested(&self, call: &CallId) -> Self {
        Self { parent: Some(call.clone()), depth: self.depth + 1, ..*self }
    }
}
