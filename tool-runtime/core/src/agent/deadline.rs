//! Deadline and cancellation of a run.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::StopReason;
use super::session::HeldLease;

/// Deadline of a run, combined with what else may stop it: the cancellation of its agent, and the
/// loss of its session.
pub(super) struct RunDeadline {
    lease: Option<Arc<HeldLease>>,
    cancellation: Option<CancellationToken>,
    deadline: Option<(Instant, Duration)>,
}

impl RunDeadline {
    /// Combines the lease of a session, the token of the agent, and a deadline, given as an instant
    /// and the limit behind it.
    pub(super) fn new(
        lease: Option<Arc<HeldLease>>,
        cancellation: Option<CancellationToken>,
        deadline: Option<(Instant, Duration)>,
    ) -> Self {
        Self { lease, cancellation, deadline }
    }

    /// Waits for `work`, and drops it with a stop reason if the run is cancelled, times out or
    /// loses its session.
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
        let mut timed = pin!(timed);
        // Before each poll: any of them may start a request, or a nested call.
        let timed = poll_fn(|cx| match self.check_lease() {
            Err(lost) => Poll::Ready(Err(lost)),
            Ok(()) => timed.as_mut().poll(cx),
        });
        // The token of the lease is cancelled with that of the agent.
        let stop = self.lease.as_ref().map(|lease| lease.stop());
        let Some(stop) = stop.or(self.cancellation.as_ref()) else { return timed.await };
        match stop.run_until_cancelled(timed).await {
            Some(outcome) => outcome,
            None => self.check_lease().and(Err(StopReason::Cancelled)),
        }
    }

    fn check_lease(&self) -> Result<(), StopReason> {
        self.lease.as_ref().map_or(Ok(()), |lease| Ok(lease.check()?))
    }

    /// Returns the time left until the deadline, or `None` if there is no deadline.
    pub(super) fn remaining(&self) -> Option<Duration> {
        self.deadline.map(|(at, _)| at.saturating_duration_since(Instant::now()))
    }
}
