//! Vectors as stores keep them, and their exact ranking.

#[cfg(any(feature = "postgres", feature = "sqlite"))]
/// The number of vectors with the closest codes that a search compares as a whole, beside four for
/// each result.
const CANDIDATES: usize = 1_000;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
/// The most vectors that a search compares as a whole.
const MAX_CANDIDATES: usize = 20_000;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
/// Returns how many vectors a search compares as a whole.
pub(crate) fn candidate_count(limit: usize) -> usize {
    CANDIDATES.saturating_add(limit.saturating_mul(4)).min(MAX_CANDIDATES)
}

/// The chunks whose vectors are closest to a vector.
pub(crate) struct Nearest<'v> {
    vector: &'v [f32],
    scored: Vec<(f32, i64)>,
}

impl<'v> Nearest<'v> {
    pub(crate) fn new(vector: &'v [f32]) -> Self {
        Self { vector, scored: Vec::new() }
    }

    /// Compares the vector of a chunk.
    pub(crate) fn add(&mut self, chunk: i64, stored: impl Iterator<Item = f32>) {
        let product: f32 =
            stored.zip(self.vector).map(|(stored, component)| stored * component).sum();
        // A vector that is not a number is close to none.
        self.scored.extend(product.is_finite().then_some((product, chunk)));
    }

    /// Returns the `limit` closest chunks, best first.
    pub(crate) fn best(mut self, limit: usize) -> Vec<i64> {
        self.scored.sort_unstable_by(|(product, chunk), (other_product, other)| {
            other_product.total_cmp(product).then(chunk.cmp(other))
        });
        self.scored.truncate(limit);
        self.scored.into_iter().map(|(_, chunk)| chunk).collect()
    }
}
