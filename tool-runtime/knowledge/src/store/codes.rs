//! Binary codes of vectors: a first, coarse comparison of very many.
//!
//! The bits of a code are the signs of the vector after a fixed pseudo-random rotation. The share
//! of equal bits of two codes then estimates the angle of the vectors (Charikar, STOC 2002),
//! whatever the distribution of their components is. The rotation is a Hadamard transform between
//! random signs, so it takes `n log n` steps.

/// Rounds of signs and transform. Three mix the components even of a vector of few of them.
const ROUNDS: u64 = 3;

/// Returns the code of a vector: one bit for each dimension, rounded up to a power of two of at
/// least 64.
pub(crate) fn code(vector: &[f32]) -> Vec<u64> {
    let len = vector.len().next_power_of_two().max(64);
    let mut rotated = vec![0.0; len];
    for (rotated, component) in rotated.iter_mut().zip(vector) {
        *rotated = *component;
    }
    for round in 0..ROUNDS {
        for (index, component) in (0_u64..).zip(rotated.iter_mut()) {
            if mix(index ^ (round << 32)) & 1 == 1 {
                *component = -*component;
            }
        }
        transform(&mut rotated);
    }
    rotated
        .chunks(64)
        .map(|bits| bits.iter().rev().fold(0, |code, bit| code << 1 | u64::from(*bit > 0.0)))
        .collect()
}

/// Returns the number of bits that differ. `code` has eight bytes for each number of `query`.
#[cfg(any(feature = "sqlite", test))]
pub(crate) fn distance(query: &[u64], code: &[u8]) -> u32 {
    let words = code.as_chunks::<8>().0;
    query
        .iter()
        .zip(words)
        .map(|(word, bytes)| (word ^ u64::from_le_bytes(*bytes)).count_ones())
        .sum()
}

/// Walsh–Hadamard transform, without the factor that keeps the length.
fn transform(vector: &mut [f32]) {
    let mut step = 1;
    while step < vector.len() {
        for pair in vector.chunks_mut(2 * step) {
            let (first, second) = pair.split_at_mut(step);
            for (left, right) in first.iter_mut().zip(second) {
                (*left, *right) = (*left + *right, *left - *right);
            }
        }
        step *= 2;
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a fixed random number for each
/// index. Stored codes rely on it.
fn mix(index: u64) -> u64 {
    let mut mixed = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::{code, distance};

    fn bytes(code: &[u64]) -> Vec<u8> {
        code.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn distance_grows_with_the_angle() {
        // Vectors between two axes, in steps of 15 degrees.
        let at = |degrees: f32| {
            let mut vector = vec![0.0; 384];
            (vector[3], vector[200]) = degrees.to_radians().sin_cos();
            vector
        };
        let start = code(&at(0.0));
        assert_eq!(start.len(), 8);
        let distances: Vec<u32> = (0_u8..=12)
            .map(|step| distance(&start, &bytes(&code(&at(f32::from(step) * 15.0)))))
            .collect();
        assert_eq!(distances[0], 0);
        // Components that are exactly 0 have no sign.
        assert!(distances[12] > 490, "{distances:?}");
        assert!(distances.is_sorted(), "{distances:?}");
        // A right angle is in the middle.
        assert!(distances[6].abs_diff(256) < 60, "{distances:?}");
    }

    #[test]
    fn codes_never_change() {
        let vector: Vec<f32> = (0_u8..64).map(|n| f32::from(n) - 20.0).collect();
        assert_eq!(code(&vector), [0xc28a_844f_389a_9e46]);
    }
}
