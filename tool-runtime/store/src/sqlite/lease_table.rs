//! Operations on the table of leases.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::owners::OwnerFiles;
use super::row::failed;
use tool_core::agent::session::{SessionError, SessionLease, SessionOwner};

/// Acquires the lease of a session, and returns its epoch.
pub(super) fn acquire(
    connection: &mut Connection,
    owners: &OwnerFiles,
    session: &str,
    owner: &SessionOwner,
    lifetime: Duration,
) -> Result<u64, SessionError> {
    unsynced(connection, session, |connection| {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| failed(session, error))?;
        let lease = find(&transaction, owners, session)?;
        SessionLease::check_acquire(session, lease.as_ref(), owner)?;
        // A row that is replaced gets a new epoch.
        let replace = "INSERT OR REPLACE INTO leases (name, owner, label, expires_at) \
                       VALUES (?1, ?2, ?3, ?4)";
        transaction
            .execute(replace, (session, &owner.id, &owner.label, expiry(lifetime)))
            .map_err(|error| failed(session, error))?;
        let epoch = transaction.last_insert_rowid().cast_unsigned();
        // Before other processes can read the row.
        owners.hold(&owner.id).map_err(SessionError::unavailable)?;
        transaction.commit().map_err(|error| failed(session, error))?;
        Ok(epoch)
    })
}

pub(super) fn renew(
    connection: &mut Connection,
    owners: &OwnerFiles,
    session: &str,
    epoch: u64,
    lifetime: Duration,
) -> Result<(), SessionError> {
    unsynced(connection, session, |connection| {
        let renew = "UPDATE leases SET expires_at = ?3 WHERE name = ?1 AND epoch = ?2";
        let renewed = connection
            .execute(renew, (session, epoch.cast_signed(), expiry(lifetime)))
            .map_err(|error| failed(session, error))?;
        if renewed == 0 { check(connection, owners, session, Some(epoch)) } else { Ok(()) }
    })
}

pub(super) fn release(
    connection: &mut Connection,
    session: &str,
    epoch: u64,
) -> Result<(), SessionError> {
    unsynced(connection, session, |connection| {
        let release = "DELETE FROM leases WHERE name = ?1 AND epoch = ?2";
        let released = connection.execute(release, (session, epoch.cast_signed()));
        released.map(|_| ()).map_err(|error| failed(session, error))
    })
}

/// Checks whether a session may be changed under an epoch, or under none.
pub(super) fn check(
    connection: &Connection,
    owners: &OwnerFiles,
    session: &str,
    epoch: Option<u64>,
) -> Result<(), SessionError> {
    SessionLease::check_write(session, find(connection, owners, session)?.as_ref(), epoch)
}

/// Returns whether a session has a live lease.
pub(super) fn is_live(
    connection: &Connection,
    owners: &OwnerFiles,
    session: &str,
) -> Result<bool, SessionError> {
    Ok(find(connection, owners, session)?.is_some_and(|lease| lease.is_live))
}

fn find(
    connection: &Connection,
    owners: &OwnerFiles,
    session: &str,
) -> Result<Option<SessionLease>, SessionError> {
    let find = "SELECT owner, label, epoch, expires_at FROM leases WHERE name = ?1";
    let found = connection.query_row(find, (session,), |row| {
        let owner = SessionOwner::new(row.get::<_, String>(0)?, row.get::<_, String>(1)?);
        Ok((owner, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
    });
    let found = found.optional().map_err(|error| failed(session, error))?;
    Ok(found.map(|(owner, epoch, expires_at)| {
        let is_live = expires_at > expiry(Duration::ZERO) && owners.may_live(&owner.id);
        SessionLease::new(owner, epoch.cast_unsigned(), is_live)
    }))
}

/// Returns the time after this one, in microseconds since 1970.
fn expiry(lifetime: Duration) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.saturating_add(lifetime).as_micros()).unwrap_or(i64::MAX)
}

/// Runs an operation without waiting for the disk, to which the next save writes it as well. A
/// power failure ends all owners, so a lease that is lost with it has no owner.
fn unsynced<T>(
    connection: &mut Connection,
    session: &str,
    operation: impl FnOnce(&mut Connection) -> Result<T, SessionError>,
) -> Result<T, SessionError> {
    let set = |connection: &Connection, level| {
        let set = connection.pragma_update(None, "synchronous", level);
        set.map_err(|error| failed(session, error))
    };
    set(connection, "NORMAL")?;
    let result = operation(connection);
    set(connection, "FULL")?;
    result
}
