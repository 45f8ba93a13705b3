//! How long a run may go on.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::StopReason;

/// How long the run may wait for something.
pub(super) struct Until<'a> {
    stop: Option<&'a CancellationToken>,
    deadline: Option<(Instant, Duration)>,
}

impl<'a> Until<'a> {
    /// Until this is cancelled, or then, which is after so long.
    pub(super) fn new(
        stop: Option<&'a CancellationToken>,
        deadline: Option<(Instant, Duration)>,
    ) -> Self {
        Self { stop, deadline }
    }

    /// What the work gives, or why that is not waited for.
    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, StopReason> {
        let work = async {
            match self.deadline {
                None => Ok(work.await),
                Some((at, limit)) => {
                    timeout_at(at, work).await.map_err(|_| StopReason::TimeLimit(limit))
                }
            }
        };
        match self.stop {
            None => work.await,
            Some(stop) => {
                stop.run_until_cancelled(work).await.unwrap_or(Err(StopReason::Cancelled))
            }
        }
    }

    /// How long that is from now, if it ends.
    pub(super) fn left(&self) -> Option<Duration> {
        self.deadline.map(|(at, _)| at.saturating_duration_since(Instant::now()))
    }
}
