//! Rules for the documents of a write, which all stores apply before they change anything.

use std::collections::HashSet;

use super::{DocumentStoreError, IndexedDocument};

/// The largest component of a vector: the largest number of half precision, in which indexes of
/// PostgreSQL keep vectors.
pub(crate) const MAX_COMPONENT: f32 = 65_504.0;

/// Returns the first component that is infinite, NaN or too large.
pub(crate) fn invalid_component(vector: &[f32]) -> Option<f32> {
    vector.iter().copied().find(|component| {
        let is_valid = component.abs() <= MAX_COMPONENT; // `false` for NaN
        !is_valid
    })
}

impl IndexedDocument {
    /// Checks that a store may keep the vectors of this document: each component is a number from
    /// -65,504 to 65,504.
    ///
    /// # Errors
    /// [`DocumentStoreError::InvalidVector`] if a component is infinite, NaN or out of this range.
    ///
    /// ```
    /// use tool_runtime::knowledge::{
    ///     DocumentRecord, DocumentStoreError, IndexedChunk, IndexedDocument,
    /// };
    ///
    /// let mut chunk = IndexedChunk::new(0, "Buy milk.", [1; 32]);
    /// chunk.vector = Some(vec![70_000.0, 0.0]);
    /// let document = IndexedDocument::new(DocumentRecord::new("", "note", [2; 32]), vec![chunk]);
    /// let error = document.check_vectors().unwrap_err();
    /// assert!(matches!(error, DocumentStoreError::InvalidVector { .. }));
    /// ```
    pub fn check_vectors(&self) -> Result<(), DocumentStoreError> {
        let vectors = self.chunks.iter().filter_map(|chunk| chunk.vector.as_deref());
        match vectors.filter_map(invalid_component).next() {
            None => Ok(()),
            Some(component) => Err(DocumentStoreError::InvalidVector {
                source_name: self.record.source.clone(),
                component,
            }),
        }
    }
}

/// Checks the documents of a write, and leaves the last one of each tenant and source, in order.
pub(crate) fn checked(
    documents: Vec<IndexedDocument>,
) -> Result<Vec<IndexedDocument>, DocumentStoreError> {
    documents.iter().try_for_each(IndexedDocument::check_vectors)?;
    let mut later = HashSet::new();
    let mut last: Vec<IndexedDocument> = documents
        .into_iter()
        .rev()
        .filter(|it| later.insert((it.record.tenant.clone(), it.record.source.clone())))
        .collect();
    last.reverse();
    Ok(last)
}
