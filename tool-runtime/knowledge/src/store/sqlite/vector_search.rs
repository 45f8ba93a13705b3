//! Searches by vectors.

use tool_store::rusqlite::{self, OptionalExtension, Transaction};

use super::blocks::{self, Space};
use super::filter::passing_chunks;
use super::vector_bytes::components;
use crate::store::SearchFilter;
use crate::store::nearest::{Nearest, candidate_count};

/// Returns the chunks whose vectors are closest to a vector, best first.
pub(super) fn by_vector(
    transaction: &Transaction<'_>,
    embedder: &str,
    vector: &[f32],
    filter: &SearchFilter,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let allowed = passing_chunks(transaction, filter)?;
    let space = Space { tenant: &filter.tenant, embedder, dimensions: vector.len() };
    let count = candidate_count(limit);
    let candidates = blocks::closest(transaction, space, vector, allowed.as_ref(), count)?;
    let mut select =
        transaction.prepare("SELECT vector FROM knowledge_vectors WHERE chunk = ?1")?;
    let mut nearest = Nearest::new(vector);
    for chunk in candidates {
        let compare = |row: &rusqlite::Row<'_>| {
            nearest.add(chunk, components(row.get_ref(0)?.as_blob()?));
            Ok(())
        };
        select.query_row([chunk], compare).optional()?;
    }
    Ok(nearest.best(limit))
}
