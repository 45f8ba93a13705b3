//! Reading of sessions.

use std::ops::Range;

use deadpool_postgres::Pool;
use tokio_postgres::IsolationLevel;

use super::row::{COLUMNS, chain_before, column, read};
use crate::postgres::error::Failure;
use crate::postgres::retry::retried;
use crate::records::successor;
use crate::sessions::{MessageBounds, MessageRow, as_integer, decode_messages, decode_state};
use tool_core::agent::session::{
    SessionError, SessionInfo, SessionPart, SessionQuery, SessionStatus,
};

pub(in crate::postgres) async fn load_range(
    pool: &Pool,
    session: &str,
    range: &Range<usize>,
) -> Result<Option<SessionPart>, SessionError> {
    retried(session, || try_load(pool, session, range)).await
}

async fn try_load(
    pool: &Pool,
    session: &str,
    range: &Range<usize>,
) -> Result<Option<SessionPart>, Failure> {
    let mut client = pool.get().await?;
    // Both tables are read from the same moment.
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    let find = format!("SELECT {COLUMNS}, state FROM tool_sessions WHERE name = $1");
    let find = transaction.prepare_cached(&find).await?;
    let Some(found) = transaction.query_opt(&find, &[&session.as_bytes()]).await? else {
        return Ok(None);
    };
    let row = read(session, &found)?.verified(session)?;
    let state = decode_state(session, &row, column(session, &found, 11)?)?;
    let (revision, count) = row.position();
    let bounds = MessageBounds::new(range, count);
    let messages = if bounds.is_empty() {
        Vec::new()
    } else {
        let chain = chain_before(&transaction, session, Some(&row), bounds.from).await?;
        let texts = "SELECT place, message, chain FROM tool_messages \
                     WHERE session = $1 AND place >= $2 AND place <= $3 ORDER BY place";
        let texts = transaction.prepare_cached(texts).await?;
        let (first, last) = bounds.places();
        let rows = transaction.query(&texts, &[&row.id, &first, &last]).await?;
        let rows = rows.iter().map(|it| {
            Ok((column(session, it, 0)?, column(session, it, 1)?, column(session, it, 2)?))
        });
        let rows = rows.collect::<Result<Vec<MessageRow<&[u8]>>, Failure>>()?;
        decode_messages(session, &row, bounds, chain, rows)?
    };
    Ok(Some(SessionPart::new(bounds.from, messages, count, state, revision)))
}

pub(in crate::postgres) async fn list(
    pool: &Pool,
    query: SessionQuery<'_>,
) -> Result<Vec<SessionInfo>, SessionError> {
    retried(query.prefix, || try_list(pool, query)).await
}

/// Whether a session has a live lease, by the clock of the server.
const IS_LEASED: &str = "EXISTS (SELECT FROM tool_leases AS lease \
                         WHERE lease.name = session.name AND expires_at > clock_timestamp())";

async fn try_list(pool: &Pool, query: SessionQuery<'_>) -> Result<Vec<SessionInfo>, Failure> {
    let client = pool.get().await?;
    let start = query.after.map_or(query.prefix, |after| after.max(query.prefix));
    let (start, after) = (start.as_bytes(), query.after.map(str::as_bytes));
    let end = successor(query.prefix);
    let of_status = match query.status {
        None => String::new(),
        Some(status) => {
            let saved = status.saved_as().iter().map(|saved| format!("'{saved}'"));
            let is_listed = match status {
                SessionStatus::Running => format!("AND {IS_LEASED}"),
                SessionStatus::Interrupted => {
                    format!("AND (status <> 'running' OR NOT {IS_LEASED})")
                }
                _ => String::new(),
            };
            format!("AND status IN ({}) {is_listed}", saved.collect::<Vec<_>>().join(", "))
        }
    };
    let of_principal =
        if query.principal.is_some() { "principal = $5" } else { "$5::bytea IS NULL" };
    let page = format!(
        "SELECT {COLUMNS}, name, {IS_LEASED} FROM tool_sessions AS session \
         WHERE name >= $1 AND ($2::bytea IS NULL OR name > $2) \
         AND ($3::bytea IS NULL OR name < $3) {of_status} AND {of_principal} \
         ORDER BY name LIMIT $4"
    );
    let page = client.prepare_cached(&page).await?;
    let limit = as_integer(query.limit.unwrap_or(usize::MAX));
    let principal = query.principal.map(str::as_bytes);
    let rows = client.query(&page, &[&start, &after, &end, &limit, &principal]).await?;
    let info = |row: &_| {
        let name: &[u8] = column(query.prefix, row, 11)?;
        // A name that is no text has another checksum.
        let name = String::from_utf8_lossy(name).into_owned();
        let is_leased = column(&name, row, 12)?;
        Ok(read(&name, row)?.into_info(name, is_leased)?)
    };
    rows.iter().map(info).collect()
}
