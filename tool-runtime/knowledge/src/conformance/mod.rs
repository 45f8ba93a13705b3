//! A conformance suite for stores of documents: tests an implementation of [`DocumentStore`]
//! against its contract.
//!
//! - `records.rs`: documents are stored unchanged, replaced and removed.
//! - `searches.rs`: rankings by words and by vectors, and filters.
//! - `concurrency.rs`: of concurrent writers, one succeeds; dropped writes.

mod concurrency;
mod records;
mod searches;

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;

use crate::store::{
    Digest, DocumentRecord, DocumentStore, DocumentStoreError, IndexedChunk, IndexedDocument,
};

/// A rule of [`DocumentStore`] that a store violates.
///
/// ```
/// use tool_runtime::knowledge::{SqliteDocuments, conformance};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let create = || async {
///     let store = Sqlite::in_memory().expect("there is memory");
///     SqliteDocuments::open(&store).await.expect("tables can be created")
/// };
/// let checked: Result<(), conformance::Violation> = conformance::check(create).await;
/// assert_eq!(checked, Ok(()));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("document store violates the contract: {rule}: {details}")]
pub struct Violation {
    rule: &'static str,
    /// The behavior of the store.
    details: String,
}

const EMBEDDER: &str = "test";

fn digest(text: &str) -> Digest {
    hmac_sha256::Hash::hash(text.as_bytes())
}

fn document(tenant: &str, source: &str, parts: &[(&str, [f32; 2])]) -> IndexedDocument {
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
async fn sources(store: &impl DocumentStore, ids: &[i64]) -> Result<Vec<String>, Violation> {
    let chunks = store.chunks(ids).await.map_err(failed("found chunks can be read"))?;
    ensure_eq("found chunks can be read", &chunks.len(), &ids.len())?;
    Ok(chunks.into_iter().map(|chunk| chunk.source).collect())
}

fn failed(rule: &'static str) -> impl Fn(DocumentStoreError) -> Violation {
    move |error| Violation { rule, details: format!("it failed: {error}") }
}

fn ensure_eq<T: PartialEq + Debug>(
    rule: &'static str,
    actual: &T,
    expected: &T,
) -> Result<(), Violation> {
    if actual == expected {
        return Ok(());
    }
    Err(Violation { rule, details: format!("found {actual:?}, expected {expected:?}") })
}

/// Checks that a store keeps the contract of [`DocumentStore`].
///
/// `create` returns an empty store and is called a few times: return a new file or schema each
/// time. Concurrent writers run on separate threads, whatever the runtime. The checks can't cover a
/// killed process. If a store can be cloned, or opened more than once, run [`check_handles`] as
/// well.
///
/// ```
/// use tool_runtime::knowledge::{SqliteDocuments, conformance};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conformance::Violation> {
/// conformance::check(|| async {
///     let store = Sqlite::in_memory().expect("there is memory");
///     SqliteDocuments::open(&store).await.expect("tables can be created")
/// })
/// .await
/// # }
/// ```
///
/// # Errors
/// Returns the first violation.
///
/// # Panics
/// Panics outside a tokio runtime, and if the store panics.
pub async fn check<S, F>(create: impl Fn() -> F) -> Result<(), Violation>
where
    S: DocumentStore + 'static,
    F: Future<Output = S>,
{
    records::records_are_unchanged(&create().await).await?;
    records::documents_are_replaced_and_removed(&create().await).await?;
    records::last_of_one_source_is_stored(&create().await).await?;
    records::invalid_vectors_are_refused(&create().await).await?;
    records::expected_records_decide(&create().await).await?;
    searches::words_are_ranked(&create().await).await?;
    searches::vectors_are_ranked(&create().await).await?;
    searches::tenants_and_metadata_separate(&create().await).await?;
    concurrency::dropped_puts_are_whole(&create().await).await?;
    let store = Arc::new(create().await);
    concurrency::one_of_concurrent_puts_succeeds([Arc::clone(&store), store]).await
}

/// Checks two handles of one store, such as a store and its clone, or one file that is opened
/// twice. The store must have no documents yet.
///
/// The checks cover that each handle sees at once what the other writes, and that of concurrent
/// changes of one document by both exactly one succeeds.
///
/// ```
/// use tool_runtime::knowledge::{SqliteDocuments, conformance};
/// use tool_runtime::store::Sqlite;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteDocuments::open(&Sqlite::in_memory()?).await?;
/// conformance::check_handles(store.clone(), store).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns the first violation.
///
/// # Panics
/// Panics outside a tokio runtime, and if a store panics.
pub async fn check_handles<S: DocumentStore + 'static>(
    first: S,
    second: S,
) -> Result<(), Violation> {
    for (writer, reader) in [(&first, &second), (&second, &first)] {
        records::changes_are_seen(writer, reader).await?;
    }
    concurrency::one_of_concurrent_puts_succeeds([first, second].map(Arc::new)).await
}
