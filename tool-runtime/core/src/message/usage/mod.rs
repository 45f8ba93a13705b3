//! Tokens of model requests, in total and by model.

mod by_model;

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

pub use by_model::{ModelUsage, UsedModel};

/// The tokens that a model request took, as the provider counts them or as they are estimated.
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
    pub input_tokens: u64,
    /// The input tokens that were read from the cache of the provider.
    pub cache_read_tokens: u64,
    /// The input tokens that were written to the cache of the provider, for any time.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_tokens: u64,
    /// The written tokens that the provider keeps for at least one hour, as Anthropic does on
    /// request. The default is five minutes.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_1h_tokens: u64,
    /// The written tokens that the provider keeps for at least twelve hours, as OpenAI does on
    /// request. The default is 30 minutes.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_12h_tokens: u64,
    /// The output tokens, including reasoning.
    pub output_tokens: u64,
    /// The output tokens that were reasoning.
    pub reasoning_tokens: u64,
    /// The input tokens that were audio.
    #[serde(skip_serializing_if = "is_zero")]
    pub audio_input_tokens: u64,
    /// The output tokens that were audio.
    #[serde(skip_serializing_if = "is_zero")]
    pub audio_output_tokens: u64,
    /// The number of searches that the provider made for the reply, which it bills apart.
    #[serde(skip_serializing_if = "is_zero")]
    pub searches: u64,
    /// The input and output tokens that were estimated, because the provider did not count them or
    /// the reply was cut off: four bytes of text count as one token.
    #[serde(skip_serializing_if = "is_zero")]
    pub estimated_tokens: u64,
}

impl Usage {
    /// Creates a usage of input and output tokens.
    ///
    /// ```
    /// use tool_runtime::Usage;
    ///
    /// let usage = Usage::new(1_200, 80);
    /// assert_eq!((usage.input_tokens, usage.output_tokens), (1_200, 80));
    /// ```
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, ..Self::default() }
    }

    /// Returns `true` if all counts are 0, as in a reply whose provider counts no tokens.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the difference to an earlier total.
    #[must_use]
    pub(crate) fn since(mut self, mut before: Self) -> Self {
        for (count, before) in self.counts().into_iter().zip(before.counts()) {
            *count = count.saturating_sub(*before);
        }
        self
    }

    /// Returns all counts.
    fn counts(&mut self) -> [&mut u64; 11] {
        [
            &mut self.input_tokens,
            &mut self.cache_read_tokens,
            &mut self.cache_creation_tokens,
            &mut self.cache_creation_1h_tokens,
            &mut self.cache_creation_12h_tokens,
            &mut self.output_tokens,
            &mut self.reasoning_tokens,
            &mut self.audio_input_tokens,
            &mut self.audio_output_tokens,
            &mut self.searches,
            &mut self.estimated_tokens,
        ]
    }
}

/// Adds the counts. The sums saturate, so that a wrong count of a provider causes no overflow.
impl AddAssign for Usage {
    fn add_assign(&mut self, mut more: Self) {
        for (sum, more) in self.counts().into_iter().zip(more.counts()) {
            *sum = sum.saturating_add(*more);
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde requires")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
