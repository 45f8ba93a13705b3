//! Creation and migration of tables.

use deadpool_postgres::{GenericClient, Pool};

use super::error::{ConnectError, Failure};

/// The table that records which migrations of which part were run.
const VERSIONS: &str = "
    CREATE TABLE IF NOT EXISTS tool_table_versions (
        part TEXT PRIMARY KEY,
        version BIGINT NOT NULL
    )
";

/// Excludes other processes that migrate tables of the same schema, until the transaction ends. A
/// migration may take longer than another statement.
const LOCK: &str = "
    SET LOCAL lock_timeout = '10min';
    SELECT pg_advisory_xact_lock(
        hashtextextended('tool-runtime ' || coalesce(current_schema(), ''), 0)
    )
";

/// Runs the missing migrations of a part in one transaction.
pub(super) async fn migrate(
    pool: &Pool,
    part: &str,
    migrations: &[&str],
) -> Result<(), ConnectError> {
    let result = run_missing(pool, part, migrations).await.map_err(ConnectError::from_failure)?;
    result.map_err(|version| ConnectError::UnsupportedVersion {
        part: part.to_owned(),
        version,
        supported: migrations.len(),
    })
}

/// Returns the version of the tables as an error if it is higher than that of the migrations.
async fn run_missing(
    pool: &Pool,
    part: &str,
    migrations: &[&str],
) -> Result<Result<(), usize>, Failure> {
    let mut client = pool.get().await?;
    // Without a write, so that a user without the right to create tables can use them. Tables of
    // further schemas of the search path belong to other programs.
    let exists = "SELECT to_regclass(quote_ident(current_schema()) || '.tool_table_versions') \
                  IS NOT NULL";
    if client.query_one(exists, &[]).await?.try_get::<_, bool>(0)?
        && version(&client, part).await? == Some(migrations.len())
    {
        return Ok(Ok(()));
    }
    let transaction = client.transaction().await?;
    transaction.batch_execute(LOCK).await?;
    // Another process may have migrated the tables by now. The first statement also makes the
    // server look for its tables: it may remember from before the lock that there were none.
    transaction.batch_execute(VERSIONS).await?;
    let version = version(&transaction, part).await?.unwrap_or_default();
    let Some(missing) = migrations.get(version..) else { return Ok(Err(version)) };
    for migration in missing {
        transaction.batch_execute(migration).await?;
    }
    let record = "INSERT INTO tool_table_versions (part, version) VALUES ($1, $2) \
                  ON CONFLICT (part) DO UPDATE SET version = EXCLUDED.version";
    let newest = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    transaction.execute(record, &[&part, &newest]).await?;
    transaction.commit().await?;
    Ok(Ok(()))
}

/// Returns the number of migrations of a part that were run; `None` if none were.
async fn version(client: &impl GenericClient, part: &str) -> Result<Option<usize>, Failure> {
    let version = "SELECT version FROM tool_table_versions WHERE part = $1";
    let Some(row) = client.query_opt(version, &[&part]).await? else { return Ok(None) };
    Ok(usize::try_from(row.try_get::<_, i64>(0)?).ok())
}
