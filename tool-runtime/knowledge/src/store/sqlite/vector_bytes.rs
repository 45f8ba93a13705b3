//! Vectors as the bytes of a column.

/// Encodes a vector as 32-bit floats, least significant byte first.
pub(super) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|component| component.to_le_bytes()).collect()
}

/// Decodes a vector.
pub(super) fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    components(bytes).collect()
}

/// Decodes the components of a vector.
pub(super) fn components(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}
