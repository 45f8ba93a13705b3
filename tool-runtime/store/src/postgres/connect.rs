//! The pool of connections.

use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, Socket};

use super::error::ConnectError;

const CONNECTIONS: usize = 16;

/// The longest wait for the pool, the server, and a lock.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Limits how long a connection waits for a lock, and how long another one waits for a process
/// that has stopped within a transaction. The limits of the database or of the connection string
/// take precedence.
const LIMITS: &str = "
    SELECT set_config(name, value, false)
    FROM (VALUES
        ('lock_timeout', '5s'),
        ('idle_in_transaction_session_timeout', '60s')
    ) AS limits (name, value)
    WHERE current_setting(name) = '0'
";

/// The time after which the system checks whether the server is still there, and that between two
/// attempts.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(10));

/// Adds the timeouts that the configuration does not set.
pub(super) fn with_defaults(mut config: Config) -> Config {
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        // A server that is gone without a word is noticed after this time.
        config.tcp_user_timeout(TIMEOUT * 2);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_idle(KEEPALIVE.0).keepalives_interval(KEEPALIVE.1);
    }
    config
}

pub(super) fn pool<T>(config: Config, tls: T) -> Result<Pool, ConnectError>
where
    T: MakeTlsConnect<Socket> + Clone + Sync + Send + 'static,
    T::Stream: Sync + Send,
    T::TlsConnect: Sync + Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let limit = Hook::async_fn(|client: &mut deadpool_postgres::ClientWrapper, _| {
        Box::pin(async move { client.batch_execute(LIMITS).await.map_err(HookError::Backend) })
    });
    Pool::builder(Manager::from_config(config, tls, manager))
        .max_size(CONNECTIONS)
        .wait_timeout(Some(TIMEOUT))
        .create_timeout(Some(TIMEOUT * 2))
        .recycle_timeout(Some(TIMEOUT))
        .runtime(Runtime::Tokio1)
        .post_create(limit)
        .build()
        .map_err(|source| ConnectError::Unavailable { source: Box::new(source) })
}
