//! Tokens, and what they cost.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::event::EffectRecord;
use crate::message::Usage;

/// What was taken. Whoever has a model of its own may pay other prices for it than those who call it: so what it
/// cost goes along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Bill {
    /// All tokens.
    pub(crate) usage: Usage,
    /// Those of them that are paid for by `cost`; the others cost whatever they do for whoever reads this.
    #[serde(skip_serializing_if = "Usage::is_none")]
    paid: Usage,
    /// What these cost.
    #[serde(skip_serializing_if = "is_nothing")]
    cost: f64,
}

impl Bill {
    /// So many tokens, and what they cost together, where that is known. What is no number is not.
    pub(crate) fn new(usage: Usage, cost: Option<f64>) -> Self {
        match cost.filter(|cost| !cost.is_nan()) {
            // JSON has no word for what has no end.
            Some(cost) => Self { usage, paid: usage, cost: cost.clamp(0.0, f64::MAX) },
            None => Self { usage, ..Self::default() },
        }
    }

    /// What tools say that they took.
    pub(crate) fn of_effects<'e>(effects: impl IntoIterator<Item = &'e EffectRecord>) -> Self {
        let mut sum = Self::default();
        for effect in effects {
            if let EffectRecord::TokensSpent { usage, cost } = effect {
                sum += Self::new(*usage, *cost);
            }
        }
        sum
    }

    /// The same, as a tool says it.
    pub(crate) fn into_effects(self) -> impl Iterator<Item = EffectRecord> {
        let free = Self::from(self.unpaid());
        let paid = Self { usage: self.paid, ..self };
        let said = [(free, None), (paid, Some(self.cost))].into_iter();
        said.filter(|(bill, _)| !bill.is_none())
            .map(|(Self { usage, .. }, cost)| EffectRecord::TokensSpent { usage, cost })
    }

    /// What all of it costs where the tokens that are not paid for cost this.
    pub(crate) fn cost(&self, of: impl FnOnce(&Usage) -> f64) -> f64 {
        of(&self.unpaid()) + self.cost
    }

    pub(crate) fn is_none(&self) -> bool {
        self.usage.is_none() && self.cost == 0.0
    }

    /// What came to it since it was this much.
    #[must_use]
    pub(crate) fn since(self, before: Self) -> Self {
        let cost = self.cost - before.cost;
        Self {
            usage: self.usage.since(before.usage),
            paid: self.paid.since(before.paid),
            // What rounding leaves is nothing.
            cost: if cost > self.cost * 1e-12 { cost } else { 0.0 },
        }
    }

    fn unpaid(&self) -> Usage {
        self.usage.since(self.paid)
    }
}

impl From<Usage> for Bill {
    fn from(usage: Usage) -> Self {
        Self::new(usage, None)
    }
}

impl AddAssign for Bill {
    fn add_assign(&mut self, more: Self) {
        self.usage += more.usage;
        self.paid += more.paid;
        self.cost = (self.cost + more.cost).min(f64::MAX);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_nothing(cost: &f64) -> bool {
    *cost == 0.0
}

#[cfg(test)]
mod tests {
    use super::Bill;
    use crate::message::Usage;

    #[test]
    fn a_bill_is_said_and_heard() {
        let free = |usage: &Usage| 2.0 * usage.input as f64;
        for (usage, cost, sum) in [
            (Usage::new(3, 1), None, 6.0),
            (Usage::new(3, 1), Some(0.5), 0.5),
            // A picture is paid for by the piece.
            (Usage::default(), Some(0.5), 0.5),
            (Usage::new(3, 1), Some(f64::NAN), 6.0),
            (Usage::new(3, 1), Some(-1.0), 0.0),
            (Usage::new(3, 1), Some(f64::INFINITY), f64::MAX),
        ] {
            let mut bill = Bill::new(usage, cost);
            assert_eq!(bill.cost(free), sum, "{usage:?} {cost:?}");
            bill += Bill::from(Usage::new(4, 0));
            let said: Vec<_> = bill.into_effects().collect();
            assert_eq!(Bill::of_effects(&said), bill);
            let kept = serde_json::to_string(&bill).unwrap();
            assert_eq!(serde_json::from_str::<Bill>(&kept).unwrap(), bill);
        }
    }

    #[test]
    fn what_rounding_leaves_is_nothing() {
        let bill = |cost| Bill::new(Usage::new(1, 0), Some(cost));
        let mut sum = Bill::default();
        for cost in [0.1, 0.2, 0.3] {
            sum += bill(cost);
        }
        for cost in [0.3, 0.2, 0.1] {
            sum = sum.since(bill(cost));
        }
        assert!(sum.is_none(), "{sum:?}");
    }
}
