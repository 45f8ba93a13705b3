//! Creation of the indexes of `pgvector.rs`.

use std::time::Duration;

use tool_store::PostgresError;
use tool_store::deadpool_postgres::{Client, ClientWrapper};

use super::pgvector::{IndexState, VectorIndex, spaces};

/// The time between two attempts to lock: a statement that waits for a lock would keep the index
/// of another process from being finished.
const POLL: Duration = Duration::from_millis(100);

/// Excludes other processes that create indexes in the same schema, until the connection ends.
const LOCK: &str = "
    SELECT pg_try_advisory_lock(
        hashtextextended('tool-knowledge ' || coalesce(current_schema(), ''), 0)
    )
";

/// Creates the missing indexes of a tenant and an embedder, and returns whether all of its vectors
/// have one.
pub(super) async fn create(
    client: Client,
    tenant: &str,
    embedder: &str,
) -> Result<bool, PostgresError> {
    // Out of the pool: the lock ends with the connection, even if this future is dropped.
    let client = Client::take(client);
    // The end of an index waits for the transactions of others.
    client.batch_execute("SET lock_timeout = '10min'").await?;
    while !client.query_one(LOCK, &[]).await?.try_get::<_, bool>(0)? {
        tokio::time::sleep(POLL).await;
    }
    create_extension(&client).await?;
    let spaces = spaces(&client, tenant, embedder, None).await?;
    let mut is_complete = !spaces.is_empty();
    for space in spaces {
        match space.possible_index() {
            Some(index) => create_index(&client, &index, space.index_state).await?,
            None => is_complete = false,
        }
    }
    Ok(is_complete)
}

async fn create_index(
    client: &ClientWrapper,
    index: &VectorIndex,
    state: IndexState,
) -> Result<(), PostgresError> {
    if state == IndexState::Usable {
        return Ok(());
    }
    if state == IndexState::Unusable {
        // Of a process that was killed: with the lock, no other one is building it.
        let drop = format!("DROP INDEX CONCURRENTLY IF EXISTS {}", index.name());
        client.batch_execute(&drop).await?;
    }
    Ok(client.batch_execute(&index.creation()).await?)
}

/// Creates the extension if the server has it and the user may create it.
async fn create_extension(client: &ClientWrapper) -> Result<(), PostgresError> {
    let exists = "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') \
                  OR NOT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')";
    if client.query_one(exists, &[]).await?.try_get(0)? {
        return Ok(());
    }
    let create = "CREATE EXTENSION IF NOT EXISTS vector";
    match client.batch_execute(create).await.map_err(PostgresError::from) {
        // The server refuses, or another process has created it: the spaces show which.
        Err(error) if error.sql_state().is_none() => Err(error),
        _ => Ok(()),
    }
}
