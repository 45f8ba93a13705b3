//! Tokens together with their cost.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::event::EffectRecord;
use crate::message::Usage;

/// Tokens, and the cost of those whose price is known.
///
/// A tool that calls another model may pay other prices than its caller, so it reports the
/// cost together with the tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MeteredUsage {
    /// All tokens.
    pub(crate) usage: Usage,
    /// The tokens that `cost` pays for. The reader applies its own price to the others.
    #[serde(skip_serializing_if = "Usage::is_zero")]
    priced: Usage,
    /// The cost of the priced tokens.
    #[serde(skip_serializing_if = "is_zero")]
    cost: f64,
}

impl MeteredUsage {
    /// Creates a usage with its total cost, if that is known. A cost of NaN counts as unknown.
    pub(crate) fn new(usage: Usage, cost: Option<f64>) -> Self {
        match cost.filter(|cost| !cost.is_nan()) {
            // JSON can't represent infinity.
            Some(cost) => Self { usage, priced: usage, cost: cost.clamp(0.0, f64::MAX) },
            None => Self { usage, ..Self::default() },
        }
    }

    /// Returns the sum of what tools recorded as [`EffectRecord::TokensSpent`].
    pub(crate) fn of_effects<'e>(effects: impl IntoIterator<Item = &'e EffectRecord>) -> Self {
        let mut sum = Self::default();
        for effect in effects {
            if let EffectRecord::TokensSpent { usage, cost } = effect {
                sum += Self::new(*usage, *cost);
            }
        }
        sum
    }

    /// Returns the effect records of this usage: one without and one with a cost, if not zero.
    pub(crate) fn into_effects(self) -> impl Iterator<Item = EffectRecord> {
        let unpriced = Self::from(self.unpriced());
        let priced = Self { usage: self.priced, ..self };
        let records = [(unpriced, None), (priced, Some(self.cost))].into_iter();
        records
            .filter(|(used, _)| !used.is_zero())
            .map(|(Self { usage, .. }, cost)| EffectRecord::TokensSpent { usage, cost })
    }

    /// Returns the total cost, with the price that `price` gives for the tokens without one.
    pub(crate) fn cost(&self, price: impl FnOnce(&Usage) -> f64) -> f64 {
        price(&self.unpriced()) + self.cost
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.usage.is_zero() && self.cost == 0.0
    }

    /// Returns the difference to an earlier total.
    #[must_use]
    pub(crate) fn since(self, before: Self) -> Self {
        let cost = self.cost - before.cost;
        Self {
            usage: self.usage.since(before.usage),
            priced: self.priced.since(before.priced),
            // A difference within the rounding error counts as zero.
            cost: if cost > self.cost * 1e-12 { cost } else { 0.0 },
        }
    }

    fn unpriced(&self) -> Usage {
        self.usage.since(self.priced)
    }
}

impl From<Usage> for MeteredUsage {
    fn from(usage: Usage) -> Self {
        Self::new(usage, None)
    }
}

impl AddAssign for MeteredUsage {
    fn add_assign(&mut self, more: Self) {
        self.usage += more.usage;
        self.priced += more.priced;
        self.cost = (self.cost + more.cost).min(f64::MAX);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(cost: &f64) -> bool {
    *cost == 0.0
}

#[cfg(test)]
mod tests {
    use super::MeteredUsage;
    use crate::message::Usage;

    #[test]
    fn usage_survives_effects_and_json() {
        let price = |usage: &Usage| 2.0 * usage.input_tokens as f64;
        for (usage, cost, sum) in [
            (Usage::new(3, 1), None, 6.0),
            (Usage::new(3, 1), Some(0.5), 0.5),
            // An image has a price and no tokens.
            (Usage::default(), Some(0.5), 0.5),
            (Usage::new(3, 1), Some(f64::NAN), 6.0),
            (Usage::new(3, 1), Some(-1.0), 0.0),
            (Usage::new(3, 1), Some(f64::INFINITY), f64::MAX),
        ] {
            let mut metered = MeteredUsage::new(usage, cost);
            assert_eq!(metered.cost(price), sum, "{usage:?} {cost:?}");
            metered += MeteredUsage::from(Usage::new(4, 0));
            let effects: Vec<_> = metered.into_effects().collect();
            assert_eq!(MeteredUsage::of_effects(&effects), metered);
            let json = serde_json::to_string(&metered).unwrap();
            assert_eq!(serde_json::from_str::<MeteredUsage>(&json).unwrap(), metered);
        }
    }

    #[test]
    fn rounding_error_counts_as_zero() {
        let metered = |cost| MeteredUsage::new(Usage::new(1, 0), Some(cost));
        let mut sum = MeteredUsage::default();
        for cost in [0.1, 0.2, 0.3] {
            sum += metered(cost);
        }
        for cost in [0.3, 0.2, 0.1] {
            sum = sum.since(metered(cost));
        }
        assert!(sum.is_zero(), "{sum:?}");
    }
}
