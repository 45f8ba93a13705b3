//! Threads of scripts, whose number is limited.
//!
//! A thread that runs native code of the engine can't be interrupted. So it belongs to no pool that
//! others need, and the exit of the program does not wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::oneshot;
use tool_core::{ToolError, ToolErrorKind};

/// The stack of a thread. The engine limits a script to a small part of it, but does not check the
/// stack in each of its functions.
const STACK_BYTES: usize = 8 << 20;

/// Starts one thread for each script, up to a limit.
#[derive(Debug)]
pub(super) struct Threads {
    running: Arc<AtomicUsize>,
    limit: usize,
}

/// Counts a thread until it ends.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Threads {
    pub(super) fn new(limit: usize) -> Self {
        Self { running: Arc::default(), limit }
    }

    /// Runs a job on a new thread, and returns where its result arrives.
    ///
    /// A job never waits for the end of another: a script can wait for scripts that it calls.
    ///
    /// # Errors
    /// Returns an error if too many jobs are running.
    pub(super) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, ToolError> {
        let running = Running(Arc::clone(&self.running));
        if self.running.fetch_add(1, Ordering::Relaxed) >= self.limit {
            return Err(busy(&format!("{} scripts are running", self.limit)));
        }
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            let _running = running;
            // The call may have ended before its script.
            let _ = sender.send(job());
        };
        let thread = std::thread::Builder::new().name("script".into()).stack_size(STACK_BYTES);
        let spawned = thread.spawn(job);
        spawned.map(|_| receiver).map_err(|error| busy(&error.to_string()))
    }
}

fn busy(reason: &str) -> ToolError {
    let text = "The script did not run: too many scripts are running. Try again later.";
    ToolError::new(ToolErrorKind::TransientFailure, text).with_source(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::sync::mpsc;
    use std::thread::yield_now;

    use tool_core::ToolErrorKind;

    use super::Threads;

    #[test]
    fn thread_counts_until_it_ends() {
        let threads = Threads::new(1);
        let (end, ended) = mpsc::channel::<()>();
        let first = threads.run(move || ended.recv()).unwrap();
        for _ in 0..3 {
            let error = threads.run(|| ()).unwrap_err();
            assert_eq!(error.kind(), ToolErrorKind::TransientFailure);
        }
        // The call of the first script has ended, and its thread has not.
        drop(first);
        assert!(threads.run(|| ()).is_err());
        end.send(()).unwrap();
        while threads.running.load(Ordering::Relaxed) > 0 {
            yield_now();
        }
        assert_eq!(threads.run(|| 7).unwrap().blocking_recv(), Ok(7));
    }
}
