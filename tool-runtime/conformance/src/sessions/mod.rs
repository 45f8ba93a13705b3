//! The suite for stores of sessions, by the contract of [`SessionStore`].
//!
//! ```
//! use tool_conformance::sessions;
//! use tool_runtime::store::Sqlite;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let open = || async { Sqlite::in_memory().expect("there is memory") };
//! assert_eq!(sessions::check(open).await, []);
//!
//! let store = Sqlite::in_memory()?;
//! assert_eq!(sessions::check_handles(store.clone(), store).await, []);
//! # Ok(())
//! # }
//! ```

// - `samples.rs`: records with messages of every kind, and names that are hard to tell apart, are
//   stored unchanged.
// - `random_operations.rs`: random saves, loads and deletions have the same result as in a plain
//   map.
// - `concurrency.rs`: dropped saves are done completely or not at all, and concurrent writes
//   conflict.
// - `operations.rs`: parts of records, pages of the list, forks, renamed sessions and locks.
// - `leases.rs`: one owner at a time changes a session.
// - `statuses.rs`: sessions are listed by what they wait for.
// - `info.rs`: sessions are listed with their principals and titles.
// - `handles.rs`: two handles of one store see each other's writes.

mod concurrency;
mod handles;
mod info;
mod leases;
mod operations;
mod random_operations;
mod samples;
mod statuses;

use std::sync::Arc;

use tool_core::agent::session::SessionStore;

use crate::Violation;
use crate::checks::Checks;

/// Checks a store of sessions against the contract of [`SessionStore`].
///
/// The checks cover that nothing is lost or changed, whatever is saved under whichever name; that a
/// write on another revision is refused as a whole; that no revision is reused; that sessions are
/// separate; that one owner at a time may change a leased session; that a save whose future is
/// dropped is done completely or not at all; that concurrent writes conflict; that a loaded record
/// is of one save; that the list is complete; and that a session keeps its principal and its title.
///
/// `open` returns a store without sessions and is called some dozens of times: return a new file or
/// schema each time. If a store can be cloned, or opened more than once, run [`check_handles`] as
/// well.
///
/// ```
/// use tool_conformance::sessions;
/// use tool_runtime::agent::session::MemorySessions;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(sessions::check(|| async { MemorySessions::new() }).await, []);
/// # }
/// ```
pub async fn check<S, F>(open: impl Fn() -> F) -> Vec<Violation>
where
    S: SessionStore + 'static,
    F: Future<Output = S>,
{
    let open = &open;
    let mut checks = Checks::default();
    checks.run(async { samples::check_records(&open().await).await }).await;
    checks.run(async { samples::check_names(&open().await).await }).await;
    for seed in 0..random_operations::SEEDS {
        checks.run(async { random_operations::check(&open().await, seed).await }).await;
    }
    checks.run(async { operations::check_ranges(&open().await).await }).await;
    checks.run(async { operations::check_pages(&open().await).await }).await;
    checks.run(async { operations::check_forks(&open().await).await }).await;
    checks.run(async { operations::check_renames(&open().await).await }).await;
    checks.run(async { operations::check_locks(&open().await) }).await;
    checks.run(async { leases::check_owners(&open().await).await }).await;
    checks.run(async { leases::check_changes(&open().await).await }).await;
    checks.run(async { statuses::check(&open().await).await }).await;
    checks.run(async { info::check_principals(&open().await).await }).await;
    checks.run(async { info::check_titles(&open().await).await }).await;
    checks.run(async { concurrency::check_dropped_saves(&open().await).await }).await;
    checks
        .run(async {
            let store = Arc::new(open().await);
            concurrency::check_concurrent_writes(&[Arc::clone(&store), store]).await
        })
        .await;
    checks.found()
}

/// Checks two handles of one store, such as a store and its clone, or one file that is opened
/// twice. The store must have no sessions yet.
///
/// The checks cover that each handle sees at once what the other saves and deletes, and that
/// concurrent writes by both conflict, also on separate threads.
///
/// ```
/// use tool_conformance::sessions;
/// use tool_runtime::agent::session::MemorySessions;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemorySessions::new();
/// assert_eq!(sessions::check_handles(store.clone(), store).await, []);
/// # }
/// ```
pub async fn check_handles<S>(first: S, second: S) -> Vec<Violation>
where
    S: SessionStore + 'static,
{
    let handles = [first, second].map(Arc::new);
    let [first, second] = &handles;
    let mut checks = Checks::default();
    checks.run(handles::check_visibility(first, second)).await;
    checks.run(handles::check_visibility(second, first)).await;
    checks.run(concurrency::check_concurrent_writes(&handles)).await;
    checks.found()
}
