//! The shutdown of the server: running requests have a short time to end, and then the rest stops.
//!
//! The SDK ends all streams and sessions as soon as its token is cancelled. It receives a token
//! that is cancelled when this time is over, not the token of the application.

use std::sync::Once;

use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tool_core::CancellationToken;

use super::super::limits::TIME_TO_END;

/// The tokens that stop a server. Dropping them stops it, too.
pub(super) struct Shutdown {
    requested: CancellationToken,
    /// Cancelled when the running requests have ended or their time is over.
    stopped: CancellationToken,
    running: TaskTracker,
    is_watched: Once,
}

impl Shutdown {
    pub(super) fn new(requested: CancellationToken) -> Self {
        let (stopped, running) = (CancellationToken::new(), TaskTracker::new());
        Self { requested, stopped, running, is_watched: Once::new() }
    }

    /// Returns the token that ends streams and sessions.
    pub(super) fn stopped(&self) -> CancellationToken {
        self.stopped.clone()
    }

    /// Whether new requests are refused.
    pub(super) fn is_requested(&self) -> bool {
        self.requested.is_cancelled()
    }

    /// Lets a shutdown wait for a request, until the token is dropped.
    pub(super) fn track(&self) -> TaskTrackerToken {
        self.is_watched.call_once(|| {
            let (requested, stopped) = (self.requested.clone(), self.stopped.clone());
            tokio::spawn(stop(requested, stopped, self.running.clone()));
        });
        self.running.token()
    }
}

/// Waits for a shutdown and for the requests that run then.
async fn stop(requested: CancellationToken, stopped: CancellationToken, running: TaskTracker) {
    tokio::select! {
        () = requested.cancelled() => {}
        () = stopped.cancelled() => return,
    }
    running.close();
    // The requests that take longer are cancelled.
    let _ = timeout(TIME_TO_END, running.wait()).await;
    stopped.cancel();
}

impl Drop for Shutdown {
    fn drop(&mut self) {
        self.stopped.cancel();
    }
}
