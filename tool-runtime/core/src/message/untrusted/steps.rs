//! Counts the characters that are read, so that a test sees how the work grows with a text.

use std::cell::Cell;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Counts characters that were read.
pub(super) fn count(characters: usize) {
    STEPS.set(STEPS.get() + characters);
}

/// Returns the number of characters that the work reads.
pub(super) fn of(work: impl FnOnce()) -> usize {
    STEPS.set(0);
    work();
    STEPS.get()
}
