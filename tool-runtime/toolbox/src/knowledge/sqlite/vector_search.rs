//! Searches by vectors.

use tool_runtime::store::rusqlite::{self, OptionalExtension, Transaction};

use super::blocks::{self, Space, from_bytes};
use super::filter::passing_chunks;
use crate::knowledge::store::SearchFilter;

/// The number of vectors whose codes are closest that are compared as a whole.
const CANDIDATES: usize = 1_000;

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
    let count = CANDIDATES.saturating_add(limit.saturating_mul(4)).min(20_000);
    let candidates = blocks::closest(transaction, space, vector, allowed.as_ref(), count)?;
    let mut select =
        transaction.prepare("SELECT vector FROM knowledge_vectors WHERE chunk = ?1")?;
    let mut scored = Vec::with_capacity(candidates.len());
    for chunk in candidates {
        let stored = |row: &rusqlite::Row<'_>| Ok(from_bytes(row.get_ref(0)?.as_blob()?));
        if let Some(stored) = select.query_row([chunk], stored).optional()? {
            let product: f32 =
                stored.iter().zip(vector).map(|(stored, component)| stored * component).sum();
            // A vector that is not a number is close to none.
            scored.extend(product.is_finite().then_some((product, chunk)));
        }
    }
    scored.sort_unstable_by(|(product, chunk), (other_product, other)| {
        other_product.total_cmp(product).then(chunk.cmp(other))
    });
    scored.truncate(limit);
    Ok(scored.into_iter().map(|(_, chunk)| chunk).collect())
}
