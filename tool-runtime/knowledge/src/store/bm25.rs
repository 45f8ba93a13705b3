//! The ranking BM25, with the constants of SQLite's FTS5.

/// Returns the weight of a word that `matches` of all chunks contain.
pub(super) fn weight(chunks: i64, matches: i64) -> f64 {
    let (chunks, matches) = (chunks as f64, matches as f64);
    ((chunks - matches + 0.5) / (matches + 0.5)).ln().max(1e-6)
}

/// Returns the share of its weight that a word gives to a chunk, which has it `count` times among
/// `length` words. The chunks have `mean` words on average.
pub(super) fn share(count: usize, length: usize, mean: f64) -> f64 {
    const K1: f64 = 1.2;
    const B: f64 = 0.75;
    let (count, length) = (count as f64, length as f64);
    count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length / mean))
}
