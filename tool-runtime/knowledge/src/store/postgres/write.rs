//! Changes of the tables. Each first locks its tenant, so that the numbers of a tenant are exact.

use std::collections::BTreeMap;

use tool_store::PostgresError;
use tool_store::deadpool_postgres::Transaction;
use tool_store::tokio_postgres::types::ToSql;

use super::insert::insert;
use super::read::stored_record;
use super::rows::{DocumentRow, TenantRows};
use crate::store::{DocumentRecord, DocumentStoreError};

pub(super) async fn put(
    transaction: &Transaction<'_>,
    tenants: &[TenantRows],
) -> Result<(), PostgresError> {
    for TenantRows { tenant, documents } in tenants {
        let tenant = lock_tenant(transaction, tenant).await?;
        replace(transaction, tenant, documents).await?;
    }
    Ok(())
}

/// Puts a document if the stored record is the expected one, and if the tenant has room for it.
pub(super) async fn put_if(
    transaction: &Transaction<'_>,
    document: &DocumentRow,
    expected: Option<&DocumentRecord>,
    max_documents: usize,
) -> Result<Result<(), DocumentStoreError>, PostgresError> {
    let DocumentRecord { tenant, source, .. } = &document.record;
    let id = lock_tenant(transaction, tenant).await?;
    let stored = match stored_record(transaction, tenant, source).await? {
        Ok(stored) => stored,
        Err(error) => return Ok(Err(error)),
    };
    if stored.as_ref() != expected {
        return Ok(Err(DocumentStoreError::Conflict { source_name: source.clone() }));
    }
    if stored.is_none() {
        let count = "SELECT count(*) FROM \
                     (SELECT 1 FROM tool_knowledge_documents WHERE tenant = $1 LIMIT $2) AS them";
        let count = transaction.prepare_cached(count).await?;
        let limit = i64::try_from(max_documents).unwrap_or(i64::MAX);
        let count: i64 = transaction.query_one(&count, &[&id, &limit]).await?.try_get(0)?;
        if count >= limit {
            return Ok(Err(DocumentStoreError::TenantFull { max_documents }));
        }
    }
    Ok(Ok(replace(transaction, id, std::slice::from_ref(document)).await?))
}

pub(super) async fn remove(
    transaction: &Transaction<'_>,
    tenant: &str,
    sources: &[&str],
) -> Result<u64, PostgresError> {
    let Some(tenant) = lock_known_tenant(transaction, tenant).await? else { return Ok(0) };
    let sources: Vec<&[u8]> = sources.iter().map(|source| source.as_bytes()).collect();
    remove_documents(transaction, tenant, &sources).await
}

async fn replace(
    transaction: &Transaction<'_>,
    tenant: i64,
    documents: &[DocumentRow],
) -> Result<(), PostgresError> {
    let sources: Vec<&[u8]> = documents.iter().map(|it| it.record.source.as_bytes()).collect();
    remove_documents(transaction, tenant, &sources).await?;
    insert(transaction, tenant, documents).await?;
    let (mut chunks, mut stems) = (0, 0);
    let mut chunks_of_stems: BTreeMap<&str, i64> = BTreeMap::new();
    for chunk in documents.iter().flat_map(|document| &document.chunks) {
        chunks += 1;
        stems += i64::from(chunk.length);
        for stem in chunk.stems.keys() {
            *chunks_of_stems.entry(stem).or_default() += 1;
        }
    }
    count(transaction, tenant, chunks, stems).await?;
    let (stems, chunks): (Vec<&[u8]>, Vec<i64>) =
        chunks_of_stems.into_iter().map(|(stem, chunks)| (stem.as_bytes(), chunks)).unzip();
    let upsert = "INSERT INTO tool_knowledge_stems AS known (tenant, stem, chunks) \
                  SELECT $1, * FROM unnest($2::bytea[], $3::bigint[]) ON CONFLICT (tenant, stem) \
                  DO UPDATE SET chunks = known.chunks + EXCLUDED.chunks";
    execute(transaction, upsert, &[&tenant, &stems, &chunks]).await.map(drop)
}

/// Removes documents, and returns how many were stored.
async fn remove_documents(
    transaction: &Transaction<'_>,
    tenant: i64,
    sources: &[&[u8]],
) -> Result<u64, PostgresError> {
    let select = "SELECT chunk.id, chunk.length FROM tool_knowledge_documents AS document \
                  JOIN tool_knowledge_chunks AS chunk ON chunk.document = document.id \
                  WHERE document.tenant = $1 AND document.source = ANY($2)";
    let select = transaction.prepare_cached(select).await?;
    let (mut chunks, mut stems) = (Vec::new(), 0);
    for row in transaction.query(&select, &[&tenant, &sources]).await? {
        chunks.push(row.try_get::<_, i64>(0)?);
        stems += i64::from(row.try_get::<_, i32>(1)?);
    }
    if !chunks.is_empty() {
        remove_chunks(transaction, tenant, &chunks).await?;
        let removed = i64::try_from(chunks.len()).unwrap_or(i64::MAX);
        count(transaction, tenant, -removed, -stems).await?;
    }
    let delete = "DELETE FROM tool_knowledge_documents WHERE tenant = $1 AND source = ANY($2)";
    execute(transaction, delete, &[&tenant, &sources]).await
}

async fn remove_chunks(
    transaction: &Transaction<'_>,
    tenant: i64,
    chunks: &[i64],
) -> Result<(), PostgresError> {
    // First those that no chunk has any more, and then the others.
    for change in [
        "DELETE FROM tool_knowledge_stems AS known USING \
         (SELECT stem, count(*) AS chunks FROM tool_knowledge_postings WHERE chunk = ANY($2) \
          GROUP BY stem) AS removed \
         WHERE known.tenant = $1 AND known.stem = removed.stem AND known.chunks <= removed.chunks",
        "UPDATE tool_knowledge_stems AS known SET chunks = known.chunks - removed.chunks FROM \
         (SELECT stem, count(*) AS chunks FROM tool_knowledge_postings WHERE chunk = ANY($2) \
          GROUP BY stem) AS removed \
         WHERE known.tenant = $1 AND known.stem = removed.stem",
    ] {
        execute(transaction, change, &[&tenant, &chunks]).await?;
    }
    for delete in [
        "DELETE FROM tool_knowledge_postings WHERE chunk = ANY($1)",
        "DELETE FROM tool_knowledge_codes WHERE chunk = ANY($1)",
        "DELETE FROM tool_knowledge_vectors WHERE chunk = ANY($1)",
        "DELETE FROM tool_knowledge_chunks WHERE id = ANY($1)",
    ] {
        execute(transaction, delete, &[&chunks]).await?;
    }
    Ok(())
}

/// Adds to the numbers of a tenant.
async fn count(
    transaction: &Transaction<'_>,
    tenant: i64,
    chunks: i64,
    stems: i64,
) -> Result<(), PostgresError> {
    let update = "UPDATE tool_knowledge_tenants SET chunks = chunks + $2, stems = stems + $3 \
                  WHERE id = $1";
    execute(transaction, update, &[&tenant, &chunks, &stems]).await.map(drop)
}

/// Returns the id of a tenant. Other writers of the tenant wait until the transaction ends.
async fn lock_tenant(transaction: &Transaction<'_>, name: &str) -> Result<i64, PostgresError> {
    if let Some(id) = lock_known_tenant(transaction, name).await? {
        return Ok(id);
    }
    // If another transaction inserts it at the same time, this one waits for its end.
    let insert = "INSERT INTO tool_knowledge_tenants AS known (name) VALUES ($1) \
                  ON CONFLICT (name) DO UPDATE SET name = known.name RETURNING id";
    let insert = transaction.prepare_cached(insert).await?;
    Ok(transaction.query_one(&insert, &[&name.as_bytes()]).await?.try_get(0)?)
}

async fn lock_known_tenant(
    transaction: &Transaction<'_>,
    name: &str,
) -> Result<Option<i64>, PostgresError> {
    let select = "SELECT id FROM tool_knowledge_tenants WHERE name = $1 FOR UPDATE";
    let select = transaction.prepare_cached(select).await?;
    let row = transaction.query_opt(&select, &[&name.as_bytes()]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

async fn execute(
    transaction: &Transaction<'_>,
    statement: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<u64, PostgresError> {
    let statement = transaction.prepare_cached(statement).await?;
    Ok(transaction.execute(&statement, values).await?)
}
