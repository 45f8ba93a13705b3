//! The columns of rows: an array of each for one statement.

use std::collections::{BTreeMap, HashMap};

use super::rows::{ChunkRow, DocumentRow, VectorRow};

/// The stems after which a statement has enough. Those of a chunk are not divided.
const POSTINGS: usize = 20_000;

/// A chunk with an id: its own, or that of its document.
pub(super) type Numbered<'d> = (i64, &'d ChunkRow);

/// The columns of documents.
#[derive(Default)]
pub(super) struct DocumentColumns<'d> {
    pub(super) sources: Vec<&'d [u8]>,
    pub(super) digests: Vec<&'d [u8]>,
    pub(super) embedders: Vec<&'d [u8]>,
    pub(super) metadata: Vec<&'d [u8]>,
    pub(super) members: Vec<&'d str>,
}

impl<'d> DocumentColumns<'d> {
    pub(super) fn new(documents: &'d [DocumentRow]) -> Self {
        let mut columns = Self::default();
        for document in documents {
            columns.sources.push(document.record.source.as_bytes());
            columns.digests.push(&document.record.digest);
            columns.embedders.push(document.record.embedder.as_bytes());
            columns.metadata.push(document.metadata.as_bytes());
            columns.members.push(&document.members);
        }
        columns
    }
}

/// Returns the chunks of documents, each with the id of its document.
pub(super) fn chunks_of<'d>(
    documents: &'d [DocumentRow],
    ids: &HashMap<Vec<u8>, i64>,
) -> Vec<Numbered<'d>> {
    let mut chunks = Vec::new();
    for document in documents {
        let id = ids.get(document.record.source.as_bytes()).copied().unwrap_or_default();
        chunks.extend(document.chunks.iter().map(|chunk| (id, chunk)));
    }
    chunks
}

/// Replaces the ids of the documents of chunks by their own ids.
pub(super) fn renumbered<'d>(chunks: &[Numbered<'d>], ids: &[i64]) -> Vec<Numbered<'d>> {
    ids.iter().zip(chunks).map(|(id, (_, chunk))| (*id, *chunk)).collect()
}

/// The columns of chunks.
#[derive(Default)]
pub(super) struct ChunkColumns<'d> {
    pub(super) documents: Vec<i64>,
    pub(super) headings: Vec<&'d [u8]>,
    pub(super) starts: Vec<i64>,
    pub(super) texts: Vec<&'d [u8]>,
    pub(super) digests: Vec<&'d [u8]>,
    pub(super) lengths: Vec<i32>,
}

impl<'d> ChunkColumns<'d> {
    pub(super) fn new(chunks: &[(i64, &'d ChunkRow)]) -> Self {
        let mut columns = Self::default();
        for (document, row) in chunks {
            columns.documents.push(*document);
            columns.headings.push(row.chunk.heading.as_bytes());
            columns.starts.push(i64::try_from(row.chunk.start).unwrap_or(i64::MAX));
            columns.texts.push(row.chunk.text.as_bytes());
            columns.digests.push(&row.chunk.digest);
            columns.lengths.push(row.length);
        }
        columns
    }
}

/// The columns of postings.
#[derive(Default)]
pub(super) struct PostingColumns<'d> {
    pub(super) stems: Vec<&'d [u8]>,
    pub(super) chunks: Vec<i64>,
    pub(super) counts: Vec<i32>,
    pub(super) lengths: Vec<i32>,
}

impl<'d> PostingColumns<'d> {
    /// Returns the postings of chunks, in parts for one statement each.
    pub(super) fn parts(chunks: &[Numbered<'d>]) -> Vec<Self> {
        let mut parts: Vec<Self> = Vec::new();
        for (id, chunk) in chunks {
            let mut part = match parts.pop() {
                Some(part) if part.stems.len() < POSTINGS => part,
                full => {
                    parts.extend(full);
                    Self::default()
                }
            };
            for (stem, count) in &chunk.stems {
                part.stems.push(stem.as_bytes());
                part.chunks.push(*id);
                part.counts.push(*count);
                part.lengths.push(chunk.length);
            }
            parts.push(part);
        }
        parts
    }
}

/// The values that vectors of a group share: the embedder and the number of dimensions.
pub(super) type GroupKey<'d> = (&'d str, usize);

pub(super) fn by_key<'d>(
    documents: &'d [DocumentRow],
    chunks: &[Numbered<'d>],
) -> BTreeMap<GroupKey<'d>, Vec<(i64, &'d VectorRow)>> {
    let embedders = documents.iter().flat_map(|document| {
        std::iter::repeat_n(document.record.embedder.as_str(), document.chunks.len())
    });
    let mut vectors: BTreeMap<GroupKey<'d>, Vec<_>> = BTreeMap::new();
    for ((id, chunk), embedder) in chunks.iter().zip(embedders) {
        let Some(vector) = &chunk.vector else { continue };
        let key = (embedder, vector.components.len());
        vectors.entry(key).or_default().push((*id, vector));
    }
    vectors
}
