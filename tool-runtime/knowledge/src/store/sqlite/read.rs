//! Reading of documents, chunks and vectors.

use std::collections::HashMap;

use serde_json::{Map, Value};
use tool_store::rusqlite::{self, OptionalExtension, Row, Transaction};

use super::number;
use super::vector_bytes::from_bytes;
use crate::store::{Digest, DocumentRecord, DocumentStoreError, StoredChunk};

/// The result of an operation that may find a corrupt record.
pub(super) type Found<T> = rusqlite::Result<Result<T, DocumentStoreError>>;

const COLUMNS: &str = "tenant, source, digest, embedder, metadata";

pub(super) fn find(
    transaction: &Transaction<'_>,
    tenant: &str,
    sources: &[String],
) -> Found<HashMap<String, DocumentRecord>> {
    let select =
        format!("SELECT {COLUMNS} FROM knowledge_documents WHERE tenant = ?1 AND source = ?2");
    let mut select = transaction.prepare(&select)?;
    let mut found = HashMap::new();
    for source in sources {
        match select.query_row((tenant, source), record).optional()? {
            None => {}
            Some(Ok(record)) => _ = found.insert(source.clone(), record),
            Some(Err(error)) => return Ok(Err(error)),
        }
    }
    Ok(Ok(found))
}

pub(super) fn list(
    transaction: &Transaction<'_>,
    tenant: &str,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Found<Vec<DocumentRecord>> {
    // The texts are compared by bytes, so all that begin with a prefix follow it.
    let select = format!(
        "SELECT {COLUMNS} FROM knowledge_documents WHERE tenant = ?1 AND source >= ?2 \
         AND (?3 IS NULL OR source > ?3) ORDER BY source LIMIT ?4"
    );
    let mut select = transaction.prepare(&select)?;
    let mut rows = select.query((tenant, prefix, after, number(limit)))?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        match record(row)? {
            Ok(record) if record.source.starts_with(prefix) => records.push(record),
            Ok(_) => break,
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(records))
}

fn record(row: &Row<'_>) -> Found<DocumentRecord> {
    let source: String = row.get(1)?;
    let digest: Vec<u8> = row.get(2)?;
    let metadata: String = row.get(4)?;
    let (Ok(digest), Ok(metadata)) = (Digest::try_from(digest), decode(&metadata)) else {
        return Ok(Err(DocumentStoreError::Corrupt { source_name: source }));
    };
    let embedder = row.get(3)?;
    Ok(Ok(DocumentRecord { tenant: row.get(0)?, source, digest, embedder, metadata }))
}

fn decode(metadata: &str) -> serde_json::Result<Map<String, Value>> {
    serde_json::from_str(metadata)
}

pub(super) fn vectors(
    transaction: &Transaction<'_>,
    embedder: &str,
    digests: &[Digest],
) -> rusqlite::Result<HashMap<Digest, Vec<f32>>> {
    let select = "SELECT vector FROM knowledge_chunks AS chunk \
                  JOIN knowledge_documents AS document ON document.id = chunk.document \
                  JOIN knowledge_vectors AS vector ON vector.chunk = chunk.id \
                  WHERE chunk.digest = ?1 AND document.embedder = ?2 LIMIT 1";
    let mut select = transaction.prepare(select)?;
    let mut found = HashMap::new();
    for digest in digests {
        let stored = |row: &Row<'_>| Ok(from_bytes(row.get_ref(0)?.as_blob()?));
        if let Some(vector) = select.query_row((digest.as_slice(), embedder), stored).optional()? {
            found.insert(*digest, vector);
        }
    }
    Ok(found)
}

pub(super) fn chunks(transaction: &Transaction<'_>, ids: &[i64]) -> Found<Vec<StoredChunk>> {
    let select = "SELECT chunk.id, document.source, document.metadata, chunk.heading, chunk.start, \
                  chunk.text FROM knowledge_chunks AS chunk \
                  JOIN knowledge_documents AS document ON document.id = chunk.document \
                  WHERE chunk.id = ?1";
    let mut select = transaction.prepare(select)?;
    let mut chunks = Vec::with_capacity(ids.len());
    for id in ids {
        let stored = |row: &Row<'_>| {
            let source: String = row.get(1)?;
            let metadata: String = row.get(2)?;
            let Ok(metadata) = decode(&metadata) else { return Ok(Err(source)) };
            let start = usize::try_from(row.get::<_, i64>(4)?).unwrap_or_default();
            let (heading, text) = (row.get(3)?, row.get(5)?);
            Ok(Ok(StoredChunk { id: *id, source, metadata, heading, start, text }))
        };
        match select.query_row([id], stored).optional()? {
            None => {}
            Some(Ok(chunk)) => chunks.push(chunk),
            Some(Err(source_name)) => {
                return Ok(Err(DocumentStoreError::Corrupt { source_name }));
            }
        }
    }
    Ok(Ok(chunks))
}
