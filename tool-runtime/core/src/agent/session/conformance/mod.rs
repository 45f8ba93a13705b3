//! A conformance suite for session stores: tests an implementation of [`SessionStore`] against its
//! contract.
//!
//! - `samples.rs`: records with messages of every kind, and names that are hard to tell apart, are
//!   stored unchanged.
//! - `random_operations.rs`: random saves, loads and deletions have the same result as in a plain
//!   map.
//! - `concurrency.rs`: dropped saves are done completely or not at all, and concurrent writes
//!   conflict.
//! - `operations.rs`: parts of records, pages of the list, forks, renamed sessions and locks.
//! - `handles.rs`: two handles of one store see each other's writes.

mod concurrency;
mod difference;
mod handles;
mod operations;
mod random_operations;
mod samples;

use std::fmt::Debug;
use std::sync::Arc;

use super::{SessionError, SessionStore};

/// The first rule of the [`SessionStore`] contract that a store violates.
///
/// ```
/// use tool_runtime::agent::session::{MemorySessions, conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conformance::Violation> {
/// conformance::check(|| async { MemorySessions::new() }).await
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session store violates the contract: {rule}: {details}")]
pub struct Violation {
    rule: &'static str,
    /// The behavior of the store.
    details: String,
}

impl Violation {
    fn new(rule: &'static str, details: impl Into<String>) -> Self {
        Self { rule, details: details.into() }
    }
}

/// Fails with these details unless the rule holds.
fn ensure(
    holds: bool,
    rule: &'static str,
    details: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::new(rule, details())) }
}

/// Fails unless both values are equal.
fn ensure_eq<T: PartialEq + Debug>(
    rule: &'static str,
    actual: &T,
    expected: &T,
) -> Result<(), Violation> {
    ensure(actual == expected, rule, || {
        difference::describe(&format!("{actual:?}"), &format!("{expected:?}"))
    })
}

/// Returns the violation of a store that fails where it has to succeed.
fn failed(rule: &'static str) -> impl Fn(SessionError) -> Violation {
    move |error| Violation::new(rule, format!("it failed: {error}"))
}

/// Checks a session store against the contract of [`SessionStore`].
///
/// The checks cover that nothing is lost or changed, whatever is saved under whichever name; that a
/// write on another revision is refused as a whole; that no revision is reused; that sessions are
/// separate; that a save whose future is dropped is done completely or not at all; that concurrent
/// writes conflict; that a loaded record is of one save; and that the list is complete.
///
/// `open` returns a store without sessions and is called some dozens of times: return a new file or
/// schema each time. Concurrent writers run on separate threads, whatever the runtime, so that
/// a store without a lock is found out on a single-threaded runtime as well. The checks can't cover
/// a killed process. If a store can be cloned, or opened more than once, run [`check_handles`] as
/// well.
///
/// ```
/// use tool_runtime::agent::session::{MemorySessions, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// conformance::check(|| async { MemorySessions::default() }).await.unwrap();
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
    S: SessionStore + 'static,
    F: Future<Output = S>,
{
    samples::check_records(&open().await).await?;
    samples::check_names(&open().await).await?;
    for seed in 0..random_operations::SEEDS {
        random_operations::check(&open().await, seed).await?;
    }
    operations::check_ranges(&open().await).await?;
    operations::check_pages(&open().await).await?;
    operations::check_forks(&open().await).await?;
    operations::check_renames(&open().await).await?;
    operations::check_locks(&open().await)?;
    concurrency::check_dropped_saves(&open().await).await?;
    let store = Arc::new(open().await);
    concurrency::check_concurrent_writes([Arc::clone(&store), store]).await
}

/// Checks two handles of one session store, such as a store and its clone, or one file that is
/// opened twice.
///
/// The checks cover that each handle sees at once what the other saves and deletes, and that
/// concurrent writes by both conflict, also on separate threads. The store must have no
/// sessions yet.
///
/// ```
/// use tool_runtime::agent::session::{MemorySessions, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemorySessions::default();
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
    S: SessionStore + 'static,
{
    for (writer, reader) in [(&first, &second), (&second, &first)] {
        handles::check_visibility(writer, reader).await?;
    }
    concurrency::check_concurrent_writes([first, second].map(Arc::new)).await
}
