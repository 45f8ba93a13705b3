//! Limits of a validation, for every schema.

use serde_json::Value;

use super::validator::Validator;

/// The nesting depth of schemas and of values that is validated.
///
/// A value of depth 128, the limit of serde_json, takes at most three schemas for each level in the
/// output of schemars: a nullable branch, a reference and its target.
pub(super) const MAX_DEPTH: usize = 512;

/// Fuel for the smallest value, and for each further node or 64 bytes of text in it. This is about
/// a second in the worst case, and another one for each megabyte.
pub(super) const FUEL: usize = 500_000;
pub(super) const FUEL_PER_NODE: usize = 64;

/// Returns the size of a value in nodes, plus one for each 64 bytes of text; `None` if it is nested
/// deeper than `depth`.
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

impl Validator<'_, '_> {
    /// Enters a nested schema. Returns false if the result is known or a limit is reached.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.exhausted = true;
        }
        let may_continue = self.spend(1) && self.faults.len() < self.max_faults;
        self.depth += usize::from(may_continue);
        may_continue
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Spends fuel. Returns false if none is left.
    pub(super) fn spend(&mut self, fuel: usize) -> bool {
        match self.fuel.checked_sub(fuel) {
            Some(left) if !self.exhausted => self.fuel = left,
            _ => self.exhausted = true,
        }
        !self.exhausted
    }
}
