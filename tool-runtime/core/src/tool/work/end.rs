//! Why an attempt ended.

use std::sync::atomic::{AtomicU8, Ordering};

/// Reason why an attempt of a call ended, returned by
/// [`ToolContext::end_reason`](crate::ToolContext::end_reason).
///
/// A tool that runs its work elsewhere, such as on a worker, needs it to know whether that work
/// must stop: a cancelled call stops it, and a dropped one may be continued by another process.
///
/// ```
/// use tool_runtime::dispatch::CallEnd;
///
/// fn must_stop(end: CallEnd) -> bool {
///     matches!(end, CallEnd::Cancelled | CallEnd::TimedOut)
/// }
///
/// assert!(must_stop(CallEnd::Cancelled) && !must_stop(CallEnd::Dropped));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallEnd {
    /// The tool returned or panicked.
    Finished,
    /// The time limit of the tool, of the batch or of the run passed.
    TimedOut,
    /// The call was cancelled: its run was, or the tool that made the call no longer waits for it.
    Cancelled,
    /// The future of the call was dropped, or the run lost the lease of its session, without a
    /// decision to cancel. The run may resume, here or in another process.
    Dropped,
}

impl CallEnd {
    const ALL: [Self; 4] = [Self::Finished, Self::TimedOut, Self::Cancelled, Self::Dropped];
}

/// The end of the current attempt, once it has ended. The first reason counts.
#[derive(Debug, Default)]
pub(crate) struct EndCell(AtomicU8);

impl EndCell {
    pub(crate) fn get(&self) -> Option<CallEnd> {
        let index = self.0.load(Ordering::Acquire).checked_sub(1)?;
        CallEnd::ALL.get(usize::from(index)).copied()
    }

    pub(crate) fn set(&self, end: CallEnd) {
        let value = end as u8 + 1;
        let _ = self.0.compare_exchange(0, value, Ordering::Release, Ordering::Relaxed);
    }

    /// Begins another attempt.
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_end_of_an_attempt_counts() {
        let cell = EndCell::default();
        assert_eq!(cell.get(), None);
        for end in CallEnd::ALL {
            cell.set(end);
            assert_eq!(cell.get(), Some(end));
            cell.set(CallEnd::Finished);
            assert_eq!(cell.get(), Some(end));
            cell.clear();
        }
        assert_eq!(cell.get(), None);
    }
}
