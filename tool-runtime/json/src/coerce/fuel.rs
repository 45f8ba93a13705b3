//! Bounds the work of a coercion.
//!
//! Inspecting a node and copying a node are one step each; an inspection also costs what the schema
//! declares for the node. The steps stay below [`STEPS`] plus [`STEPS_PER_BYTE`] for each byte of
//! the text, whatever the schema: nested `anyOf` could otherwise multiply the work without end.
//! Once the steps are exhausted, nothing more is changed.

/// The maximum depth of nested values and branches. A value of depth 127 takes at most three per
/// level in what schemars emits: a nullable branch, a reference, its target.
const MAX_DEPTH: usize = 512;

/// The steps of every coercion, however short its text.
pub(super) const STEPS: usize = 16_384;
/// The additional steps for each byte of the text.
pub(super) const STEPS_PER_BYTE: usize = 16;

/// The remaining steps and the current depth of a coercion.
#[derive(Debug)]
pub(super) struct Fuel {
    remaining: usize,
    depth: usize,
    is_exhausted: bool,
}

impl Fuel {
    pub(super) fn for_bytes(len: usize) -> Self {
        let remaining = STEPS.saturating_add(STEPS_PER_BYTE.saturating_mul(len));
        Self { remaining, depth: 0, is_exhausted: false }
    }

    /// Enters a value or branch; returns false if no steps are left.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.is_exhausted = true;
        }
        let can_continue = self.consume(1);
        self.depth += usize::from(can_continue);
        can_continue
    }

    pub(super) const fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(super) const fn consume(&mut self, steps: usize) -> bool {
        match self.remaining.checked_sub(steps) {
            Some(remaining) if !self.is_exhausted => self.remaining = remaining,
            _ => self.is_exhausted = true,
        }
        !self.is_exhausted
    }

    pub(super) const fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }
}
