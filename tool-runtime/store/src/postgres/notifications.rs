//! Notifications of other connections, over reconnections.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{AsyncMessage, Client, Config, Error, Socket};
use tokio_util::task::AbortOnDropHandle;

use super::error::ConnectError;

/// The most notifications that wait for their reader.
const CAPACITY: usize = 1_024;

/// The time between two attempts to connect.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// Notification of a channel, or the report that some may have been missed.
///
/// ```
/// use tool_runtime::store::PostgresNotification;
///
/// /// Returns whether a cache is still valid.
/// fn is_valid(notification: &PostgresNotification, key: &str) -> bool {
///     match notification {
///         PostgresNotification::Received(payload) => payload != key,
///         _ => false,
///     }
/// }
///
/// assert!(is_valid(&PostgresNotification::Received("other".into()), "mine"));
/// assert!(!is_valid(&PostgresNotification::MaybeMissed, "mine"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostgresNotification {
    /// A transaction with this payload was committed.
    Received(String),
    /// Notifications may have been missed, because the connection was lost or because the reader
    /// was too slow. Read again what they are about.
    MaybeMissed,
}

/// The notifications of one channel, from [`Postgres::listen`](super::Postgres::listen).
///
/// A task has a separate connection for them, and connects again if it is lost. The task ends
/// when the value is dropped.
///
/// ```no_run
/// use tool_runtime::store::{Postgres, PostgresNotification};
///
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Postgres::connect("host=localhost user=app dbname=app").await?;
/// let mut notifications = store.listen("prices").await?;
/// loop {
///     match notifications.next().await {
///         PostgresNotification::Received(article) => println!("{article} has a new price"),
///         _ => println!("any article may have a new price"),
///     }
/// }
/// # }
/// ```
pub struct PostgresNotifications {
    channel: String,
    received: mpsc::Receiver<PostgresNotification>,
    sender: Sender,
    /// Ends the task on drop.
    _task: AbortOnDropHandle<()>,
}

impl PostgresNotifications {
    pub(super) async fn open(connector: Connector, channel: &str) -> Result<Self, ConnectError> {
        let (sender, received) = mpsc::channel(CAPACITY);
        let sender = Sender { sender, has_missed: Arc::default() };
        let listening = connector.listen(channel, &sender).await;
        let listening = listening.map_err(|error| ConnectError::from_failure(error.into()))?;
        let task = follow(connector, channel.to_owned(), listening, sender.clone());
        let task = AbortOnDropHandle::new(tokio::spawn(task));
        Ok(Self { channel: channel.to_owned(), received, sender, _task: task })
    }

    /// Waits for the next notification.
    ///
    /// # Cancellation
    /// No notification is lost if the future is dropped.
    ///
    /// ```no_run
    /// use tool_runtime::store::{PostgresNotification, PostgresNotifications};
    ///
    /// /// Waits until this article may have another price.
    /// async fn wait(notifications: &mut PostgresNotifications, article: &str) {
    ///     loop {
    ///         match notifications.next().await {
    ///             PostgresNotification::Received(other) if other != article => {}
    ///             _ => return,
    ///         }
    ///     }
    /// }
    /// ```
    pub async fn next(&mut self) -> PostgresNotification {
        if self.sender.has_missed.swap(false, Ordering::AcqRel) {
            return PostgresNotification::MaybeMissed;
        }
        // The value has a sender itself, so the channel is never closed.
        self.received.recv().await.unwrap_or(PostgresNotification::MaybeMissed)
    }
}

impl fmt::Debug for PostgresNotifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresNotifications")
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

/// Sends notifications to their reader, without waiting for it.
#[derive(Clone)]
struct Sender {
    sender: mpsc::Sender<PostgresNotification>,
    /// Whether the channel was full.
    has_missed: Arc<AtomicBool>,
}

impl Sender {
    fn send(&self, notification: PostgresNotification) {
        if self.sender.try_send(notification).is_err() {
            self.has_missed.store(true, Ordering::Release);
        }
    }
}

/// A connection that listens: its client, and the task that reads it until it is lost.
type Listening = (Client, AbortOnDropHandle<()>);

type Connecting = Pin<Box<dyn Future<Output = Result<Listening, Error>> + Send>>;

/// Opens connections for notifications, with the configuration of a store.
#[derive(Clone)]
pub(super) struct Connector(Arc<dyn Fn(Sender) -> Connecting + Send + Sync>);

impl Connector {
    pub(super) fn new<T>(config: Config, tls: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Sync + Send + 'static,
        T::Stream: Sync + Send,
        T::TlsConnect: Sync + Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        Self(Arc::new(move |sender| {
            let (config, tls) = (config.clone(), tls.clone());
            Box::pin(async move {
                let (client, mut connection) = config.connect(tls).await?;
                let reading = tokio::spawn(async move {
                    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                        if let AsyncMessage::Notification(notification) = message {
                            let payload = notification.payload().to_owned();
                            sender.send(PostgresNotification::Received(payload));
                        }
                    }
                });
                Ok((client, AbortOnDropHandle::new(reading)))
            })
        }))
    }

    /// Connects and listens to a channel.
    async fn listen(&self, channel: &str, sender: &Sender) -> Result<Listening, Error> {
        let (client, reading) = (self.0)(sender.clone()).await?;
        let channel = channel.replace('"', "\"\"");
        client.batch_execute(&format!("LISTEN \"{channel}\"")).await?;
        Ok((client, reading))
    }
}

/// Connects again whenever the connection is lost.
async fn follow(
    connector: Connector,
    channel: String,
    (mut client, mut reading): Listening,
    sender: Sender,
) {
    loop {
        // The connection closes when its client is dropped.
        _ = reading.await;
        drop(client);
        (client, reading) = loop {
            match connector.listen(&channel, &sender).await {
                Ok(listening) => break listening,
                Err(_) => sleep(RETRY_AFTER).await,
            }
        };
        sender.send(PostgresNotification::MaybeMissed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reader_that_is_too_slow_learns_that_it_missed_something() {
        let (sender, received) = mpsc::channel(CAPACITY);
        let sender = Sender { sender, has_missed: Arc::default() };
        let _task = AbortOnDropHandle::new(tokio::spawn(async {}));
        let channel = "changes".to_owned();
        let mut reader = PostgresNotifications { channel, received, sender: sender.clone(), _task };
        let number = |number: usize| PostgresNotification::Received(number.to_string());
        for index in 0..=CAPACITY {
            sender.send(number(index));
        }
        assert_eq!(reader.next().await, PostgresNotification::MaybeMissed);
        for expected in 0..CAPACITY {
            assert_eq!(reader.next().await, number(expected));
        }
        sender.send(number(7));
        assert_eq!(reader.next().await, number(7));
    }
}
