//! Registers a run in progress with its steering handle.

use super::Steering;
use crate::event::RunId;

/// A run that receives messages until this is dropped.
#[derive(Debug)]
pub(in crate::agent) struct RunInProgress {
    steering: Steering,
    run: RunId,
}

impl RunInProgress {
    pub(in crate::agent) fn new(steering: &Steering, run: RunId) -> Self {
        steering.lock().in_progress.insert(run);
        Self { steering: steering.clone(), run }
    }
}

impl Drop for RunInProgress {
    fn drop(&mut self) {
        self.steering.lock().in_progress.remove(&self.run);
    }
}
