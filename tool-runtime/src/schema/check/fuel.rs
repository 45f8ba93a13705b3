//! How a walk keeps within its limits.

use super::limits::MAX_DEPTH;
use super::walk::Walk;

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
