//! Limits of a run: model requests, tokens, cost, repeated calls and calls in a reply.

use serde::{Deserialize, Serialize};

use crate::message::{ModelUsage, Usage};
use crate::tool::{Allowance, CostAllowance, MeteredUsage};

/// Limits of a run: model requests, tokens, cost and repeated calls.
///
/// The limits apply to the run as a whole. Requests for the value of
/// [`extract`](crate::Agent::extract) belong to the run. If a run is
/// [resumed](crate::Agent::resume), its earlier usage counts towards the limits of the resuming
/// agent. The next prompt of a [`Session`](super::session::Session), or of
/// [`Answer::then`](super::Answer::then), starts a new run.
///
/// Default: 20 model requests, 128 calls in a reply, 4 repeats, no limit of tokens or cost.
///
/// ```
/// use tool_runtime::agent::{Limits, Prices};
///
/// let limits = Limits::default()
///     .max_iterations(50)
///     .max_tokens(200_000)
///     .max_cost(0.5, Prices { input: 3.0, cached: 0.3, output: 15.0 });
/// assert_eq!(limits.max_repeats, Some(4));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of model requests. Default: 20.
    ///
    /// Repeated requests of a [driver](crate::drivers::Driver::max_parse_attempts) for an
    /// unreadable reply count as well. Its request for a final answer does not.
    pub max_iterations: u32,
    /// Maximum number of tokens of all requests and replies together. Default: `None`, no limit.
    ///
    /// The limit is checked before each request, including repeated requests of a driver. An answer
    /// that exceeds it is still returned.
    pub max_tokens: Option<u64>,
    /// Maximum cost of all requests and replies, and the token prices. Default: `None`, no limit.
    ///
    /// A [sub-agent](super::SubAgent) with its own prices contributes the cost that it computes
    /// with them; use the same currency for both. If prices are set,
    /// [`Answer::cost`](crate::Answer::cost) and similar fields report the cost of a run. To track
    /// the cost without a limit, use a maximum of [`f64::INFINITY`].
    pub max_cost: Option<(f64, Prices)>,
    /// Maximum number of times in a row that the model may make the same call with the same
    /// arguments. Default: 4.
    ///
    /// The last allowed call returns a warning with its result. The next one stops the run. A call
    /// whose output is [cached](crate::ToolExecution) does not count.
    pub max_repeats: Option<u32>,
    /// Maximum number of calls of one reply that are run. Default: 128.
    ///
    /// The first calls run. Each further call gets a result that states the limit, and the run
    /// continues.
    ///
    /// A client of a model API has a second limit, which protects the program from a server: a
    /// reply of more than 10,000 calls is an error by default.
    pub max_calls_per_reply: Option<u32>,
}

/// Prices of a million tokens, in any currency.
///
/// Writing to the cache of a provider costs a multiple of the input price: 1.25 for the shortest
/// time (five minutes at Anthropic, 30 minutes at OpenAI), 2 for one hour, and 2.5 for twelve
/// hours. Providers that charge nothing for writing report no written tokens.
///
/// ```
/// use tool_runtime::Usage;
/// use tool_runtime::agent::Prices;
///
/// let prices = Prices { input: 3.0, cached: 0.3, output: 15.0 };
/// assert_eq!(prices.cost_of(&Usage::new(1_000_000, 100_000)), 4.5);
///
/// let mut usage = Usage::new(1_000_000, 0);
/// usage.cache_creation_tokens = 1_000_000;
/// assert_eq!(prices.cost_of(&usage), 3.75);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// Price of a million input tokens that were neither read from the provider's cache nor written
    /// to it.
    pub input: f64,
    /// Price of a million input tokens that were read from the provider's cache.
    pub cached: f64,
    /// Price of a million output tokens.
    pub output: f64,
}

/// The price of a token that is written to a cache, as a multiple of the input price.
const WRITE_FACTOR: f64 = 1.25;
const WRITE_1H_FACTOR: f64 = 2.0;
const WRITE_12H_FACTOR: f64 = 2.5;

impl Prices {
    /// Computes the cost of the given usage.
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
    pub fn cost_of(&self, usage: &Usage) -> f64 {
        let cached = usage.cache_read_tokens.min(usage.input_tokens);
        let written = usage.cache_creation_tokens.min(usage.input_tokens - cached);
        let written_12h = usage.cache_creation_12h_tokens.min(written);
        let written_1h = usage.cache_creation_1h_tokens.min(written - written_12h);
        let counts = [
            (usage.input_tokens - cached - written, 1.0, self.input),
            (cached, 1.0, self.cached),
            (written - written_1h - written_12h, WRITE_FACTOR, self.input),
            (written_1h, WRITE_1H_FACTOR, self.input),
            (written_12h, WRITE_12H_FACTOR, self.input),
            (usage.output_tokens, 1.0, self.output),
        ];
        // The price is the last factor: the product of a factor and the largest price is infinite,
        // and no tokens at an infinite price would cost NaN.
        counts.iter().map(|(count, factor, price)| *count as f64 * factor * price / 1e6).sum()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_iterations: 20,
            max_tokens: None,
            max_cost: None,
            max_repeats: Some(4),
            max_calls_per_reply: Some(128),
        }
    }
}

impl Limits {
    /// Sets the [maximum number of model requests](Self#structfield.max_iterations).
    #[must_use]
    pub fn max_iterations(mut self, limit: u32) -> Self {
        self.max_iterations = limit;
        self
    }

    /// Sets the [maximum number of tokens](Self#structfield.max_tokens).
    ///
    /// If a provider reports no usage, the run estimates it: four bytes are one token, counted over
    /// the messages and tool definitions that were sent and the reply.
    #[must_use]
    pub fn max_tokens(mut self, limit: u64) -> Self {
        self.max_tokens = Some(limit);
        self
    }

    /// Sets the [maximum cost](Self#structfield.max_cost) and the token prices.
    ///
    /// A limit of NaN counts as 0: it allows no request.
    #[must_use]
    pub fn max_cost(mut self, limit: f64, prices: Prices) -> Self {
        self.max_cost = Some((limit, prices));
        self.clamp_finite()
    }

    /// Replaces infinite and NaN values with finite ones, because JSON can't represent them.
    pub(super) fn clamp_finite(mut self) -> Self {
        let price = |price: f64| if price.is_finite() { price } else { f64::MAX };
        self.max_cost = self.max_cost.map(|(limit, Prices { input, cached, output })| {
            let limit = if limit.is_nan() { 0.0 } else { limit.clamp(f64::MIN, f64::MAX) };
            (limit, Prices { input: price(input), cached: price(cached), output: price(output) })
        });
        self
    }

    /// Sets the [maximum number of repeats](Self#structfield.max_repeats); `None` removes the
    /// limit.
    #[must_use]
    pub fn max_repeats(mut self, limit: impl Into<Option<u32>>) -> Self {
        self.max_repeats = limit.into();
        self
    }

    /// Sets the [maximum number of calls in a reply](Self#structfield.max_calls_per_reply); `None`
    /// removes the limit.
    ///
    /// ```
    /// use tool_runtime::agent::Limits;
    ///
    /// assert_eq!(Limits::default().max_calls_per_reply, Some(128));
    /// let limits = Limits::default().max_calls_per_reply(16);
    /// # let _ = limits;
    /// ```
    #[must_use]
    pub fn max_calls_per_reply(mut self, limit: impl Into<Option<u32>>) -> Self {
        self.max_calls_per_reply = limit.into();
        self
    }

    /// Computes the cost of the metered usage, or `None` if no prices are set.
    pub(super) fn cost_of(&self, metered: &MeteredUsage) -> Option<f64> {
        self.max_cost.map(|(_, prices)| metered.cost(|usage| prices.cost_of(usage)))
    }

    /// Returns the metered usage by model, with its cost if prices are set.
    pub(super) fn by_model(&self, metered: &MeteredUsage) -> Vec<ModelUsage> {
        match self.max_cost {
            None => metered.by_model(None),
            Some((_, prices)) => metered.by_model(Some(&|usage| prices.cost_of(usage))),
        }
    }

    /// Fixes the cost of the metered usage at these prices, for a parent run with other prices.
    pub(super) fn priced(&self, metered: MeteredUsage) -> MeteredUsage {
        match self.max_cost {
            Some((_, prices)) => metered.with_prices(|usage| prices.cost_of(usage)),
            None => metered,
        }
    }

    /// Returns what may be taken beside the metered usage.
    pub(super) fn allowance(&self, metered: &MeteredUsage) -> Allowance {
        let used = metered.usage().input_tokens.saturating_add(metered.usage().output_tokens);
        let cost = self.max_cost.zip(self.cost_of(metered)).map(|((limit, prices), spent)| {
            let (input_price, output_price) = (prices.input, prices.output);
            CostAllowance { limit: limit - spent, input_price, output_price }
        });
        Allowance { tokens: self.max_tokens.map(|limit| limit.saturating_sub(used)), cost }
    }

    /// Whether tokens or cost are limited, so that usage must be known.
    pub(super) fn has_budget(&self) -> bool {
        self.max_tokens.is_some() || self.max_cost.is_some()
    }

    /// Whether the metered usage has reached the token limit or the cost limit.
    pub(super) fn is_exhausted(&self, metered: &MeteredUsage) -> bool {
        let tokens = metered.usage().input_tokens.saturating_add(metered.usage().output_tokens);
        let cost = self.max_cost.map(|(limit, _)| limit).zip(self.cost_of(metered));
        self.max_tokens.is_some_and(|limit| tokens >= limit)
            || cost.is_some_and(|(limit, cost)| cost >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::Prices;
    use crate::message::Usage;

    #[test]
    fn written_tokens_cost_more_than_others() {
        let prices = Prices { input: 4.0, cached: 0.5, output: 8.0 };
        for (cached, written, written_1h, written_12h, cost) in [
            (0, 0, 0, 0, 4.0),
            (500_000, 0, 0, 0, 2.25),
            (0, 1_000_000, 0, 0, 5.0),
            (0, 1_000_000, 1_000_000, 0, 8.0),
            (0, 1_000_000, 0, 1_000_000, 10.0),
            (250_000, 500_000, 250_000, 0, 0.125 + 1.0 + 1.25 + 2.0),
            // Wrong counts of a provider cost no more than the whole input.
            (2_000_000, 2_000_000, 0, 0, 0.5),
            (0, 2_000_000, 2_000_000, 2_000_000, 10.0),
        ] {
            let mut usage = Usage::new(1_000_000, 0);
            (usage.cache_read_tokens, usage.cache_creation_tokens) = (cached, written);
            (usage.cache_creation_1h_tokens, usage.cache_creation_12h_tokens) =
                (written_1h, written_12h);
            let found = prices.cost_of(&usage);
            assert!((found - cost).abs() < 1e-9, "{usage:?}: {found}");
        }
    }
}
