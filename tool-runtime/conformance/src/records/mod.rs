//! The suite for stores of small records, by the contract of [`Records`].
//!
//! ```
//! use tool_conformance::records;
//! use tool_runtime::store::Sqlite;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let open = || async {
//!     let file = Sqlite::in_memory().expect("there is memory");
//!     file.records().await.expect("tables can be created")
//! };
//! assert_eq!(records::check(open).await, []);
//!
//! let store = open().await;
//! assert_eq!(records::check_handles(store.clone(), store).await, []);
//! # Ok(())
//! # }
//! ```

// - `counters.rs`, `expectations.rs`: revisions, and the refusal of other writers.
// - `exactness.rs`, `sizes.rs`: texts from `names.rs`, and the limits of the contract.
// - `queries.rs`: prefixes, positions, orders, limits and pages of lists.
// - `random_operations.rs`: the same results as in plain maps.
// - `concurrency.rs`, `moments.rs`, `dropped_writes.rs`: concurrent writers, lists during writes,
//   and writes whose future is dropped.
// - `changes.rs`: waiting for writes.
// - `handles.rs`: two handles of one store.
// - `corrupt.rs`: damaged records.

mod changes;
mod concurrency;
mod corrupt;
mod counters;
mod dropped_writes;
mod exactness;
mod expectations;
mod handles;
mod moments;
mod names;
mod operations;
mod queries;
mod random_operations;
mod sizes;

use std::sync::Arc;

use tool_core::records::{Expected, Records};

use crate::Violation;
use crate::checks::Checks;

/// Checks a store of small records against the contract of [`Records`].
///
/// `open` returns a store without records and is called some dozens of times: return a new file or
/// schema each time. Records that can't be read are checked by [`check_corrupt`]. If a store can be
/// cloned, or opened more than once, run [`check_handles`] as well.
///
/// ```
/// use tool_conformance::records;
/// use tool_runtime::records::MemoryRecords;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(records::check(|| async { MemoryRecords::new() }).await, []);
/// # }
/// ```
pub async fn check<R, F>(open: impl Fn() -> F) -> Vec<Violation>
where
    R: Records + 'static,
    F: Future<Output = R>,
{
    let open = &open;
    let mut checks = Checks::default();
    checks.run(async { counters::check_counter(&open().await).await }).await;
    checks.run(async { counters::check_collections(&open().await).await }).await;
    checks.run(async { expectations::check(&open().await).await }).await;
    checks.run(async { exactness::check_keys(&open().await).await }).await;
    checks.run(async { exactness::check_collections(&open().await).await }).await;
    checks.run(async { exactness::check_values(&open().await).await }).await;
    checks.run(async { sizes::check(&open().await).await }).await;
    checks.run(async { queries::check(&open().await).await }).await;
    for seed in 0..random_operations::SEEDS {
        checks.run(async { random_operations::check(&open().await, seed).await }).await;
    }
    checks.run(async { dropped_writes::check(&open().await).await }).await;
    let twice = async || {
        let store = Arc::new(open().await);
        [Arc::clone(&store), store]
    };
    checks.run(async { concurrency::check_one_winner(&twice().await).await }).await;
    checks.run(async { concurrency::check_no_lost_write(&twice().await).await }).await;
    checks.run(async { concurrency::check_revisions(&twice().await).await }).await;
    checks.run(async { moments::check(&twice().await).await }).await;
    checks.run(async { changes::check(&twice().await).await }).await;
    checks.found()
}

/// Checks two handles of one store, such as a store and its clone, or one file that is opened
/// twice. The store must have no records yet.
///
/// The checks cover that each handle sees at once what the other writes, that `changed` is woken by
/// the other, and that of concurrent writers by both exactly one succeeds.
///
/// ```
/// use tool_conformance::records;
/// use tool_runtime::records::MemoryRecords;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryRecords::new();
/// assert_eq!(records::check_handles(store.clone(), store).await, []);
/// # }
/// ```
pub async fn check_handles<R: Records + 'static>(first: R, second: R) -> Vec<Violation> {
    let handles = [first, second].map(Arc::new);
    let [first, second] = &handles;
    let mut checks = Checks::default();
    checks.run(handles::check(first, second)).await;
    checks.run(handles::check(second, first)).await;
    checks.run(changes::check(&handles)).await;
    checks.run(concurrency::check_one_winner(&handles)).await;
    checks.run(concurrency::check_no_lost_write(&handles)).await;
    checks.run(concurrency::check_revisions(&handles)).await;
    checks.run(moments::check(&handles)).await;
    checks.found()
}

/// Checks what a store does with a record that can't be read.
///
/// `damage` receives a store, the name of a collection and a key, and changes the stored bytes of
/// that record so that the store can't read its value. `open` is as for [`check`].
///
/// ```
/// use tool_conformance::records;
/// use tool_runtime::records::FileRecords;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let folder = std::env::temp_dir().join(format!("corrupt-{}", std::process::id()));
/// let open = || async {
///     let _ = std::fs::remove_dir_all(&folder);
///     FileRecords::open(&folder).await.unwrap()
/// };
/// let damage = async |_: &FileRecords, collection: &str, key: &str| {
///     let file = folder.join(format!("{collection}.jsonl"));
///     let text = std::fs::read_to_string(&file).unwrap();
///     let damaged = text.split_inclusive('\n').map(|line| {
///         let is_of_key = line.contains(&format!("\"key\":\"{key}\""));
///         let to = if is_of_key { "\"value\":\"\\x" } else { "\"value\":\"" };
///         line.replace("\"value\":\"", to)
///     });
///     std::fs::write(&file, damaged.collect::<String>()).unwrap();
/// };
/// assert_eq!(records::check_corrupt(open, damage).await, []);
/// # std::fs::remove_dir_all(folder).unwrap();
/// # }
/// ```
pub async fn check_corrupt<R, F>(
    open: impl Fn() -> F,
    damage: impl AsyncFn(&R, &str, &str),
) -> Vec<Violation>
where
    R: Records + 'static,
    F: Future<Output = R>,
{
    let damaged = async || {
        let store = open().await;
        let revision = corrupt::fill(&store).await?;
        damage(&store, "c", "b").await;
        Ok::<_, Violation>((store, revision))
    };
    let mut checks = Checks::default();
    checks
        .run(async {
            let (store, revision) = damaged().await?;
            corrupt::check_reads(&store, revision).await
        })
        .await;
    for is_save in [true, false] {
        for expected in [Expected::Any, Expected::Revision(0)] {
            checks
                .run(async {
                    let (store, _) = damaged().await?;
                    corrupt::check_writes(&store, expected, is_save).await
                })
                .await;
        }
    }
    checks.found()
}
