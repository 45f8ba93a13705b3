//! Leases of sessions. The clock of the server decides when one expires.

use std::time::Duration;

use deadpool_postgres::{Pool, Transaction};

use super::row::column;
use crate::postgres::error::Failure;
use crate::postgres::retry::retried;
use tool_core::agent::session::{SessionError, SessionLease, SessionOwner};

/// The time of the server when the statement runs, and not when its transaction began.
const EXPIRY: &str = "clock_timestamp() + $1::float8 * interval '1 second'";

pub(in crate::postgres) async fn acquire(
    pool: &Pool,
    session: &str,
    owner: &SessionOwner,
    lifetime: Duration,
) -> Result<u64, SessionError> {
    // If the connection is lost during the commit, the owner may have the lease: it gets another.
    retried(session, || try_acquire(pool, session, owner, lifetime)).await
}

async fn try_acquire(
    pool: &Pool,
    session: &str,
    owner: &SessionOwner,
    lifetime: Duration,
) -> Result<u64, Failure> {
    let mut client = pool.get().await?;
    let acquire = format!(
        "INSERT INTO tool_leases AS lease (name, owner, label, expires_at) \
         VALUES ($2, $3, $4, {EXPIRY}) \
         ON CONFLICT (name) DO UPDATE SET epoch = DEFAULT, owner = EXCLUDED.owner, \
         label = EXCLUDED.label, expires_at = EXCLUDED.expires_at \
         WHERE lease.owner = EXCLUDED.owner OR lease.expires_at <= clock_timestamp() \
         RETURNING epoch"
    );
    loop {
        let statement = client.prepare_cached(&acquire).await?;
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&lifetime.as_secs_f64(), &session.as_bytes(), &owner.id, &owner.label];
        if let Some(row) = client.query_opt(&statement, &values).await? {
            return Ok(column::<i64>(session, &row, 0)?.cast_unsigned());
        }
        let transaction = client.transaction().await?;
        let lease = find(&transaction, session).await?;
        // It may have ended meanwhile.
        SessionLease::check_acquire(session, lease.as_ref(), owner)?;
    }
}

pub(in crate::postgres) async fn renew(
    pool: &Pool,
    session: &str,
    epoch: u64,
    lifetime: Duration,
) -> Result<(), SessionError> {
    retried(session, || try_renew(pool, session, epoch, lifetime)).await
}

async fn try_renew(
    pool: &Pool,
    session: &str,
    epoch: u64,
    lifetime: Duration,
) -> Result<(), Failure> {
    let mut client = pool.get().await?;
    let renew =
        format!("UPDATE tool_leases SET expires_at = {EXPIRY} WHERE name = $2 AND epoch = $3");
    let renew = client.prepare_cached(&renew).await?;
    let (seconds, name) = (lifetime.as_secs_f64(), session.as_bytes());
    if client.execute(&renew, &[&seconds, &name, &epoch.cast_signed()]).await? == 0 {
        check(&client.transaction().await?, session, Some(epoch)).await?;
    }
    Ok(())
}

pub(in crate::postgres) async fn release(
    pool: &Pool,
    session: &str,
    epoch: u64,
) -> Result<(), SessionError> {
    retried(session, || try_release(pool, session, epoch)).await
}

async fn try_release(pool: &Pool, session: &str, epoch: u64) -> Result<(), Failure> {
    let client = pool.get().await?;
    let release = "DELETE FROM tool_leases WHERE name = $1 AND epoch = $2";
    let release = client.prepare_cached(release).await?;
    client.execute(&release, &[&session.as_bytes(), &epoch.cast_signed()]).await?;
    Ok(())
}

/// Checks whether a session may be changed under an epoch, or under none. The lease can't be
/// acquired until the transaction ends.
pub(super) async fn check(
    transaction: &Transaction<'_>,
    session: &str,
    epoch: Option<u64>,
) -> Result<(), Failure> {
    let lease = find(transaction, session).await?;
    Ok(SessionLease::check_write(session, lease.as_ref(), epoch)?)
}

async fn find(
    transaction: &Transaction<'_>,
    session: &str,
) -> Result<Option<SessionLease>, Failure> {
    let find = "SELECT owner, label, epoch, expires_at > clock_timestamp() FROM tool_leases \
                WHERE name = $1 FOR KEY SHARE";
    let find = transaction.prepare_cached(find).await?;
    let Some(row) = transaction.query_opt(&find, &[&session.as_bytes()]).await? else {
        return Ok(None);
    };
    let owner =
        SessionOwner::new(column::<String>(session, &row, 0)?, column::<String>(session, &row, 1)?);
    let epoch = column::<i64>(session, &row, 2)?.cast_unsigned();
    Ok(Some(SessionLease::new(owner, epoch, column(session, &row, 3)?)))
}
