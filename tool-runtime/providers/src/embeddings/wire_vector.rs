use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A vector in a response: a list of numbers, or the base64 text of little-endian floats of 32
/// bits.
pub(crate) struct WireVector(pub(crate) Vec<f32>);

impl<'de> Deserialize<'de> for WireVector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorVisitor)
    }
}

struct VectorVisitor;

impl<'de> Visitor<'de> for VectorVisitor {
    type Value = WireVector;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers or base64")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<WireVector, A::Error> {
        let mut vector = Vec::new();
        while let Some(number) = numbers.next_element()? {
            vector.push(number);
        }
        Ok(WireVector(vector))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<WireVector, E> {
        let bytes =
            STANDARD.decode(text).map_err(|error| E::custom(format!("invalid base64: {error}")))?;
        let (numbers, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(E::custom(format!("{} bytes in base64 are no floats", bytes.len())));
        }
        Ok(WireVector(numbers.iter().copied().map(f32::from_le_bytes).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::WireVector;

    #[test]
    fn vectors_are_numbers_or_base64() {
        for (wire, expected) in [
            ("[]", Ok(vec![])),
            ("[1, -0.5, 2e-3]", Ok(vec![1.0, -0.5, 0.002])),
            (r#""""#, Ok(vec![])),
            (r#""AACAPwAAAL8=""#, Ok(vec![1.0, -0.5])),
            (r#""AACAPwAAAA==""#, Err("7 bytes in base64 are no floats")),
            (r#""AACAPw""#, Err("invalid base64")),
            (r#""(1, 2)""#, Err("invalid base64")),
            ("[1, null]", Err("invalid type: null, expected f32")),
            (r#"[1, "2"]"#, Err("invalid type: string")),
            ("[NaN]", Err("expected value")),
            ("[1e999]", Err("number out of range")),
            ("null", Err("expected a list of numbers or base64")),
            ("7", Err("expected a list of numbers or base64")),
            (r#"{"0": 1}"#, Err("expected a list of numbers or base64")),
        ] {
            match (serde_json::from_str::<WireVector>(wire), expected) {
                (Ok(WireVector(vector)), expected) => assert_eq!(Ok(vector), expected, "{wire}"),
                (Err(error), Err(reason)) => {
                    assert!(error.to_string().contains(reason), "{wire}: {error}");
                }
                (Err(error), Ok(_)) => panic!("{wire}: {error}"),
            }
        }
    }
}
