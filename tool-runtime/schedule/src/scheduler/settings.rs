//! The settings of a scheduler.

use std::sync::Arc;
use std::time::Duration;

use super::emit::Observers;
use super::plan::Rules;
use jiff::{SignedDuration, Timestamp};

/// The settings of a scheduler, which its methods describe.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    pub(crate) poll_interval: Duration,
    pub(crate) max_concurrent: usize,
    pub(crate) lease: Duration,
    pub(crate) grace_period: Duration,
    pub(crate) max_failures: Option<u32>,
    pub(crate) observers: Observers,
}

impl Settings {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the time after which a claim has to be extended.
    pub(crate) fn extension_interval(&self) -> Duration {
        self.lease / 3
    }

    pub(crate) fn rules(&self) -> Rules {
        let signed = |it| SignedDuration::try_from(it).unwrap_or(SignedDuration::MAX);
        Rules {
            lease: signed(self.lease),
            grace: signed(self.grace_period),
            max_failures: self.max_failures,
        }
    }
}
