//! What a walk may cost, whatever the schema.

use serde_json::Value;

use super::walk::Walk;

/// Schemas within schemas, and values within values, that the walk goes into.
///
/// A value of depth 128 (serde_json's limit) takes at most three schemas a level in what schemars
/// emits: a nullable branch, a reference, its target.
pub(super) const MAX_DEPTH: usize = 512;

/// Fuel for the smallest value, and for each further node or 64 bytes of text in it: about a second
/// at the very most, and another for each megabyte.
pub(super) const FUEL: usize = 500_000;
pub(super) const FUEL_PER_NODE: usize = 64;

/// How much there is to look at: nodes, and 64 bytes of text each; `None` beyond `depth`.
pub(super) fn weight(value: &Value, depth: usize) -> Option<usize> {
    let inner = depth.checked_sub(1)?;
    Some(match value {
        Value::String(text) => 1 + text.len() / 64,
        Value::Array(items) => {
            let mut sum = 1;
            for item in items {
                sum += weight(item, inner)?;
            }
            sum
        }
        Value::Object(members) => {
            let mut sum = 1;
            for (key, member) in members {
                sum += key.len() / 64 + weight(member, inner)?;
            }
            sum
        }
        _ => 1,
    })
}

impl Walk<'_, '_> {
    /// One schema deeper; false when there is no need or no means to go on.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.exhausted = true;
        }
        let goes_on = self.pay(1) && self.faults.len() < self.room;
        self.depth += usize::from(goes_on);
        goes_on
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Takes fuel; false when there is none left.
    pub(super) fn pay(&mut self, fuel: usize) -> bool {
        match self.fuel.checked_sub(fuel) {
            Some(left) if !self.exhausted => self.fuel = left,
            _ => self.exhausted = true,
        }
        !self.exhausted
    }
}
