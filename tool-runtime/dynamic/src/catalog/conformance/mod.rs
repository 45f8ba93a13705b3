//! A conformance suite for catalog stores: tests an implementation of [`CatalogStore`] against its
//! contract.
//!
//! - `records.rs`: records under names that are easily confused are stored unchanged, and revisions
//!   decide about writes.
//! - `changes.rs`: lists, revisions of the store and the signal that it changed.
//! - `concurrency.rs`: of concurrent writers of one revision, one succeeds; dropped saves.

mod changes;
mod concurrency;
mod records;

use std::fmt::Debug;
use std::sync::Arc;

use super::error::CatalogError;
use super::store::CatalogStore;

/// The first rule of the [`CatalogStore`] contract that a store violates.
///
/// ```
/// use tool_runtime::dynamic::catalog::{MemoryCatalog, conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conformance::Violation> {
/// conformance::check(|| async { MemoryCatalog::new() }).await
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("catalog store violates the contract: {rule}: {details}")]
pub struct Violation {
    rule: &'static str,
    /// The behavior of the store.
    details: String,
}

/// Fails with these details unless the rule holds.
fn ensure(
    holds: bool,
    rule: &'static str,
    details: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation { rule, details: details() }) }
}

/// Fails unless both values are equal.
fn ensure_eq<T: PartialEq + Debug>(
    rule: &'static str,
    actual: &T,
    expected: &T,
) -> Result<(), Violation> {
    ensure(actual == expected, rule, || format!("{actual:?} instead of {expected:?}"))
}

/// Fails unless a write was refused with a conflict.
fn ensure_conflict<T: Debug>(
    rule: &'static str,
    result: &Result<T, CatalogError>,
) -> Result<(), Violation> {
    let is_conflict = matches!(result, Err(CatalogError::Conflict { .. }));
    ensure(is_conflict, rule, || format!("{result:?} instead of a conflict"))
}

/// Returns the violation of a store that fails where it has to succeed.
fn failed(rule: &'static str) -> impl Fn(CatalogError) -> Violation {
    move |error| Violation { rule, details: format!("it failed: {error}") }
}

/// Checks a catalog store against the contract of [`CatalogStore`].
///
/// `open` returns a store without records and is called a few times: return a new file or schema
/// each time. Concurrent writers run on separate threads, whatever the runtime. The checks can't
/// cover a killed process. If a store can be cloned, or opened more than once, run
/// [`check_handles`] as well.
///
/// ```
/// use tool_runtime::dynamic::catalog::{MemoryCatalog, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// conformance::check(|| async { MemoryCatalog::new() }).await.unwrap();
/// # }
/// ```
///
/// # Errors
/// Returns the first violation, with what the store did instead.
///
/// # Panics
/// Panics outside a tokio runtime, and if the store panics.
pub async fn check<S, F>(open: impl Fn() -> F) -> Result<(), Violation>
where
    S: CatalogStore + 'static,
    F: Future<Output = S>,
{
    records::check_samples(&open().await).await?;
    records::check_revisions(&open().await).await?;
    changes::check_lists(&open().await).await?;
    let store = Arc::new(open().await);
    changes::check_signal([Arc::clone(&store), store]).await?;
    concurrency::check_dropped_saves(&open().await).await?;
    let store = Arc::new(open().await);
    concurrency::check_concurrent_writes([Arc::clone(&store), store]).await
}

/// Checks two handles of one catalog store, such as a store and its clone, or one file that is
/// opened twice.
///
/// The checks cover that each handle sees at once what the other writes, that a handle waits for
/// changes of the other, and that of concurrent writes by both exactly one succeeds. The store must
/// have no records yet.
///
/// ```
/// use tool_runtime::dynamic::catalog::{MemoryCatalog, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryCatalog::new();
/// conformance::check_handles(store.clone(), store).await.unwrap();
/// # }
/// ```
///
/// # Errors
/// Returns the first violation, with what the handles did instead.
///
/// # Panics
/// Panics outside a tokio runtime, and if a store panics.
pub async fn check_handles<S>(first: S, second: S) -> Result<(), Violation>
where
    S: CatalogStore + 'static,
{
    for (writer, reader) in [(&first, &second), (&second, &first)] {
        records::check_visibility(writer, reader).await?;
    }
    let handles = [first, second].map(Arc::new);
    changes::check_signal(handles.clone()).await?;
    concurrency::check_concurrent_writes(handles).await
}
