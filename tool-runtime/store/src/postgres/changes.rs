//! Waits for changes of tables: by notifications, or by looking again.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Transaction;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::Postgres;
use super::error::ConnectError;
use super::notifications::PostgresNotifications;
use super::tables::PostgresError;

/// The longest wait, after which a change without a notification is noticed.
const INTERVAL: Duration = Duration::from_secs(1);

/// Signals of changes to the tables of one part of a program, from
/// [`Postgres::changes`](super::Postgres::changes).
///
/// A table with a version, or with a counter of revisions, can be watched: compare the stored
/// version, and [wait](Self::wait) while it is the known one. Clones share one connection for
/// notifications.
///
/// ```no_run
/// use tool_runtime::store::{PostgresChanges, PostgresError, PostgresTables};
///
/// /// Waits until the prices have another version.
/// async fn wait_for_prices(
///     tables: &PostgresTables,
///     changes: &PostgresChanges,
///     known: i64,
/// ) -> Result<i64, PostgresError> {
///     loop {
///         let client = tables.client().await?;
///         let row = client.query_one("SELECT version FROM prices_version", &[]).await?;
///         let version = row.try_get(0)?;
///         drop(client);
///         if version != known {
///             return Ok(version);
///         }
///         changes.wait().await;
///     }
/// }
/// ```
#[derive(Clone)]
pub struct PostgresChanges {
    channel: Arc<str>,
    /// `None` if the store can't listen.
    notifications: Arc<Mutex<Option<PostgresNotifications>>>,
}

impl PostgresChanges {
    pub(super) async fn open(store: &Postgres, channel: &str) -> Result<Self, ConnectError> {
        let notifications = match store.connector {
            Some(_) => Some(store.listen(channel).await?),
            None => None,
        };
        Ok(Self { channel: channel.into(), notifications: Arc::new(Mutex::new(notifications)) })
    }

    /// Notifies all processes as soon as the transaction commits.
    ///
    /// # Errors
    /// Returns [`PostgresError`] if the server can't be reached, or has refused the notification.
    ///
    /// ```no_run
    /// use tool_runtime::store::{PostgresChanges, PostgresError, PostgresTables};
    ///
    /// async fn set_price(
    ///     tables: &PostgresTables,
    ///     changes: &PostgresChanges,
    ///     price: i64,
    /// ) -> Result<(), PostgresError> {
    ///     let mut client = tables.client().await?;
    ///     let transaction = client.transaction().await?;
    ///     transaction.execute("UPDATE prices SET price = $1", &[&price]).await?;
    ///     transaction.execute("UPDATE prices_version SET version = version + 1", &[]).await?;
    ///     changes.notify(&transaction).await?;
    ///     Ok(transaction.commit().await?)
    /// }
    /// ```
    pub async fn notify(&self, transaction: &Transaction<'_>) -> Result<(), PostgresError> {
        let notify = transaction.prepare_cached("SELECT pg_notify($1, '')").await?;
        transaction.execute(&notify, &[&&*self.channel]).await?;
        Ok(())
    }

    /// Waits for the next notification, at most for a second. There may have been no change.
    ///
    /// Of several waits of one process, one returns with the notification, and the others after the
    /// second. A notification that arrives between two waits ends the next one at once.
    ///
    /// # Cancellation
    /// No notification is lost if the future is dropped.
    ///
    /// ```no_run
    /// use tool_runtime::store::Postgres;
    ///
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
    /// let changes = store.changes("prices").await?;
    /// loop {
    ///     changes.wait().await;
    ///     println!("any price may have changed");
    /// }
    /// # }
    /// ```
    pub async fn wait(&self) {
        let listen = async {
            match &mut *self.notifications.lock().await {
                Some(notifications) => drop(notifications.next().await),
                None => pending().await,
            }
        };
        _ = timeout(INTERVAL, listen).await;
    }
}

impl fmt::Debug for PostgresChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresChanges").field("channel", &self.channel).finish_non_exhaustive()
    }
}
