//! The time for which a run was in progress. The machine reads no clock: the run sets it.

use std::time::Duration;

use super::Turn;

impl Turn {
    /// Returns the time for which the run was in progress, over all processes: without the time
    /// between a pause or a crash and the resumption.
    pub fn active_time(&self) -> Duration {
        self.active
    }

    pub(in crate::agent) fn set_active_time(&mut self, active: Duration) {
        self.active = active;
    }
}
