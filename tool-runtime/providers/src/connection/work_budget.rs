//! Cooperative yielding while a body is read.
//!
//! A body whose bytes are already there never makes its reader wait. Without a yield, one poll
//! would then read the whole body, and no time limit of the reader could stop it.

use tokio::task::yield_now;

/// The number of bytes that are processed in one poll: less than a millisecond of work.
const BYTES_PER_POLL: usize = 64 << 10;

/// The cost of a chunk or message beside its bytes, so that empty ones count, too.
const BYTES_PER_ITEM: usize = 256;

/// Counts processed bytes and yields to the runtime at regular intervals.
pub(crate) struct WorkBudget {
    left: usize,
}

impl WorkBudget {
    pub(crate) fn new() -> Self {
        Self { left: BYTES_PER_POLL }
    }

    /// Counts an item of so many bytes, and yields if the budget of this poll is used up.
    pub(crate) async fn spend(&mut self, bytes: usize) {
        match self.left.checked_sub(bytes.saturating_add(BYTES_PER_ITEM)) {
            Some(left) => self.left = left,
            None => {
                self.left = BYTES_PER_POLL;
                yield_now().await;
            }
        }
    }
}
