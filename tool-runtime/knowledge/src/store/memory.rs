//! Document store in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::bm25::{share, weight};
use super::incoming::checked;
use super::nearest::Nearest;
use super::{
    Digest, DocumentRecord, DocumentStore, DocumentStoreError, IndexedChunk, IndexedDocument,
    SearchFilter, StoredChunk,
};
use crate::words::{query_stems, stems};

/// Keeps documents in memory, for tests and for programs that add them at each start. Clones share
/// them.
///
/// A search reads all chunks of a tenant, so it suits some thousands of them.
///
/// ```
/// use tool_runtime::knowledge::{Document, Knowledge, MemoryDocuments, SearchFilter};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let knowledge = Knowledge::new(MemoryDocuments::new());
/// knowledge.add(Document::text("notes.txt", "Buy milk.")).await?;
/// assert_eq!(knowledge.search("milk", &SearchFilter::default(), 5).await?.len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryDocuments(Arc<Mutex<Tenants>>);

#[derive(Debug, Default)]
struct Tenants {
    /// The documents of each tenant by their sources.
    documents: BTreeMap<String, BTreeMap<String, StoredDocument>>,
    /// The number of the chunk that was added last.
    last_id: i64,
}

#[derive(Debug)]
struct StoredDocument {
    record: DocumentRecord,
    chunks: Vec<(i64, IndexedChunk)>,
}

impl MemoryDocuments {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Tenants> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tenants {
    fn put(&mut self, document: IndexedDocument) {
        let IndexedDocument { record, chunks } = document;
        let numbered = chunks.into_iter().map(|chunk| {
            self.last_id += 1;
            (self.last_id, chunk)
        });
        let chunks = numbered.collect();
        let of_tenant = self.documents.entry(record.tenant.clone()).or_default();
        of_tenant.insert(record.source.clone(), StoredDocument { record, chunks });
    }

    fn of_tenant(&self, tenant: &str) -> impl Iterator<Item = &StoredDocument> {
        self.documents.get(tenant).into_iter().flat_map(BTreeMap::values)
    }

    fn find(&self, tenant: &str, source: &str) -> Option<&DocumentRecord> {
        self.documents.get(tenant)?.get(source).map(|document| &document.record)
    }

    /// Returns all chunks with their documents.
    fn chunks(&self) -> impl Iterator<Item = (&StoredDocument, i64, &IndexedChunk)> {
        let documents = self.documents.values().flat_map(BTreeMap::values);
        documents.flat_map(|it| it.chunks.iter().map(move |(id, chunk)| (it, *id, chunk)))
    }
}

fn passes(filter: &SearchFilter, record: &DocumentRecord) -> bool {
    filter.metadata.iter().all(|(name, value)| record.metadata.get(name) == Some(value))
}

/// Returns the words of a chunk, as an index has them.
fn words_of(chunk: &IndexedChunk) -> String {
    stems(&format!("{} {}", chunk.heading, chunk.text))
}

fn rank(documents: &[&StoredDocument], query: &str, filter: &SearchFilter) -> Vec<(f64, i64)> {
    let query: BTreeSet<&str> = query.split_whitespace().collect();
    let chunks = documents.iter().flat_map(|it| it.chunks.iter().map(|chunk| (&it.record, chunk)));
    let chunks: Vec<_> = chunks
        .map(|(record, (id, chunk))| {
            let words = words_of(chunk);
            let (mut length, mut counts) = (0, BTreeMap::new());
            for word in words.split_whitespace() {
                length += 1;
                if let Some(word) = query.get(word) {
                    *counts.entry(*word).or_insert(0) += 1;
                }
            }
            (record, *id, length, counts)
        })
        .collect();
    let sum: usize = chunks.iter().map(|(.., length, _)| length).sum();
    let mean = sum as f64 / chunks.len().max(1) as f64;
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let weight_of = |word: &str| {
        let matches = chunks.iter().filter(|(.., counts)| counts.contains_key(word)).count();
        weight(number(chunks.len()), number(matches))
    };
    let weights: BTreeMap<_, _> = query.iter().map(|word| (*word, weight_of(word))).collect();
    let scored = chunks.iter().filter_map(|(record, id, length, counts)| {
        let score = |(word, count): (&&str, &usize)| {
            weights.get(word).map_or(0.0, |weight| weight * share(*count, *length, mean))
        };
        let is_match = !counts.is_empty() && passes(filter, record);
        is_match.then(|| (counts.iter().map(score).sum(), *id))
    });
    scored.collect()
}

#[async_trait]
impl DocumentStore for MemoryDocuments {
    async fn find(
        &self,
        tenant: &str,
        sources: &[&str],
    ) -> Result<HashMap<String, DocumentRecord>, DocumentStoreError> {
        let tenants = self.lock();
        let found = sources.iter().filter_map(|source| tenants.find(tenant, source));
        Ok(found.map(|record| (record.source.clone(), record.clone())).collect())
    }

    async fn list(
        &self,
        tenant: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, DocumentStoreError> {
        let tenants = self.lock();
        let Some(documents) = tenants.documents.get(tenant) else { return Ok(Vec::new()) };
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let found = documents.range::<str, _>((from, Bound::Unbounded));
        let found = found.take_while(|(source, _)| source.starts_with(prefix)).take(limit);
        Ok(found.map(|(_, document)| document.record.clone()).collect())
    }

    async fn put(&self, documents: Vec<IndexedDocument>) -> Result<(), DocumentStoreError> {
        let documents = checked(documents)?;
        let mut tenants = self.lock();
        documents.into_iter().for_each(|document| tenants.put(document));
        Ok(())
    }

    async fn put_if(
        &self,
        document: IndexedDocument,
        expected: Option<&DocumentRecord>,
        max_documents: usize,
    ) -> Result<(), DocumentStoreError> {
        document.check_vectors()?;
        let mut tenants = self.lock();
        let DocumentRecord { tenant, source, .. } = &document.record;
        let stored = tenants.find(tenant, source);
        if stored != expected {
            return Err(DocumentStoreError::Conflict { source_name: source.clone() });
        }
        if stored.is_none() && tenants.of_tenant(tenant).count() >= max_documents {
            return Err(DocumentStoreError::TenantFull { max_documents });
        }
        tenants.put(document);
        Ok(())
    }

    async fn remove(&self, tenant: &str, sources: &[&str]) -> Result<usize, DocumentStoreError> {
        let mut tenants = self.lock();
        let Some(documents) = tenants.documents.get_mut(tenant) else { return Ok(0) };
        let count = sources.iter().filter(|source| documents.remove(**source).is_some()).count();
        if documents.is_empty() {
            tenants.documents.remove(tenant);
        }
        Ok(count)
    }

    async fn vectors(
        &self,
        embedder: &str,
        digests: &[Digest],
    ) -> Result<HashMap<Digest, Vec<f32>>, DocumentStoreError> {
        let tenants = self.lock();
        let known = tenants.chunks().filter(|(document, _, chunk)| {
            document.record.embedder == embedder && digests.contains(&chunk.digest)
        });
        let known = known.filter_map(|(.., chunk)| Some((chunk.digest, chunk.vector.clone()?)));
        Ok(known.collect())
    }

    async fn search_words(
        &self,
        query: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        let query = query_stems(query);
        let tenants = self.lock();
        let documents: Vec<_> = tenants.of_tenant(&filter.tenant).collect();
        let mut found = rank(&documents, &query, filter);
        found.sort_unstable_by(|(score, id), (other_score, other)| {
            other_score.total_cmp(score).then(id.cmp(other))
        });
        Ok(found.into_iter().take(limit).map(|(_, id)| id).collect())
    }

    async fn search_vectors(
        &self,
        embedder: &str,
        vector: &[f32],
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        if vector.iter().any(|component| !component.is_finite()) {
            return Ok(Vec::new());
        }
        let tenants = self.lock();
        let mut nearest = Nearest::new(vector);
        for document in tenants.of_tenant(&filter.tenant) {
            let record = &document.record;
            if record.embedder != embedder || !passes(filter, record) {
                continue;
            }
            for (id, chunk) in &document.chunks {
                let stored = chunk.vector.as_ref().filter(|it| it.len() == vector.len());
                stored.into_iter().for_each(|it| nearest.add(*id, it.iter().copied()));
            }
        }
        Ok(nearest.best(limit))
    }

    async fn chunks(&self, ids: &[i64]) -> Result<Vec<StoredChunk>, DocumentStoreError> {
        let tenants = self.lock();
        let requested: BTreeSet<_> = ids.iter().copied().collect();
        let found = tenants.chunks().filter(|(_, id, _)| requested.contains(id));
        let found: HashMap<_, _> =
            found.map(|(document, id, chunk)| (id, (document, chunk))).collect();
        let stored = |id: &i64| {
            let (document, chunk) = found.get(id)?;
            let record = &document.record;
            let mut stored = StoredChunk::new(*id, &record.source, chunk.start, &chunk.text);
            stored.metadata.clone_from(&record.metadata);
            stored.heading.clone_from(&chunk.heading);
            Some(stored)
        };
        Ok(ids.iter().filter_map(stored).collect())
    }
}
