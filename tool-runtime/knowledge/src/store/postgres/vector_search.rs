//! Searches by vectors.
//!
//! If there is an index of `pgvector` (`pgvector.rs`), it finds the candidates. Otherwise, and
//! if few vectors pass the filter, the server compares the codes of all vectors. The client
//! compares the vectors of the candidates.

use tool_store::PostgresError;
use tool_store::deadpool_postgres::Client;
use tool_store::tokio_postgres::Row;
use tool_store::tokio_postgres::types::{ToSql, Type};

use super::pgvector::{Space, VectorIndex, spaces};
use super::rows::code_bits;
use super::terms::member_digests;
use crate::store::SearchFilter;
use crate::store::nearest::{Nearest, candidate_count};

/// The fewest candidates of an index. They are closer than those by codes.
const INDEX_CANDIDATES: usize = 200;

/// The most vectors that an index compares before it looks whether they pass the filter.
const MAX_EFFORT: usize = 1_000;

const BY_CODES: &str = "
    SELECT closest.chunk, vector.vector FROM (
        SELECT code.chunk FROM tool_knowledge_codes AS code
        JOIN_DOCUMENTS
        WHERE code.space = $1
        ORDER BY bit_count(code.code # $2::text::varbit) LIMIT $3
    ) AS closest
    JOIN tool_knowledge_vectors AS vector ON vector.chunk = closest.chunk
";

/// Restricts a search to documents whose metadata have all members of a parameter.
fn documents_join(from: &str, parameter: usize) -> String {
    format!(
        "JOIN tool_knowledge_chunks AS chunk ON chunk.id = {from}.chunk \
         JOIN tool_knowledge_documents AS document \
         ON document.id = chunk.document AND document.members @> ${parameter}::text[]"
    )
}

/// Returns the chunks whose vectors are closest to a vector, best first.
pub(super) async fn by_vector(
    client: &mut Client,
    embedder: &str,
    vector: &[f32],
    filter: &SearchFilter,
    limit: usize,
) -> Result<Vec<i64>, PostgresError> {
    let space = spaces(client, &filter.tenant, embedder, Some(vector.len())).await?.pop();
    let Some(space) = space else { return Ok(Vec::new()) };
    let members = member_digests(&filter.metadata);
    if let Some(index) = space.index_for(vector) {
        let found = by_index(client, &index, vector, &members, limit).await?;
        // An index ends a search early if few vectors pass the filter.
        if found.len() >= limit {
            return Ok(found);
        }
    }
    by_codes(client, &space, vector, &members, limit).await
}

async fn by_codes(
    client: &Client,
    space: &Space,
    vector: &[f32],
    members: &Vec<String>,
    limit: usize,
) -> Result<Vec<i64>, PostgresError> {
    let (code, count) = (code_bits(vector), as_limit(candidate_count(limit)));
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&space.id, &code, &count];
    let mut documents = String::new();
    if !members.is_empty() {
        documents = documents_join("code", 4);
        values.push(members);
    }
    let select = client.prepare_cached(&BY_CODES.replace("JOIN_DOCUMENTS", &documents)).await?;
    closest(&client.query(&select, &values).await?, vector, limit)
}

async fn by_index(
    client: &mut Client,
    index: &VectorIndex,
    vector: &[f32],
    members: &Vec<String>,
    limit: usize,
) -> Result<Vec<i64>, PostgresError> {
    let count = limit.saturating_mul(2).max(INDEX_CANDIDATES);
    let (components, effort) = (vector.to_vec(), count.min(MAX_EFFORT));
    let mut values: Vec<(&(dyn ToSql + Sync), Type)> = vec![(&components, Type::FLOAT4_ARRAY)];
    let mut documents = String::new();
    if !members.is_empty() {
        documents = documents_join("stored", 2);
        values.push((members, Type::TEXT_ARRAY));
    }
    // The space and the limit are no parameters, so that each plan uses the index of the space.
    let (space, count) = (index.space, as_limit(count));
    let (expression, operator) = (index.expression(), index.operator());
    let select = format!(
        "SELECT stored.chunk, stored.vector FROM tool_knowledge_vectors AS stored {documents} \
         WHERE stored.space = {space} \
         ORDER BY (stored.{expression}) {operator} ($1::{vector_type}) LIMIT {count}",
        vector_type = index.vector_type(),
    );
    let transaction = client.transaction().await?;
    // If vectors do not pass the filter, the index looks for further ones.
    let settings = format!(
        "SET LOCAL hnsw.ef_search = {effort}; SET LOCAL hnsw.iterative_scan = strict_order"
    );
    transaction.batch_execute(&settings).await?;
    let rows = transaction.query_typed(&select, &values).await?;
    transaction.commit().await?;
    closest(&rows, vector, limit)
}

fn closest(rows: &[Row], vector: &[f32], limit: usize) -> Result<Vec<i64>, PostgresError> {
    let mut nearest = Nearest::new(vector);
    for row in rows {
        nearest.add(row.try_get(0)?, row.try_get::<_, Vec<f32>>(1)?.into_iter());
    }
    Ok(nearest.best(limit))
}

fn as_limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
