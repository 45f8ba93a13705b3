//! Copies of sessions, new names, and deletion.

use std::time::SystemTime;

use deadpool_postgres::Pool;
use tokio_postgres::types::ToSql;

use super::lease;
use super::row::{Lock, chain_before, find_locked};
use super::save::{insert, write_rows};
use crate::postgres::error::Failure;
use crate::postgres::retry::{Attempted, retried};
use crate::sessions::{EncodedWrite, SessionRow, as_integer, checksum};
use tool_core::agent::session::{SessionError, SessionWrite};

fn already_exists(session: &str) -> SessionError {
    SessionError::AlreadyExists { session: session.to_owned() }
}

/// Copies the messages before `write.from` and adds those of the write.
pub(in crate::postgres) async fn fork(
    pool: &Pool,
    session: &str,
    to: &str,
    write: EncodedWrite,
) -> Result<u64, SessionError> {
    let (attempted, saved_at) = (Attempted::default(), SystemTime::now());
    retried(session, || try_fork(pool, session, to, &write, saved_at, &attempted)).await
}

async fn try_fork(
    pool: &Pool,
    session: &str,
    to: &str,
    write: &EncodedWrite,
    saved_at: SystemTime,
    attempted: &Attempted,
) -> Result<u64, Failure> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    let source = find_locked(&transaction, session, Lock::Share).await?;
    write.check(session, source.as_ref())?;
    let copy = write.clone().copy_of(source.as_ref(), to);
    let Some(id) = insert(&transaction, to).await? else {
        let existing = find_locked(&transaction, to, Lock::Share).await?;
        return match existing.filter(|row| attempted.has_written(row)) {
            Some(row) => Ok(row.position().0),
            None => Err(already_exists(to).into()),
        };
    };
    lease::check(&transaction, to, copy.epoch).await?;
    let chain = chain_before(&transaction, session, source.as_ref(), copy.from).await?;
    let revision = SessionWrite::create().check(to, 0, 0)?;
    let chains = copy.chains(chain);
    let row = copy.row(id, None, revision, saved_at, chains.last().copied().unwrap_or(chain));
    if let Some(SessionRow { id: source, .. }) = &source {
        let messages = "INSERT INTO tool_messages (session, place, message, chain) \
                        SELECT $1, place, message, chain # $4 FROM tool_messages \
                        WHERE session = $2 AND place < $3";
        let messages = transaction.prepare_cached(messages).await?;
        let rebind = checksum::in_session(*source, id);
        let values: [&(dyn ToSql + Sync); 4] = [&id, source, &as_integer(copy.from), &rebind];
        transaction.execute(&messages, &values).await?;
    }
    write_rows(&transaction, &copy, &row, &chains, 0).await?;
    attempted.record(&row);
    transaction.commit().await?;
    Ok(revision)
}

pub(in crate::postgres) async fn set_title(
    pool: &Pool,
    session: &str,
    title: Option<&str>,
) -> Result<(), SessionError> {
    // It has the same result each time.
    retried(session, || try_set_title(pool, session, title)).await
}

async fn try_set_title(pool: &Pool, session: &str, title: Option<&str>) -> Result<(), Failure> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    let Some(row) = find_locked(&transaction, session, Lock::Update).await? else {
        return Err(SessionError::NotFound { session: session.to_owned() }.into());
    };
    let row = row.with_title(session, title);
    let update = "UPDATE tool_sessions SET title = $2, checksum = $3 WHERE id = $1";
    let update = transaction.prepare_cached(update).await?;
    let title = title.map(str::as_bytes);
    transaction.execute(&update, &[&row.id, &title, &row.checksum]).await?;
    transaction.commit().await?;
    Ok(())
}

pub(in crate::postgres) async fn rename(
    pool: &Pool,
    session: &str,
    to: &str,
    epoch: Option<u64>,
) -> Result<(), SessionError> {
    let attempted = Attempted::default();
    retried(session, || try_rename(pool, session, to, epoch, &attempted)).await
}

async fn try_rename(
    pool: &Pool,
    session: &str,
    to: &str,
    epoch: Option<u64>,
    attempted: &Attempted,
) -> Result<(), Failure> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    let Some(row) = find_locked(&transaction, session, Lock::Update).await? else {
        let renamed = find_locked(&transaction, to, Lock::Share).await?;
        return match renamed.filter(|row| attempted.has_written(row)) {
            Some(_) => Ok(()),
            None => Err(SessionError::NotFound { session: session.to_owned() }.into()),
        };
    };
    lease::check(&transaction, session, epoch).await?;
    if session == to {
        return Ok(());
    }
    lease::check(&transaction, to, None).await?;
    let renamed = SessionRow { checksum: row.checksum_as(to), ..row };
    let update = "UPDATE tool_sessions SET name = $2, checksum = $3 WHERE id = $1";
    let update = transaction.prepare_cached(update).await?;
    let updated =
        transaction.execute(&update, &[&renamed.id, &to.as_bytes(), &renamed.checksum]).await;
    match updated.map_err(Failure::from) {
        Err(failure) if failure.is_duplicate() => return Err(already_exists(to).into()),
        updated => _ = updated?,
    }
    attempted.record(&renamed);
    transaction.commit().await?;
    Ok(())
}

pub(in crate::postgres) async fn delete(
    pool: &Pool,
    session: &str,
    epoch: Option<u64>,
) -> Result<(), SessionError> {
    retried(session, || try_delete(pool, session, epoch)).await
}

async fn try_delete(pool: &Pool, session: &str, epoch: Option<u64>) -> Result<(), Failure> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    lease::check(&transaction, session, epoch).await?;
    let delete = "DELETE FROM tool_sessions WHERE name = $1 RETURNING id";
    let delete = transaction.prepare_cached(delete).await?;
    if let Some(row) = transaction.query_opt(&delete, &[&session.as_bytes()]).await? {
        // A later statement, because it has to see the messages of a save that was waited for.
        let messages = "DELETE FROM tool_messages WHERE session = $1";
        let messages = transaction.prepare_cached(messages).await?;
        transaction.execute(&messages, &[&row.try_get::<_, i64>(0)?]).await?;
    }
    transaction.commit().await?;
    Ok(())
}
