//! The suite for stores of documents, by the contract of [`DocumentStore`].
//!
//! ```
//! use tool_conformance::documents;
//! use tool_runtime::knowledge::SqliteDocuments;
//! use tool_runtime::store::Sqlite;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let open = || async {
//!     let file = Sqlite::in_memory().expect("there is memory");
//!     SqliteDocuments::open(&file).await.expect("tables can be created")
//! };
//! assert_eq!(documents::check(open).await, []);
//!
//! let store = open().await;
//! assert_eq!(documents::check_handles(store.clone(), store).await, []);
//! # }
//! ```

// - `records.rs`: documents are stored unchanged, replaced and removed.
// - `searches.rs`: rankings by words and by vectors, and filters.
// - `concurrency.rs`: of concurrent writers, one succeeds; dropped writes.
// - `samples.rs`: the documents of the checks.

mod concurrency;
mod records;
mod samples;
mod searches;

use std::sync::Arc;

use tool_knowledge::DocumentStore;

use crate::Violation;
use crate::checks::Checks;

/// Checks a store of documents against the contract of [`DocumentStore`].
///
/// `open` returns an empty store and is called a few times: return a new file or schema each time.
/// If a store can be cloned, or opened more than once, run [`check_handles`] as well.
///
/// ```
/// use tool_conformance::documents;
/// use tool_runtime::knowledge::MemoryDocuments;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(documents::check(|| async { MemoryDocuments::new() }).await, []);
/// # }
/// ```
pub async fn check<S, F>(open: impl Fn() -> F) -> Vec<Violation>
where
    S: DocumentStore + 'static,
    F: Future<Output = S>,
{
    let open = &open;
    let mut checks = Checks::default();
    checks.run(async { records::records_are_unchanged(&open().await).await }).await;
    checks.run(async { records::documents_are_replaced_and_removed(&open().await).await }).await;
    checks.run(async { records::last_of_one_source_is_stored(&open().await).await }).await;
    checks.run(async { records::invalid_vectors_are_refused(&open().await).await }).await;
    checks.run(async { records::expected_records_decide(&open().await).await }).await;
    checks.run(async { searches::words_are_ranked(&open().await).await }).await;
    checks.run(async { searches::vectors_are_ranked(&open().await).await }).await;
    checks.run(async { searches::tenants_and_metadata_separate(&open().await).await }).await;
    checks.run(async { concurrency::dropped_puts_are_whole(&open().await).await }).await;
    checks
        .run(async {
            let store = Arc::new(open().await);
            concurrency::one_of_concurrent_puts_succeeds(&[Arc::clone(&store), store]).await
        })
        .await;
    checks.found()
}

/// Checks two handles of one store, such as a store and its clone, or one file that is opened
/// twice. The store must have no documents yet.
///
/// The checks cover that each handle sees at once what the other writes, and that of concurrent
/// changes of one document by both exactly one succeeds.
///
/// ```
/// use tool_conformance::documents;
/// use tool_runtime::knowledge::MemoryDocuments;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryDocuments::new();
/// assert_eq!(documents::check_handles(store.clone(), store).await, []);
/// # }
/// ```
pub async fn check_handles<S>(first: S, second: S) -> Vec<Violation>
where
    S: DocumentStore + 'static,
{
    let handles = [first, second].map(Arc::new);
    let [first, second] = &handles;
    let mut checks = Checks::default();
    checks.run(records::changes_are_seen(first, second)).await;
    checks.run(records::changes_are_seen(second, first)).await;
    checks.run(concurrency::one_of_concurrent_puts_succeeds(&handles)).await;
    checks.found()
}
