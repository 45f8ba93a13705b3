//! Fusion of the rankings by words and by vectors.

use std::collections::HashMap;

/// Weights with which the rankings by words and by vectors are merged.
///
/// This is reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): a chunk at rank `r`
/// of a ranking scores `weight / (k + r)`, and the scores of both rankings are added.
///
/// With a good embedding model, equal weights find more than either ranking alone. With a weak one,
/// they find less than words alone: measure with your own queries, and lower the weight of the
/// ranking by vectors.
///
/// ```
/// use tool_runtime::knowledge::Fusion;
///
/// let fusion = Fusion::default().vectors(0.5);
/// assert_eq!((fusion.words, fusion.vectors, fusion.k), (1.0, 0.5, 60.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fusion {
    /// Weight of the ranking by words. Default: 1.
    pub words: f32,
    /// Weight of the ranking by vectors. Default: 1.
    pub vectors: f32,
    /// Constant that lessens the advantage of the first ranks. Default: 60.
    pub k: f32,
}

impl Default for Fusion {
    fn default() -> Self {
        Self { words: 1.0, vectors: 1.0, k: 60.0 }
    }
}

impl Fusion {
    /// Sets the weight of the ranking by words; 0 ignores it.
    #[must_use]
    pub fn words(mut self, weight: f32) -> Self {
        self.words = weight;
        self
    }

    /// Sets the weight of the ranking by vectors; 0 ignores it.
    #[must_use]
    pub fn vectors(mut self, weight: f32) -> Self {
        self.vectors = weight;
        self
    }

    /// Sets the constant that lessens the advantage of the first ranks.
    #[must_use]
    pub fn k(mut self, k: f32) -> Self {
        self.k = k;
        self
    }

    /// Merges two rankings of ids, best first. Ids of equal score keep the order of their ids.
    pub(crate) fn merge(&self, words: &[i64], vectors: &[i64]) -> Vec<(i64, f32)> {
        let mut scores: HashMap<i64, f32> = HashMap::new();
        for (weight, ranking) in [(self.words, words), (self.vectors, vectors)] {
            let mut rank = 0.0;
            for id in ranking {
                rank += 1.0;
                if weight > 0.0 {
                    *scores.entry(*id).or_default() += weight / (self.k + rank);
                }
            }
        }
        let mut merged: Vec<_> = scores.into_iter().collect();
        merged.sort_by(|(id, score), (other, other_score)| {
            other_score.total_cmp(score).then(id.cmp(other))
        });
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::Fusion;

    #[test]
    fn ranks_of_both_rankings_count() {
        let order = |fusion: Fusion, words: &[i64], vectors: &[i64]| {
            fusion.merge(words, vectors).into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        };
        let fusion = Fusion::default();
        assert_eq!(order(fusion, &[1, 2, 3], &[3, 4]), [3, 1, 2, 4]);
        assert_eq!(order(fusion, &[1, 2], &[]), [1, 2]);
        assert_eq!(order(fusion.vectors(0.0), &[1, 2], &[2, 3]), [1, 2]);
        assert_eq!(order(fusion.vectors(3.0), &[1, 2], &[3, 2]), [2, 3, 1]);
        assert_eq!(order(fusion, &[], &[]), [0; 0]);
    }
}
