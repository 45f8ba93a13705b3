//! How far a run may go.

use serde::{Deserialize, Serialize};

use crate::message::Usage;
use crate::tool::Bill;

/// How far a run may go before it is stopped.
///
/// They are the run's as a whole: what [`extract`](crate::Agent::extract) asks for the value is a part of it, and what
/// it took before it was [gone on with](crate::Agent::resume) counts, under the limits of the agent that goes on.
/// The next question of a [`Session`](super::session::Session), or of [`Answer::then`](super::Answer::then), is another
/// run.
///
/// ```
/// use tool_runtime::agent::{Limits, Prices};
///
/// let limits = Limits::default()
///     .iterations(50)
///     .tokens(200_000)
///     .cost(0.5, Prices { input: 3.0, cached: 0.3, output: 15.0 });
/// assert_eq!(limits.repeats, Some(4));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// How often the model may be asked; 20 unless set. What a [driver](crate::drivers::Driver::parse_attempts) asks
    /// again because it couldn't read the reply, and for its last word, is one time.
    pub iterations: u32,
    /// How many tokens all its requests and replies may take together. It is looked at before each request, also where
    /// a driver asks again; an answer that goes beyond it stays an answer.
    pub tokens: Option<u64>,
    /// What they may cost together, and what tokens cost; those of agents that are its [tools](super::SubAgent) cost
    /// what they do there, in the same currency, where that is known. Where prices are known, [`Answer::cost`](crate::Answer::cost)
    /// and its like tell what a run took; one that may take whatever it likes has no end to it, such as
    /// [`f64::INFINITY`].
    pub cost: Option<(f64, Prices)>,
    /// How often in a row the same call may be made with the same arguments; 4 unless set. The model is told so
    /// with the last of them, and the next one stops the run.
    pub repeats: Option<u32>,
}

/// What a million tokens cost, in whatever currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// That the model is sent.
    pub input: f64,
    /// Of these, such as its provider has cached.
    pub cached: f64,
    /// That the model says.
    pub output: f64,
}

impl Prices {
    /// What so many tokens cost.
    ///
    /// ```
    /// use tool_runtime::Usage;
    /// use tool_runtime::agent::Prices;
    ///
    /// let prices = Prices { input: 3.0, cached: 0.3, output: 15.0 };
    /// assert_eq!(prices.of(&Usage::new(1_000_000, 100_000)), 4.5);
    /// ```
    #[expect(clippy::cast_precision_loss, reason = "nobody has so many tokens")]
    pub fn of(&self, usage: &Usage) -> f64 {
        let fresh = usage.input.saturating_sub(usage.cached);
        let counts = [fresh, usage.cached.min(usage.input), usage.output];
        let prices = [self.input, self.cached, self.output];
        counts.iter().zip(prices).map(|(count, price)| *count as f64 * price / 1e6).sum()
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { iterations: 20, tokens: None, cost: None, repeats: Some(4) }
    }
}

impl Limits {
    /// The model may be asked [so often](Self#structfield.iterations).
    #[must_use]
    pub fn iterations(mut self, times: u32) -> Self {
        self.iterations = times;
        self
    }

    /// All may take so many tokens. Where a provider doesn't count them, four bytes are taken
    /// for one, of all that it was sent: what the model was shown, and the tools that it was offered.
    #[must_use]
    pub fn tokens(mut self, most: u64) -> Self {
        self.tokens = Some(most);
        self
    }

    /// All may cost so much, at these prices. What is no number allows nothing.
    #[must_use]
    pub fn cost(mut self, most: f64, prices: Prices) -> Self {
        self.cost = Some((most, prices));
        self.finite()
    }

    /// The same as can be kept: JSON has no word for what has no end.
    pub(super) fn finite(mut self) -> Self {
        let price = |price: f64| if price.is_finite() { price } else { f64::MAX };
        self.cost = self.cost.map(|(most, Prices { input, cached, output })| {
            let most = if most.is_nan() { 0.0 } else { most.clamp(f64::MIN, f64::MAX) };
            (most, Prices { input: price(input), cached: price(cached), output: price(output) })
        });
        self
    }

    /// The same call may be made so often in a row; as often as the model likes where this is none.
    #[must_use]
    pub fn repeats(mut self, most: impl Into<Option<u32>>) -> Self {
        self.repeats = most.into();
        self
    }

    /// What that costs, where prices are known.
    pub(super) fn cost_of(&self, bill: &Bill) -> Option<f64> {
        self.cost.map(|(_, prices)| bill.cost(|usage| prices.of(usage)))
    }

    /// The same bill for somebody who knows other prices.
    pub(super) fn paid(&self, bill: Bill) -> Bill {
        self.cost_of(&bill).map_or(bill, |cost| Bill::new(bill.usage, Some(cost)))
    }

    /// Whether tokens have to be counted.
    pub(super) fn has_budget(&self) -> bool {
        self.tokens.is_some() || self.cost.is_some()
    }

    /// Whether that is more than the run may take.
    pub(super) fn is_spent(&self, bill: &Bill) -> bool {
        let tokens = bill.usage.input.saturating_add(bill.usage.output);
        let cost = self.cost.map(|(most, _)| most).zip(self.cost_of(bill));
        self.tokens.is_some_and(|most| tokens >= most)
            || cost.is_some_and(|(most, cost)| cost >= most)
    }
}
