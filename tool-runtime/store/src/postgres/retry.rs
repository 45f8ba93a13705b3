//! Operations that run again when their connection is lost.

use std::sync::{Mutex, PoisonError};

use super::error::Failure;
use crate::sessions::SessionRow;
use tool_core::agent::session::SessionError;

/// The most attempts of an operation. A pool may have several connections that were lost.
const ATTEMPTS: usize = 4;

/// Runs an operation on a session, again if its connection is lost.
pub(super) async fn retried<T, F>(
    session: &str,
    operation: impl Fn() -> F,
) -> Result<T, SessionError>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut attempts = 1;
    loop {
        match operation().await {
            Err(failure) if failure.can_run_again() && attempts < ATTEMPTS => attempts += 1,
            result => return result.map_err(|failure| failure.of_session(session)),
        }
    }
}

/// The checksum of the row that an earlier attempt of a write may have committed.
///
/// If the connection is lost during the commit, the client does not know whether it was done. The
/// next attempt waits for the lock of the row, and so for the end of that transaction. It then
/// finds the row with this checksum, or the one before the write.
#[derive(Debug, Default)]
pub(super) struct Attempted(Mutex<Option<i64>>);

impl Attempted {
    /// Records the row before its commit.
    pub(super) fn record(&self, row: &SessionRow) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(row.checksum);
    }

    /// Returns whether an earlier attempt has committed this row.
    pub(super) fn has_written(&self, row: &SessionRow) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) == Some(row.checksum)
    }
}
