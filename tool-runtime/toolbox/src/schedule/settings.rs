//! The settings of a scheduler.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::plan::Rules;

/// The settings of a scheduler, which its methods describe.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    pub(super) poll_interval: Duration,
    pub(super) max_concurrent: usize,
    pub(super) lease: Duration,
    pub(super) grace: Duration,
    pub(super) max_failures: u32,
}

impl Settings {
    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the time after which a claim has to be extended.
    pub(super) fn extension_interval(&self) -> Duration {
        self.lease / 3
    }

    pub(super) fn rules(&self) -> Rules {
        let signed = |it| SignedDuration::try_from(it).unwrap_or(SignedDuration::MAX);
        Rules {
            lease: signed(self.lease),
            grace: signed(self.grace),
            max_failures: self.max_failures,
        }
    }
}
