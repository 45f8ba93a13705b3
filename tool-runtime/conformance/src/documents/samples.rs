//! Documents of the checks.

use tool_knowledge::{Digest, DocumentRecord, DocumentStore, IndexedChunk, IndexedDocument};

use crate::Violation;
use crate::violation::{ensure_eq, failed};

pub(super) const EMBEDDER: &str = "test";

pub(super) fn digest(text: &str) -> Digest {
    hmac_sha256::Hash::hash(text.as_bytes())
}

pub(super) fn document(tenant: &str, source: &str, parts: &[(&str, [f32; 2])]) -> IndexedDocument {
    let text: String = parts.iter().map(|(text, _)| *text).collect();
    let mut record = DocumentRecord::new(tenant, source, digest(&text));
    EMBEDDER.clone_into(&mut record.embedder);
    record.metadata.insert("kind".into(), source.len().into());
    let chunk = |(text, vector): &(&str, [f32; 2])| {
        let mut chunk = IndexedChunk::new(0, *text, digest(text));
        chunk.vector = Some(vector.to_vec());
        chunk
    };
    IndexedDocument::new(record, parts.iter().map(chunk).collect())
}

/// The sources of chunks that were found, in order.
pub(super) async fn sources(
    store: &impl DocumentStore,
    ids: &[i64],
) -> Result<Vec<String>, Violation> {
    let chunks = store.chunks(ids).await.map_err(failed("found chunks can be read"))?;
    ensure_eq("found chunks can be read", &chunks.len(), &ids.len())?;
    Ok(chunks.into_iter().map(|chunk| chunk.source).collect())
}
