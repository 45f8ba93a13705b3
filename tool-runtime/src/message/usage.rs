use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// How many tokens a reply took, as its provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// All that the model was sent, what was cached included.
    pub input: u64,
    /// Of that, what was read from the provider's cache.
    pub cached: u64,
    /// All that the model said, its reasoning included.
    pub output: u64,
    /// Of that, its reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// So many tokens in and out.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// Whether nothing was counted.
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What came to it since it was this much.
    #[must_use]
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
        }
    }
}

/// A provider that counts wrongly makes no sum overflow.
impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        let Self { input, cached, output, reasoning } = more;
        for (sum, more) in [
            (&mut self.input, input),
            (&mut self.cached, cached),
            (&mut self.output, output),
            (&mut self.reasoning, reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}
