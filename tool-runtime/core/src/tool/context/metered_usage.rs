//! Tokens together with their cost.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::event::EffectRecord;
use crate::message::{ModelUsage, Usage, UsedModel};

/// Tokens and their cost, in total and by model.
///
/// A tool that calls another model may pay other prices than its caller, so it reports the
/// cost together with the tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MeteredUsage {
    #[serde(flatten)]
    total: Amount,
    /// The parts of the total, ordered by their models.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", with = "entries")]
    by_model: BTreeMap<UsedModel, Amount>,
}

/// Tokens, and the cost of those whose price is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Amount {
    /// All tokens.
    usage: Usage,
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
        Self::of_model(UsedModel::default(), usage, cost)
    }

    /// Creates the usage of a model.
    pub(crate) fn of_model(model: UsedModel, usage: Usage, cost: Option<f64>) -> Self {
        let total = match cost.filter(|cost| !cost.is_nan()) {
            // JSON can't represent infinity.
            Some(cost) => Amount { usage, priced: usage, cost: cost.clamp(0.0, f64::MAX) },
            None => Amount { usage, ..Amount::default() },
        };
        let by_model = (!total.is_zero()).then_some((model, total)).into_iter().collect();
        Self { total, by_model }
    }

    /// Returns the sum of what tools recorded as [`EffectRecord::TokensSpent`].
    pub(crate) fn of_effects<'e>(effects: impl IntoIterator<Item = &'e EffectRecord>) -> Self {
        let mut sum = Self::default();
        for effect in effects {
            if let EffectRecord::TokensSpent { usage, cost, model } = effect {
                let model = model.as_deref().cloned().unwrap_or_default();
                sum += Self::of_model(model, *usage, *cost);
            }
        }
        sum
    }

    /// Returns the effect records of this usage: for each model one without and one with a cost, if
    /// not zero.
    pub(crate) fn into_effects(self) -> impl Iterator<Item = EffectRecord> {
        self.by_model.into_iter().flat_map(|(model, amount)| {
            let unpriced = Amount { usage: amount.unpriced(), ..Amount::default() };
            let priced = Amount { usage: amount.priced, ..amount };
            let model = (model != UsedModel::default()).then(|| Box::new(model));
            let records = [(unpriced, None), (priced, Some(amount.cost))].into_iter();
            records.filter(|(used, _)| !used.is_zero()).map(move |(Amount { usage, .. }, cost)| {
                EffectRecord::TokensSpent { usage, cost, model: model.clone() }
            })
        })
    }

    /// Returns all tokens.
    pub(crate) fn usage(&self) -> Usage {
        self.total.usage
    }

    /// Returns the total cost, with the price that `price` gives for the tokens without one.
    pub(crate) fn cost(&self, price: impl FnOnce(&Usage) -> f64) -> f64 {
        self.total.cost(price)
    }

    /// Fixes the cost of the tokens that have none.
    pub(crate) fn with_prices(mut self, price: impl Fn(&Usage) -> f64) -> Self {
        for amount in self.by_model.values_mut().chain([&mut self.total]) {
            let cost = amount.cost(&price);
            *amount = Amount { priced: amount.usage, cost, ..*amount };
        }
        self
    }

    /// Returns the parts of the models. With prices, each has a cost.
    pub(crate) fn by_model(&self, price: Option<&dyn Fn(&Usage) -> f64>) -> Vec<ModelUsage> {
        let part = |(model, amount): (&UsedModel, &Amount)| {
            let cost = price.map(|price| amount.cost(price));
            let UsedModel { provider, model } = model.clone();
            let mut part = ModelUsage::default();
            (part.provider, part.model) = (provider, model);
            ModelUsage { usage: amount.usage, cost, ..part }
        };
        self.by_model.iter().map(part).collect()
    }

    #[cfg(test)]
    fn is_zero(&self) -> bool {
        self.total.is_zero() && self.by_model.is_empty()
    }

    /// Returns the difference to an earlier total.
    #[must_use]
    pub(crate) fn since(mut self, before: &Self) -> Self {
        self.total = self.total.since(before.total);
        for (model, before) in &before.by_model {
            if let Some(amount) = self.by_model.get_mut(model) {
                *amount = amount.since(*before);
            }
        }
        self.by_model.retain(|_, amount| !amount.is_zero());
        self
    }
}

impl Amount {
    fn cost(&self, price: impl FnOnce(&Usage) -> f64) -> f64 {
        price(&self.unpriced()) + self.cost
    }

    fn is_zero(&self) -> bool {
        self.usage.is_zero() && self.cost == 0.0
    }

    fn since(self, before: Self) -> Self {
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

impl AddAssign<&Self> for MeteredUsage {
    fn add_assign(&mut self, more: &Self) {
        self.total += more.total;
        for (model, amount) in &more.by_model {
            *self.by_model.entry(model.clone()).or_default() += *amount;
        }
    }
}

impl AddAssign for MeteredUsage {
    fn add_assign(&mut self, more: Self) {
        *self += &more;
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.usage += more.usage;
        self.priced += more.priced;
        self.cost = (self.cost + more.cost).min(f64::MAX);
    }
}

/// The parts as a list, because JSON has only texts as keys.
mod entries {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Amount, UsedModel};

    #[derive(Serialize, Deserialize)]
    struct Entry {
        #[serde(flatten)]
        model: UsedModel,
        #[serde(flatten)]
        amount: Amount,
    }

    pub(super) fn serialize<S: Serializer>(
        by_model: &BTreeMap<UsedModel, Amount>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let entry = |(model, amount): (&UsedModel, &Amount)| Entry {
            model: model.clone(),
            amount: *amount,
        };
        serializer.collect_seq(by_model.iter().map(entry))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<UsedModel, Amount>, D::Error> {
        let entries = Vec::<Entry>::deserialize(deserializer)?;
        Ok(entries.into_iter().map(|entry| (entry.model, entry.amount)).collect())
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
            let effects: Vec<_> = metered.clone().into_effects().collect();
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
            sum = sum.since(&metered(cost));
        }
        assert!(sum.is_zero(), "{sum:?}");
    }
}
