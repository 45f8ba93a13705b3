//! Searches by words: BM25, which PostgreSQL does not have, over the numbers of stems.
//!
//! All numbers are those of the tenant: what others have changes no ranking.

use tool_store::PostgresError;
use tool_store::deadpool_postgres::GenericClient;

use super::terms::{distinct_query_stems, member_digests};
use crate::store::SearchFilter;

/// How many chunks may contain the stems of a query, so that its time is bounded. Stems that are
/// too frequent are left out, beginning with the most frequent one: they say the least.
const MATCHES: i64 = 200_000;

/// One statement, so that all numbers are of one moment. The constants of BM25 are those of SQLite:
/// `k1` is 1.2, and `b` is 0.75.
const SELECT: &str = "
    WITH wanted AS (
        SELECT tenant.id AS tenant, known.stem,
            ln(1 + (tenant.chunks - known.chunks + 0.5::float8) / (known.chunks + 0.5)) AS weight,
            tenant.stems::float8 / tenant.chunks AS mean_length,
            sum(known.chunks) OVER rarest AS matches, row_number() OVER rarest AS place
        FROM tool_knowledge_tenants AS tenant
        JOIN tool_knowledge_stems AS known ON known.tenant = tenant.id
        WHERE tenant.name = $1 AND known.stem = ANY($2) AND tenant.chunks >= known.chunks
        WINDOW rarest AS (ORDER BY known.chunks, known.stem)
    )
    SELECT posting.chunk FROM wanted
    JOIN tool_knowledge_postings AS posting
        ON posting.tenant = wanted.tenant AND posting.stem = wanted.stem
    JOIN_DOCUMENTS
    WHERE (wanted.matches <= $3::bigint OR wanted.place = 1)
    GROUP BY posting.chunk
    ORDER BY sum(
        weight * posting.count * 2.2 / (
            posting.count + 1.2::float8 * (0.25 + 0.75::float8 * posting.length / mean_length)
        )
    ) DESC, posting.chunk
    LIMIT $4
";

/// Restricts a search to documents whose metadata have all members of `$5`.
const FILTERED: &str = "
    JOIN tool_knowledge_chunks AS chunk ON chunk.id = posting.chunk
    JOIN tool_knowledge_documents AS document
        ON document.id = chunk.document AND document.members @> $5::text[]
";

/// Returns the chunks that contain stems of a query, best first.
pub(super) async fn by_words(
    client: &impl GenericClient,
    query: &str,
    filter: &SearchFilter,
    limit: usize,
) -> Result<Vec<i64>, PostgresError> {
    let stems = distinct_query_stems(query);
    if stems.is_empty() {
        return Ok(Vec::new());
    }
    let stems: Vec<&[u8]> = stems.iter().map(String::as_bytes).collect();
    let (tenant, limit) = (filter.tenant.as_bytes(), i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = if filter.metadata.is_empty() {
        let select = client.prepare_cached(&SELECT.replace("JOIN_DOCUMENTS", "")).await?;
        client.query(&select, &[&tenant, &stems, &MATCHES, &limit]).await?
    } else {
        let select = client.prepare_cached(&SELECT.replace("JOIN_DOCUMENTS", FILTERED)).await?;
        let members = member_digests(&filter.metadata);
        client.query(&select, &[&tenant, &stems, &MATCHES, &limit, &members]).await?
    };
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
