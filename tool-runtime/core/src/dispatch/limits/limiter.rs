//! One rate limit, for which calls wait in order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Mutex as Queue;

use crate::dispatch::policy::SlidingWindow;
use crate::tool::RateLimit;

#[derive(Debug)]
pub(crate) struct Limiter {
    /// The order of waiting calls: only the first in the queue waits for the window.
    pub(crate) queue: Queue<()>,
    window: Mutex<SlidingWindow>,
}

impl Limiter {
    pub(crate) fn new(limit: RateLimit) -> Arc<Self> {
        Arc::new(Self { queue: Queue::new(()), window: Mutex::new(SlidingWindow::new(limit)) })
    }

    pub(crate) fn window(&self) -> MutexGuard<'_, SlidingWindow> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
