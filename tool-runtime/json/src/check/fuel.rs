//! The limits of a validation.

use super::limits::MAX_DEPTH;
use super::validator::Validator;

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
