//! A conformance suite for schedule stores: tests an implementation of [`ScheduleStore`] against
//! its contract.
//!
//! - `records.rs`: records of every kind, under names that are hard to tell apart, are stored
//!   unchanged; revisions decide about writes.
//! - `queries.rs`: lists, pages and due records.
//! - `concurrency.rs`: of concurrent writers of one revision, one succeeds; dropped saves.

mod concurrency;
mod queries;
mod records;

use std::fmt::Debug;
use std::sync::Arc;

use crate::ScheduleError;
use crate::ScheduleStore;

/// The first rule of the [`ScheduleStore`] contract that a store violates.
///
/// ```
/// use tool_runtime::schedule::{MemorySchedules, conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conformance::Violation> {
/// conformance::check(|| async { MemorySchedules::new() }).await
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schedule store violates the contract: {rule}: {details}")]
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
    result: &Result<T, ScheduleError>,
) -> Result<(), Violation> {
    let is_conflict = matches!(result, Err(ScheduleError::Conflict { .. }));
    ensure(is_conflict, rule, || format!("{result:?} instead of a conflict"))
}

/// Returns the violation of a store that fails where it has to succeed.
fn failed(rule: &'static str) -> impl Fn(ScheduleError) -> Violation {
    move |error| Violation { rule, details: format!("it failed: {error}") }
}

/// Checks a schedule store against the contract of [`ScheduleStore`].
///
/// `open` returns a store without schedules and is called some dozens of times: return a new file
/// or schema each time. Concurrent writers run on separate threads, whatever the runtime. The
/// checks can't cover a killed process. If a store can be cloned, or opened more than once, run
/// [`check_handles`] as well.
///
/// ```
/// use tool_runtime::schedule::{MemorySchedules, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// conformance::check(|| async { MemorySchedules::new() }).await.unwrap();
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
    S: ScheduleStore + 'static,
    F: Future<Output = S>,
{
    records::check_samples(&open().await).await?;
    records::check_revisions(&open().await).await?;
    queries::check_lists(&open().await).await?;
    queries::check_due(&open().await).await?;
    concurrency::check_dropped_saves(&open().await).await?;
    let store = Arc::new(open().await);
    concurrency::check_concurrent_writes([Arc::clone(&store), store]).await
}

/// Checks two handles of one schedule store, such as a store and its clone, or one file that is
/// opened twice.
///
/// The checks cover that each handle sees at once what the other saves and deletes, and that of
/// concurrent writes by both exactly one succeeds. The store must have no schedules yet.
///
/// ```
/// use tool_runtime::schedule::{MemorySchedules, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemorySchedules::new();
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
    S: ScheduleStore + 'static,
{
    for (writer, reader) in [(&first, &second), (&second, &first)] {
        records::check_visibility(writer, reader).await?;
    }
    concurrency::check_concurrent_writes([first, second].map(Arc::new)).await
}
