use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// The tokens that a model request took, as the provider counts them.
///
/// ```
/// use tool_runtime::Usage;
///
/// let mut total = Usage::new(1_200, 80);
/// total += Usage::new(300, 20);
/// assert_eq!(total, Usage::new(1_500, 100));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// The input tokens, including those read from or written to a cache.
    pub input: u64,
    /// The input tokens that were read from the cache of the provider.
    pub cached: u64,
    /// The input tokens that were written to the cache of the provider, for any time.
    #[serde(skip_serializing_if = "is_zero")]
    pub written: u64,
    /// The written tokens that the provider keeps for at least one hour, as Anthropic does on
    /// request. The default is five minutes.
    #[serde(skip_serializing_if = "is_zero")]
    pub written_1h: u64,
    /// The written tokens that the provider keeps for at least twelve hours, as OpenAI does on
    /// request. The default is 30 minutes.
    #[serde(skip_serializing_if = "is_zero")]
    pub written_12h: u64,
    /// The output tokens, including reasoning.
    pub output: u64,
    /// The output tokens that were reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// Creates a usage of `input` and `output` tokens.
    ///
    /// ```
    /// use tool_runtime::Usage;
    ///
    /// let usage = Usage::new(1_200, 80);
    /// assert_eq!((usage.input, usage.output), (1_200, 80));
    /// ```
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// Returns `true` if all counts are 0, as in a reply whose provider counts no tokens.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the difference to an earlier total.
    #[must_use]
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            written: self.written.saturating_sub(before.written),
            written_1h: self.written_1h.saturating_sub(before.written_1h),
            written_12h: self.written_12h.saturating_sub(before.written_12h),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
        }
    }
}

/// Adds the counts. The sums saturate, so that a wrong count of a provider causes no overflow.
impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        let Self { input, cached, written, written_1h, written_12h, output, reasoning } = more;
        for (sum, more) in [
            (&mut self.input, input),
            (&mut self.cached, cached),
            (&mut self.written, written),
            (&mut self.written_1h, written_1h),
            (&mut self.written_12h, written_12h),
            (&mut self.output, output),
            (&mut self.reasoning, reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde requires")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
