//! Inserts of documents: many rows in each statement, as one array for each column.

use std::collections::HashMap;

use tool_store::PostgresError;
use tool_store::deadpool_postgres::Transaction;
use tool_store::tokio_postgres::types::ToSql;

use super::columns::{
    ChunkColumns, DocumentColumns, Numbered, PostingColumns, by_key, chunks_of, renumbered,
};
use super::rows::{DocumentRow, VectorRow, dimensions_column};

/// The most chunks, and the most vectors, of a statement.
const CHUNKS: usize = 1_000;

/// Inserts documents of a tenant, none of which is stored.
pub(super) async fn insert(
    transaction: &Transaction<'_>,
    tenant: i64,
    documents: &[DocumentRow],
) -> Result<(), PostgresError> {
    let ids = insert_documents(transaction, tenant, documents).await?;
    let chunks = chunks_of(documents, &ids);
    let chunk_ids = next_chunk_ids(transaction, chunks.len()).await?;
    for (ids, chunks) in chunk_ids.chunks(CHUNKS).zip(chunks.chunks(CHUNKS)) {
        insert_chunks(transaction, ids, chunks).await?;
    }
    let chunks = renumbered(&chunks, &chunk_ids);
    insert_postings(transaction, tenant, &chunks).await?;
    insert_vectors(transaction, tenant, documents, &chunks).await
}

/// Inserts documents, and returns their ids by their sources.
async fn insert_documents(
    transaction: &Transaction<'_>,
    tenant: i64,
    documents: &[DocumentRow],
) -> Result<HashMap<Vec<u8>, i64>, PostgresError> {
    let insert = "INSERT INTO tool_knowledge_documents \
                  (tenant, source, digest, embedder, metadata, members) \
                  SELECT $1, source, digest, embedder, metadata, string_to_array(members, ',') \
                  FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[]) \
                  AS new (source, digest, embedder, metadata, members) RETURNING source, id";
    let insert = transaction.prepare_cached(insert).await?;
    let DocumentColumns { sources, digests, embedders, metadata, members } =
        DocumentColumns::new(documents);
    let values: [&(dyn ToSql + Sync); 6] =
        [&tenant, &sources, &digests, &embedders, &metadata, &members];
    let rows = transaction.query(&insert, &values).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

async fn next_chunk_ids(
    transaction: &Transaction<'_>,
    count: usize,
) -> Result<Vec<i64>, PostgresError> {
    let select = "SELECT nextval('tool_knowledge_chunk_ids') FROM generate_series(1, $1::bigint)";
    let select = transaction.prepare_cached(select).await?;
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = transaction.query(&select, &[&count]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Inserts chunks, each with the id of its document.
async fn insert_chunks(
    transaction: &Transaction<'_>,
    ids: &[i64],
    chunks: &[Numbered<'_>],
) -> Result<(), PostgresError> {
    let insert = "INSERT INTO tool_knowledge_chunks \
                  (id, document, heading, start, text, digest, length) \
                  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], \
                  $5::bytea[], $6::bytea[], $7::integer[])";
    let insert = transaction.prepare_cached(insert).await?;
    let ChunkColumns { documents, headings, starts, texts, digests, lengths } =
        ChunkColumns::new(chunks);
    let values: [&(dyn ToSql + Sync); 7] =
        [&ids, &documents, &headings, &starts, &texts, &digests, &lengths];
    transaction.execute(&insert, &values).await?;
    Ok(())
}

async fn insert_postings(
    transaction: &Transaction<'_>,
    tenant: i64,
    chunks: &[Numbered<'_>],
) -> Result<(), PostgresError> {
    let insert = "INSERT INTO tool_knowledge_postings (tenant, stem, chunk, count, length) \
                  SELECT $1, * FROM \
                  unnest($2::bytea[], $3::bigint[], $4::integer[], $5::integer[])";
    let insert = transaction.prepare_cached(insert).await?;
    for PostingColumns { stems, chunks, counts, lengths } in PostingColumns::parts(chunks) {
        transaction.execute(&insert, &[&tenant, &stems, &chunks, &counts, &lengths]).await?;
    }
    Ok(())
}

async fn insert_vectors(
    transaction: &Transaction<'_>,
    tenant: i64,
    documents: &[DocumentRow],
    chunks: &[Numbered<'_>],
) -> Result<(), PostgresError> {
    for ((embedder, dimensions), vectors) in by_key(documents, chunks) {
        let space = space_id(transaction, tenant, embedder, dimensions).await?;
        for vectors in vectors.chunks(CHUNKS) {
            let ids: Vec<i64> = vectors.iter().map(|(id, _)| *id).collect();
            insert_components(transaction, space, dimensions, &ids, vectors).await?;
            let codes: Vec<&str> = vectors.iter().map(|(_, it)| it.code.as_str()).collect();
            let insert = "INSERT INTO tool_knowledge_codes (chunk, space, code) \
                          SELECT chunk, $1, code::varbit FROM \
                          unnest($2::bigint[], $3::text[]) AS new (chunk, code)";
            let insert = transaction.prepare_cached(insert).await?;
            transaction.execute(&insert, &[&space, &ids, &codes]).await?;
        }
    }
    Ok(())
}

/// Inserts the components of all vectors as one array, because an array of arrays has no rows.
async fn insert_components(
    transaction: &Transaction<'_>,
    space: i64,
    dimensions: usize,
    ids: &[i64],
    vectors: &[(i64, &VectorRow)],
) -> Result<(), PostgresError> {
    let components = vectors.iter().flat_map(|(_, vector)| vector.components.iter().copied());
    let components: Vec<f32> = components.collect();
    let dimensions = i64::try_from(dimensions).unwrap_or(i64::MAX);
    let insert = "INSERT INTO tool_knowledge_vectors (chunk, space, vector) \
                  SELECT chunk, $1, ($3::real[])[((place - 1) * $4 + 1)::int : (place * $4)::int] \
                  FROM unnest($2::bigint[]) WITH ORDINALITY AS new (chunk, place)";
    let insert = transaction.prepare_cached(insert).await?;
    transaction.execute(&insert, &[&space, &ids, &components, &dimensions]).await?;
    Ok(())
}

/// Returns the id of the space of vectors, which the lock of the tenant protects.
async fn space_id(
    transaction: &Transaction<'_>,
    tenant: i64,
    embedder: &str,
    dimensions: usize,
) -> Result<i64, PostgresError> {
    let insert = "INSERT INTO tool_knowledge_spaces AS known (tenant, embedder, dimensions) \
                  VALUES ($1, $2, $3) ON CONFLICT (tenant, embedder, dimensions) \
                  DO UPDATE SET dimensions = known.dimensions RETURNING id";
    let insert = transaction.prepare_cached(insert).await?;
    let dimensions = dimensions_column(dimensions);
    let row = transaction.query_one(&insert, &[&tenant, &embedder.as_bytes(), &dimensions]).await?;
    Ok(row.try_get(0)?)
}
