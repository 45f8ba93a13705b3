use crate::codec::DecodeError;
use tool_core::models::Embeddings;

/// Checks that the vectors are those of `count` texts, and scales them to the length 1.
///
/// Not every provider scales them. Gemini, for instance, does not scale shortened vectors.
pub(crate) fn unit_vectors(
    mut embeddings: Embeddings,
    count: usize,
    dimensions: Option<usize>,
) -> Result<Embeddings, DecodeError> {
    let vectors = &mut embeddings.vectors;
    if vectors.len() != count {
        let reason = format!("{} vectors for {count} texts", vectors.len());
        return Err(DecodeError::malformed(reason));
    }
    let first = vectors.first().map_or(0, Vec::len);
    let expected = dimensions.unwrap_or(first);
    for (index, vector) in vectors.iter_mut().enumerate() {
        let malformed = |problem: String| {
            DecodeError::malformed(format!("vector {} of {count} {problem}", index + 1))
        };
        if vector.len() != expected {
            let len = vector.len();
            return Err(malformed(format!("has {len} dimensions, expected {expected}")));
        }
        if let Some(number) = vector.iter().find(|number| !number.is_finite()) {
            return Err(malformed(format!("contains {number}")));
        }
        let squares = vector.iter().map(|number| f64::from(*number).powi(2));
        let norm = squares.sum::<f64>().sqrt();
        if norm == 0.0 {
            return Err(malformed("contains only zeros".into()));
        }
        for number in vector {
            *number = (f64::from(*number) / norm) as f32;
        }
    }
    Ok(embeddings)
}

#[cfg(test)]
mod tests {
    use super::unit_vectors;
    use crate::codec::DecodeError;
    use tool_core::models::Embeddings;

    #[test]
    fn vectors_are_scaled_to_the_length_1() {
        for (vector, expected) in [
            (vec![3.0, 4.0], vec![0.6, 0.8]),
            (vec![-2.0], vec![-1.0]),
            (vec![0.0, 1.0], vec![0.0, 1.0]),
            (vec![f32::MAX, 0.0, -f32::MAX], vec![0.5_f32.sqrt(), 0.0, -(0.5_f32.sqrt())]),
            (vec![1e-45, 0.0], vec![1.0, 0.0]),
        ] {
            let scaled = unit_vectors(Embeddings::new(vec![vector]), 1, None).unwrap();
            assert_eq!(scaled.vectors, [expected]);
        }
    }

    #[test]
    fn vectors_that_cannot_be_those_of_the_texts_are_refused() {
        for (vectors, dimensions, reason) in [
            (vec![], None, "0 vectors for 2 texts"),
            (vec![vec![1.0]], None, "1 vectors for 2 texts"),
            (vec![vec![1.0]; 3], None, "3 vectors for 2 texts"),
            (vec![vec![1.0], vec![1.0, 2.0]], None, "vector 2 of 2 has 2 dimensions, expected 1"),
            (vec![vec![1.0]; 2], Some(2), "vector 1 of 2 has 1 dimensions, expected 2"),
            (vec![vec![], vec![]], None, "vector 1 of 2 contains only zeros"),
            (vec![vec![1.0], vec![0.0]], None, "vector 2 of 2 contains only zeros"),
            (vec![vec![1.0], vec![f32::NAN]], None, "vector 2 of 2 contains NaN"),
            (vec![vec![f32::INFINITY], vec![1.0]], None, "vector 1 of 2 contains inf"),
            (vec![vec![1.0], vec![f32::NEG_INFINITY]], None, "vector 2 of 2 contains -inf"),
        ] {
            let checked = unit_vectors(Embeddings::new(vectors), 2, dimensions);
            assert_eq!(checked, Err(DecodeError::malformed(reason)));
        }
    }
}
