//! Deadline and cancellation of a run.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::StopReason;

/// Deadline of a run, combined with the cancellation token of its agent.
pub(super) struct RunDeadline<'a> {
    cancellation: Option<&'a CancellationToken>,
    deadline: Option<(Instant, Duration)>,
}

impl<'a> RunDeadline<'a> {
    /// Combines a cancellation token and a deadline, given as an instant and the limit behind it.
    pub(super) fn new(
        cancellation: Option<&'a CancellationToken>,
        deadline: Option<(Instant, Duration)>,
    ) -> Self {
        Self { cancellation, deadline }
    }

    /// Waits for `work`, and drops it with a stop reason if the run is cancelled or times out.
    pub(super) async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, StopReason> {
        // Pinned here, since each future that receives the work by value stores it again.
        let mut work = pin!(work);
        let timed = async {
            match self.deadline {
                None => Ok(work.as_mut().await),
                Some((at, limit)) => {
                    timeout_at(at, work.as_mut()).await.map_err(|_| StopReason::Timeout(limit))
                }
            }
        };
        match self.cancellation {
            None => timed.await,
            Some(cancellation) => {
                cancellation.run_until_cancelled(timed).await.unwrap_or(Err(StopReason::Cancelled))
            }
        }
    }

    /// Returns the time left until the deadline, or `None` if there is no deadline.
    pub(super) fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|(at, _)| at.saturating_duration_since(Instant::now()))
    }
}
