//! Searches by vectors: the server compares their codes, and the client the closest vectors.

use tool_runtime::store::PostgresError;
use tool_runtime::store::deadpool_postgres::GenericClient;
use tool_runtime::store::tokio_postgres::types::ToSql;

use super::rows::{code_bits, dimensions_column};
use super::terms::member_digests;
use crate::knowledge::nearest::{Nearest, candidate_count};
use crate::knowledge::store::SearchFilter;

const SELECT: &str = "
    SELECT closest.chunk, vector.vector FROM (
        SELECT code.chunk FROM tool_knowledge_tenants AS tenant
        JOIN tool_knowledge_spaces AS space ON space.tenant = tenant.id
        JOIN tool_knowledge_codes AS code ON code.space = space.id
        JOIN_DOCUMENTS
        WHERE tenant.name = $1 AND space.embedder = $2 AND space.dimensions = $3
        ORDER BY bit_count(code.code # $4::text::varbit) LIMIT $5
    ) AS closest
    JOIN tool_knowledge_vectors AS vector ON vector.chunk = closest.chunk
";

/// Restricts a search to documents whose metadata have all members of `$6`.
const FILTERED: &str = "
    JOIN tool_knowledge_chunks AS chunk ON chunk.id = code.chunk
    JOIN tool_knowledge_documents AS document
        ON document.id = chunk.document AND document.members @> $6::text[]
";

/// Returns the chunks whose vectors are closest to a vector, best first.
pub(super) async fn by_vector(
    client: &impl GenericClient,
    embedder: &str,
    vector: &[f32],
    filter: &SearchFilter,
    limit: usize,
) -> Result<Vec<i64>, PostgresError> {
    let (tenant, embedder) = (filter.tenant.as_bytes(), embedder.as_bytes());
    let (dimensions, code) = (dimensions_column(vector.len()), code_bits(vector));
    let count = i64::try_from(candidate_count(limit)).unwrap_or(i64::MAX);
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&tenant, &embedder, &dimensions, &code, &count];
    let members = member_digests(&filter.metadata);
    let filtered = if members.is_empty() { "" } else { FILTERED };
    if !members.is_empty() {
        values.push(&members);
    }
    let select = client.prepare_cached(&SELECT.replace("JOIN_DOCUMENTS", filtered)).await?;
    let mut nearest = Nearest::new(vector);
    for row in client.query(&select, &values).await? {
        nearest.add(row.try_get(0)?, row.try_get::<_, Vec<f32>>(1)?.into_iter());
    }
    Ok(nearest.best(limit))
}
