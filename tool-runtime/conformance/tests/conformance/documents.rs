//! Stores of documents conform, and the suite finds each defect of a store.

use std::collections::HashMap;
use std::path::PathBuf;

use tool_conformance::documents::{check, check_handles};
use tool_runtime::async_trait;
use tool_runtime::knowledge::{
    Digest, DocumentRecord, DocumentStore, DocumentStoreError, IndexedDocument, MemoryDocuments,
    SearchFilter, SqliteDocuments, StoredChunk,
};
use tool_runtime::store::Sqlite;

use crate::{Folder, assert_found};

async fn in_memory() -> SqliteDocuments {
    SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap()
}

async fn open(path: PathBuf) -> SqliteDocuments {
    SqliteDocuments::open(&Sqlite::open(path).await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn memory_conforms() {
    assert_eq!(check(|| async { MemoryDocuments::new() }).await, []);
    let store = MemoryDocuments::new();
    assert_eq!(check_handles(store.clone(), store).await, []);
}

#[tokio::test]
async fn sqlite_conforms() {
    assert_eq!(check(in_memory).await, []);
    let folder = Folder::new();
    assert_eq!(check(|| open(folder.next())).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handles_of_sqlite_conform() {
    let store = in_memory().await;
    assert_eq!(check_handles(store.clone(), store).await, []);
    let folder = Folder::new();
    let path = folder.next();
    assert_eq!(check_handles(open(path.clone()).await, open(path).await).await, []);
}

#[tokio::test]
async fn handles_of_two_stores_violate_the_contract() {
    let found = check_handles(in_memory().await, in_memory().await).await;
    assert_found(&found, "a handle sees at once what another one writes", "two stores");
}

/// A defect of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    None,
    CutsTextsAtZero,
    CutsNamesAtZero,
    ForgetsHeadings,
    ForgetsMetadata,
    ListsUnsorted,
    ListsAllPrefixes,
    ListsTheLastOneAgain,
    KeepsWhatWasReplaced,
    CountsMissingRemovals,
    ComparesDigestsOnly,
    LooksAndThenWrites,
    IgnoresTheLimit,
    SharesVectors,
    RanksBackwards,
    IgnoresMetadata,
    IgnoresTenants,
    FailsForInvalidVectors,
    StoresInvalidVectors,
    StoresTheOthersOfARefusedWrite,
    ChecksTheVectorsOfPutOnly,
    KeepsTheFirstOfOneSource,
    WritesOneByOne,
}

/// The defects, with the rule that the suite names for each.
const DEFECTS: [(Defect, &str); 22] = [
    (Defect::CutsTextsAtZero, "records are kept as they are"),
    (Defect::CutsNamesAtZero, "records are kept as they are"),
    (Defect::ForgetsHeadings, "records are kept as they are"),
    (Defect::ForgetsMetadata, "records are kept as they are"),
    (Defect::ListsUnsorted, "documents are listed by prefix, in the order of their bytes"),
    (Defect::ListsAllPrefixes, "documents are listed by prefix, in the order of their bytes"),
    (Defect::ListsTheLastOneAgain, "documents are listed by prefix, in the order of their bytes"),
    (Defect::KeepsWhatWasReplaced, "a replaced or removed document is not found"),
    (Defect::CountsMissingRemovals, "removing returns how many documents were stored"),
    (Defect::ComparesDigestsOnly, "a document replaces the expected record only"),
    (
        Defect::LooksAndThenWrites,
        "of concurrent writers that expect one record, exactly one succeeds",
    ),
    (Defect::IgnoresTheLimit, "a new document needs room in its tenant"),
    (Defect::SharesVectors, "vectors of embedders are separate"),
    (Defect::RanksBackwards, "chunks are ranked by their words"),
    (Defect::IgnoresMetadata, "a search returns what passes its filter"),
    (Defect::IgnoresTenants, "a search returns what passes its filter"),
    (Defect::FailsForInvalidVectors, "a vector with infinite or NaN components matches nothing"),
    (
        Defect::StoresInvalidVectors,
        "a document with an invalid vector is refused, and nothing is changed",
    ),
    (
        Defect::StoresTheOthersOfARefusedWrite,
        "a document with an invalid vector is refused, and nothing is changed",
    ),
    (
        Defect::ChecksTheVectorsOfPutOnly,
        "a document with an invalid vector is refused, and nothing is changed",
    ),
    (
        Defect::KeepsTheFirstOfOneSource,
        "of several documents of one source in a call, the last one is stored",
    ),
    (Defect::WritesOneByOne, "a dropped write is done completely or not at all"),
];

#[derive(Debug)]
struct Defective(MemoryDocuments, Defect);

impl Defective {
    fn before_zero(text: &str) -> String {
        text.split('\0').next().unwrap_or_default().to_owned()
    }

    fn filter(&self, filter: &SearchFilter) -> SearchFilter {
        let mut filter = filter.clone();
        match self.1 {
            Defect::IgnoresMetadata => filter.metadata.clear(),
            Defect::IgnoresTenants if filter.tenant == "c" => filter.tenant = "a".into(),
            _ => {}
        }
        filter
    }
}

#[async_trait]
impl DocumentStore for Defective {
    async fn find(
        &self,
        tenant: &str,
        sources: &[&str],
    ) -> Result<HashMap<String, DocumentRecord>, DocumentStoreError> {
        self.0.find(tenant, sources).await
    }

    async fn list(
        &self,
        tenant: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DocumentRecord>, DocumentStoreError> {
        let prefix = if self.1 == Defect::ListsAllPrefixes { "" } else { prefix };
        let mut records = self.0.list(tenant, prefix, after, limit).await?;
        match self.1 {
            Defect::ListsUnsorted => records.reverse(),
            Defect::ListsTheLastOneAgain if !records.is_empty() => {
                records.extend(self.0.find(tenant, &[after.unwrap_or("a")]).await?.into_values());
                records.sort_by(|record, other| record.source.cmp(&other.source));
            }
            _ => {}
        }
        Ok(records)
    }

    async fn put(&self, mut documents: Vec<IndexedDocument>) -> Result<(), DocumentStoreError> {
        for document in &mut documents {
            let record = &mut document.record;
            match self.1 {
                Defect::CutsNamesAtZero => record.source = Self::before_zero(&record.source),
                Defect::ForgetsMetadata => record.metadata.clear(),
                Defect::KeepsWhatWasReplaced => {
                    let stored = self.0.find(&record.tenant, &[&record.source]).await?;
                    if !stored.is_empty() {
                        record.source.push_str(" again");
                    }
                }
                _ => {}
            }
            for chunk in &mut document.chunks {
                match self.1 {
                    Defect::CutsTextsAtZero => chunk.text = Self::before_zero(&chunk.text),
                    Defect::ForgetsHeadings => chunk.heading.clear(),
                    _ => {}
                }
            }
        }
        if self.1 == Defect::StoresInvalidVectors {
            documents.retain(|it| it.check_vectors().is_ok());
        }
        if self.1 == Defect::StoresTheOthersOfARefusedWrite {
            let (valid, invalid): (Vec<_>, Vec<_>) =
                documents.into_iter().partition(|it| it.check_vectors().is_ok());
            self.0.put(valid).await?;
            documents = invalid;
        }
        if self.1 == Defect::KeepsTheFirstOfOneSource {
            documents.reverse();
        }
        if self.1 == Defect::WritesOneByOne {
            documents.iter().try_for_each(IndexedDocument::check_vectors)?;
            for document in documents {
                self.0.put(vec![document]).await?;
                tokio::task::yield_now().await;
            }
            return Ok(());
        }
        self.0.put(documents).await
    }

    async fn put_if(
        &self,
        document: IndexedDocument,
        expected: Option<&DocumentRecord>,
        max_documents: usize,
    ) -> Result<(), DocumentStoreError> {
        let DocumentRecord { tenant, source, .. } = &document.record;
        let stored = self.0.find(tenant, &[source]).await?.remove(source);
        let digest = |record: &DocumentRecord| record.digest;
        match self.1 {
            Defect::ComparesDigestsOnly if stored.as_ref().map(digest) == expected.map(digest) => {
                self.0.put_if(document, stored.as_ref(), max_documents).await
            }
            Defect::LooksAndThenWrites if stored.as_ref() == expected => {
                let others = self.0.list(tenant, "", None, max_documents.min(99)).await?;
                if stored.is_none() && others.len() >= max_documents {
                    return Err(DocumentStoreError::TenantFull { max_documents });
                }
                tokio::task::yield_now().await;
                self.0.put(vec![document]).await
            }
            Defect::IgnoresTheLimit => self.0.put_if(document, expected, usize::MAX).await,
            Defect::ChecksTheVectorsOfPutOnly if document.check_vectors().is_err() => Ok(()),
            _ => self.0.put_if(document, expected, max_documents).await,
        }
    }

    async fn remove(&self, tenant: &str, sources: &[&str]) -> Result<usize, DocumentStoreError> {
        let removed = self.0.remove(tenant, sources).await?;
        Ok(if self.1 == Defect::CountsMissingRemovals { sources.len() } else { removed })
    }

    async fn vectors(
        &self,
        embedder: &str,
        digests: &[Digest],
    ) -> Result<HashMap<Digest, Vec<f32>>, DocumentStoreError> {
        let embedder = if self.1 == Defect::SharesVectors { "test" } else { embedder };
        self.0.vectors(embedder, digests).await
    }

    async fn search_words(
        &self,
        query: &str,
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        let mut found = self.0.search_words(query, &self.filter(filter), limit).await?;
        if self.1 == Defect::RanksBackwards {
            found.reverse();
        }
        Ok(found)
    }

    async fn search_vectors(
        &self,
        embedder: &str,
        vector: &[f32],
        filter: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<i64>, DocumentStoreError> {
        if self.1 == Defect::FailsForInvalidVectors && vector.iter().any(|it| !it.is_finite()) {
            return Err(DocumentStoreError::unavailable("no number"));
        }
        self.0.search_vectors(embedder, vector, &self.filter(filter), limit).await
    }

    async fn chunks(&self, ids: &[i64]) -> Result<Vec<StoredChunk>, DocumentStoreError> {
        self.0.chunks(ids).await
    }
}

#[tokio::test]
async fn suite_finds_each_defect() {
    let check = async |defect| check(|| async { Defective(MemoryDocuments::new(), defect) }).await;
    assert_eq!(check(Defect::None).await, []);
    for (defect, rule) in DEFECTS {
        assert_found(&check(defect).await, rule, &format!("{defect:?}"));
    }
}
