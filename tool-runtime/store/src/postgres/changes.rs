//! Waits for changes of tables: by notifications, or by looking again.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::Postgres;
use super::error::ConnectError;

/// The longest wait, after which a change without a notification is noticed.
const INTERVAL: Duration = Duration::from_secs(1);

/// Signals of changes. Clones share one connection, and each notices every signal.
#[derive(Clone)]
pub(super) struct Changes {
    /// `None` if the store can't listen.
    signals: Option<watch::Receiver<()>>,
    _task: Option<Arc<AbortOnDropHandle<()>>>,
}

impl Changes {
    pub(super) async fn open(store: &Postgres, channel: &str) -> Result<Self, ConnectError> {
        if store.connector.is_none() {
            return Ok(Self { signals: None, _task: None });
        }
        let mut notifications = store.listen(channel).await?;
        let (sender, signals) = watch::channel(());
        let task = tokio::spawn(async move {
            loop {
                drop(notifications.next().await);
                sender.send_replace(());
            }
        });
        Ok(Self { signals: Some(signals), _task: Some(Arc::new(AbortOnDropHandle::new(task))) })
    }

    /// Waits for the next signal since the last wait, at most for a second. There may have been no
    /// change.
    pub(super) async fn wait(&mut self) {
        let signal = async {
            // The task ends with the runtime that it was started on.
            if let Some(signals) = &mut self.signals
                && signals.changed().await.is_ok()
            {
                return;
            }
            pending().await
        };
        _ = timeout(INTERVAL, signal).await;
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("listens", &self.signals.is_some()).finish()
    }
}
