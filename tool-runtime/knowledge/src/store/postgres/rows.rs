//! The rows of documents, computed before the transaction that writes them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::terms::{member_digests, stem_counts};
use crate::store::codes;
use crate::store::{DocumentRecord, IndexedChunk, IndexedDocument};

/// The documents of one tenant.
pub(super) struct TenantRows {
    pub(super) tenant: String,
    pub(super) documents: Vec<DocumentRow>,
}

/// A document with its metadata as JSON.
pub(super) struct DocumentRow {
    pub(super) record: DocumentRecord,
    pub(super) metadata: String,
    /// The digests of its members, joined by commas.
    pub(super) members: String,
    pub(super) chunks: Vec<ChunkRow>,
}

/// A chunk with the stems that find it.
pub(super) struct ChunkRow {
    pub(super) chunk: IndexedChunk,
    pub(super) stems: BTreeMap<String, i32>,
    /// The number of stems.
    pub(super) length: i32,
    pub(super) vector: Option<VectorRow>,
}

/// A vector and its code.
pub(super) struct VectorRow {
    pub(super) components: Vec<f32>,
    pub(super) code: String,
}

/// Computes the rows of documents by tenant, in the order of their names: concurrent writers lock
/// them in one order. No two documents may have the same tenant and source.
pub(super) fn rows_of(documents: Vec<IndexedDocument>) -> Vec<TenantRows> {
    let mut tenants: BTreeMap<String, Vec<DocumentRow>> = BTreeMap::new();
    for document in documents {
        let tenant = document.record.tenant.clone();
        tenants.entry(tenant).or_default().push(DocumentRow::new(document));
    }
    tenants.into_iter().map(|(tenant, documents)| TenantRows { tenant, documents }).collect()
}

impl DocumentRow {
    pub(super) fn new(document: IndexedDocument) -> Self {
        let IndexedDocument { record, chunks } = document;
        let metadata = Value::Object(record.metadata.clone()).to_string();
        let members = member_digests(&record.metadata).join(",");
        let chunks = chunks.into_iter().map(ChunkRow::new).collect();
        Self { record, metadata, members, chunks }
    }
}

impl ChunkRow {
    fn new(mut chunk: IndexedChunk) -> Self {
        let stems = stem_counts(&format!("{}\n{}", chunk.heading, chunk.text));
        let length = stems.values().fold(0, |sum: i32, count| sum.saturating_add(*count));
        let vector = chunk.vector.take();
        let vector =
            vector.map(|components| VectorRow { code: code_bits(&components), components });
        Self { chunk, stems, length, vector }
    }
}

/// Returns the length of a vector as the type of its column.
pub(super) fn dimensions_column(dimensions: usize) -> i32 {
    i32::try_from(dimensions).unwrap_or(i32::MAX)
}

/// Returns the bits of the code of a vector as `0` and `1`: the client has no type for bits.
pub(super) fn code_bits(vector: &[f32]) -> String {
    codes::code(vector).iter().map(|word| format!("{word:064b}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{code_bits, rows_of};
    use crate::store::{DocumentRecord, IndexedChunk, IndexedDocument};

    #[test]
    fn documents_are_sorted_by_tenant() {
        let document = |tenant: &str, source: &str, text: &str| {
            let chunk = IndexedChunk::new(0, text, [0; 32]);
            IndexedDocument::new(DocumentRecord::new(tenant, source, [0; 32]), vec![chunk])
        };
        let rows = rows_of(vec![
            document("b", "one", "first"),
            document("a", "one", "red fox and red hen"),
            document("b", "two", "second"),
        ]);
        let tenants = rows.iter().map(|it| (it.tenant.as_str(), it.documents.len()));
        assert_eq!(tenants.collect::<Vec<_>>(), [("a", 1), ("b", 2)]);
        assert_eq!(rows[1].documents[1].chunks[0].chunk.text, "second");
        let chunk = &rows[0].documents[0].chunks[0];
        assert_eq!((chunk.length, chunk.stems["red"], chunk.stems.len()), (5, 2, 4));
    }

    #[test]
    fn code_has_a_bit_for_each_dimension() {
        let code = code_bits(&[0.5; 65]);
        assert_eq!(code.len(), 128);
        assert!(code.chars().all(|bit| "01".contains(bit)));
    }
}
