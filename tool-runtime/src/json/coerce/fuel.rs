//! How the work is kept within its bounds.
//!
//! A look at a node is a step, a copy of one another; the look itself costs what the schema says of
//! that place. The steps stay below [`STEPS`] and [`STEPS_PER_BYTE`] for each byte of the text,
//! whatever the schema: `anyOf` in `anyOf` could otherwise multiply without end. What can't be
//! settled within them is left as it came: once they are spent nothing more is changed.

/// Values and branches within each other. A value of depth 127 takes at most three a level in what
/// schemars emits: a nullable branch, a reference, its target.
const MAX_DEPTH: usize = 512;

pub(super) const STEPS: usize = 16_384;
pub(super) const STEPS_PER_BYTE: usize = 16;

#[derive(Debug)]
pub(super) struct Fuel {
    left: usize,
    depth: usize,
    is_spent: bool,
}

impl Fuel {
    pub(super) fn for_bytes(len: usize) -> Self {
        let left = STEPS.saturating_add(STEPS_PER_BYTE.saturating_mul(len));
        Self { left, depth: 0, is_spent: false }
    }

    /// One value or branch deeper; false when there are no means to go on.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.is_spent = true;
        }
        let goes_on = self.pay(1);
        self.depth += usize::from(goes_on);
        goes_on
    }

    pub(super) const fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) const fn pay(&mut self, steps: usize) -> bool {
        match self.left.checked_sub(steps) {
            Some(left) if !self.is_spent => self.left = left,
            _ => self.is_spent = true,
        }
        !self.is_spent
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.is_spent
    }
}
