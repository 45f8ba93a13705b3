//! Reading of documents, chunks and vectors.

use std::collections::HashMap;

use serde_json::{Map, Value};
use tool_store::PostgresError;
use tool_store::deadpool_postgres::GenericClient;
use tool_store::tokio_postgres::Row;

use crate::store::{Digest, DocumentRecord, DocumentStoreError, StoredChunk};

/// The result of an operation that may find a corrupt record.
pub(super) type Found<T> = Result<Result<T, DocumentStoreError>, PostgresError>;

const SELECT: &str = "SELECT tenant.name, source, digest, embedder, metadata \
                      FROM tool_knowledge_tenants AS tenant \
                      JOIN tool_knowledge_documents AS document ON document.tenant = tenant.id";

pub(super) async fn find(
    client: &impl GenericClient,
    tenant: &str,
    sources: &[&str],
) -> Found<HashMap<String, DocumentRecord>> {
    let select = format!("{SELECT} WHERE tenant.name = $1 AND source = ANY($2)");
    let select = client.prepare_cached(&select).await?;
    let sources: Vec<&[u8]> = sources.iter().map(|source| source.as_bytes()).collect();
    let rows = client.query(&select, &[&tenant.as_bytes(), &sources]).await?;
    let mut found = HashMap::new();
    for row in &rows {
        match record(row)? {
            Ok(record) => _ = found.insert(record.source.clone(), record),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(found))
}

pub(super) async fn stored_record(
    client: &impl GenericClient,
    tenant: &str,
    source: &str,
) -> Found<Option<DocumentRecord>> {
    Ok(find(client, tenant, &[source]).await?.map(|mut found| found.remove(source)))
}

pub(super) async fn list(
    client: &impl GenericClient,
    tenant: &str,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Found<Vec<DocumentRecord>> {
    // Sources are compared by bytes, so all that begin with a prefix follow it.
    let select = format!(
        "{SELECT} WHERE tenant.name = $1 AND source >= $2 \
         AND ($3::bytea IS NULL OR source > $3) ORDER BY source LIMIT $4"
    );
    let select = client.prepare_cached(&select).await?;
    let (tenant, prefix) = (tenant.as_bytes(), prefix.as_bytes());
    let (after, limit) = (after.map(str::as_bytes), i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = client.query(&select, &[&tenant, &prefix, &after, &limit]).await?;
    let mut records = Vec::new();
    for row in &rows {
        match record(row)? {
            Ok(record) if record.source.as_bytes().starts_with(prefix) => records.push(record),
            Ok(_) => break,
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(records))
}

fn record(row: &Row) -> Found<DocumentRecord> {
    let decode = || {
        let text = |place| text(row, place);
        let digest = row.try_get::<_, &[u8]>(2).ok()?.try_into().ok()?;
        let mut record = DocumentRecord::new(text(0)?, text(1)?, digest);
        record.embedder = text(3)?;
        record.metadata = metadata(row, 4)?;
        Some(record)
    };
    Ok(match decode() {
        Some(record) => Ok(record),
        None => Err(corrupt(row.try_get(1)?)),
    })
}

fn text(row: &Row, column: usize) -> Option<String> {
    String::from_utf8(row.try_get(column).ok()?).ok()
}

fn metadata(row: &Row, column: usize) -> Option<Map<String, Value>> {
    serde_json::from_slice(row.try_get(column).ok()?).ok()
}

fn corrupt(source: &[u8]) -> DocumentStoreError {
    DocumentStoreError::Corrupt { source_name: String::from_utf8_lossy(source).into_owned() }
}

pub(super) async fn vectors(
    client: &impl GenericClient,
    embedder: &str,
    digests: &[Digest],
) -> Result<HashMap<Digest, Vec<f32>>, PostgresError> {
    let select = "SELECT DISTINCT ON (chunk.digest) chunk.digest, vector.vector \
                  FROM tool_knowledge_chunks AS chunk \
                  JOIN tool_knowledge_documents AS document ON document.id = chunk.document \
                  JOIN tool_knowledge_vectors AS vector ON vector.chunk = chunk.id \
                  WHERE chunk.digest = ANY($1) AND document.embedder = $2";
    let select = client.prepare_cached(select).await?;
    let digests: Vec<&[u8]> = digests.iter().map(Digest::as_slice).collect();
    let rows = client.query(&select, &[&digests, &embedder.as_bytes()]).await?;
    let mut found = HashMap::new();
    for row in &rows {
        let digest: &[u8] = row.try_get(0)?;
        if let Ok(digest) = digest.try_into() {
            found.insert(digest, row.try_get(1)?);
        }
    }
    Ok(found)
}

pub(super) async fn chunks(client: &impl GenericClient, ids: &[i64]) -> Found<Vec<StoredChunk>> {
    let select = "SELECT chunk.id, document.source, document.metadata, chunk.heading, \
                  chunk.start, chunk.text \
                  FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, place) \
                  JOIN tool_knowledge_chunks AS chunk ON chunk.id = wanted.id \
                  JOIN tool_knowledge_documents AS document ON document.id = chunk.document \
                  ORDER BY wanted.place";
    let select = client.prepare_cached(select).await?;
    let mut chunks = Vec::with_capacity(ids.len());
    for row in client.query(&select, &[&ids]).await? {
        let decode = || {
            let text = |place| text(&row, place);
            let start = usize::try_from(row.try_get::<_, i64>(4).ok()?).ok()?;
            let mut chunk = StoredChunk::new(row.try_get(0).ok()?, text(1)?, start, text(5)?);
            chunk.heading = text(3)?;
            chunk.metadata = metadata(&row, 2)?;
            Some(chunk)
        };
        match decode() {
            Some(chunk) => chunks.push(chunk),
            None => return Ok(Err(corrupt(row.try_get(1)?))),
        }
    }
    Ok(Ok(chunks))
}
