//! A conformance suite for stores of descriptions and preferences: tests an implementation of
//! [`OverrideStore`] against its contract.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{OverrideError, OverrideStore, ToolOverrides};
use crate::tool::ToolPreference;

/// The number of concurrent writers, and of the writes of each.
const WRITERS: usize = 4;
const WRITES: usize = 8;

/// The longest time until a change ends the wait of another handle.
const NOTICED_WITHIN: Duration = Duration::from_secs(10);

const EMPTY: &str = "a store without changes has the version 0 and no overrides";
const LOADED: &str = "loaded overrides equal those that were set";
const VERSION: &str = "each change increments the version";
const WAIT: &str = "a change ends the wait of each handle";
const CURRENT: &str = "a wait for another version than the current one returns at once";
const CONCURRENT: &str = "concurrent changes are all there, each with a version of its own";

/// The first rule of the [`OverrideStore`] contract that a store violates.
///
/// ```
/// use tool_runtime::registry::overrides::{MemoryOverrides, conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conformance::Violation> {
/// conformance::check(|| async { MemoryOverrides::new() }).await
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("override store violates the contract: {rule}: {details}")]
pub struct Violation {
    rule: &'static str,
    /// The behavior of the store.
    details: String,
}

/// Fails unless both values are equal.
fn ensure_eq<T: PartialEq + Debug>(
    rule: &'static str,
    actual: &T,
    expected: &T,
) -> Result<(), Violation> {
    if actual == expected {
        return Ok(());
    }
    // Overrides may be long.
    let [actual, expected] = [format!("{actual:?}"), format!("{expected:?}")];
    Err(Violation { rule, details: format!("{actual:.300} instead of {expected:.300}") })
}

/// Returns the violation of a store that fails where it has to succeed.
fn failed(rule: &'static str) -> impl Fn(OverrideError) -> Violation {
    move |error| Violation { rule, details: format!("it failed: {error}") }
}

/// Checks a store against the contract of [`OverrideStore`].
///
/// `open` returns a store without overrides: return a new file or schema each time. The checks
/// can't cover a killed process. If a store can be opened more than once, run [`check_handles`] as
/// well.
///
/// ```
/// use tool_runtime::registry::overrides::{MemoryOverrides, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// conformance::check(|| async { MemoryOverrides::new() }).await.unwrap();
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
    S: OverrideStore + 'static,
    F: Future<Output = S>,
{
    check_changes(&open().await).await?;
    let store = Arc::new(open().await);
    check_concurrent_changes([Arc::clone(&store), store]).await
}

/// Checks two handles of one store, such as a store and its clone, or one file that is opened
/// twice. The store must have no overrides yet.
///
/// The checks cover that a change by one handle ends the wait of the other, and that concurrent
/// changes by both are all there.
///
/// ```
/// use tool_runtime::registry::overrides::{MemoryOverrides, conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryOverrides::new();
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
    S: OverrideStore + 'static,
{
    let [first, second] = [first, second].map(Arc::new);
    for (writer, reader) in [(&first, &second), (&second, &first)] {
        let version = reader.load().await.map_err(failed(WAIT))?.version;
        let waiting = tokio::spawn({
            let reader = Arc::clone(reader);
            async move { timeout(NOTICED_WITHIN, reader.wait_for_change(version)).await }
        });
        // The reader waits by now, or finds the change at once.
        tokio::task::yield_now().await;
        let text = version.to_string();
        let set = writer.set_description("t", Some(&text)).await.map_err(failed(WAIT))?;
        let noticed = matches!(waiting.await, Ok(Ok(Ok(()))));
        ensure_eq(WAIT, &noticed, &true)?;
        let loaded = reader.load().await.map_err(failed(WAIT))?;
        let loaded = (loaded.version, loaded.descriptions.get("t").cloned());
        ensure_eq(WAIT, &loaded, &(set, Some(text)))?;
    }
    let before = first.load().await.map_err(failed(CONCURRENT))?.version;
    change_concurrently([first, second], before).await
}

async fn check_changes(store: &dyn OverrideStore) -> Result<(), Violation> {
    let mut expected = ToolOverrides::default();
    ensure_eq(EMPTY, &store.load().await.map_err(failed(EMPTY))?, &expected)?;
    let long = "\u{e9}x".repeat(100_000);
    let texts = ["", "\0 \u{1f980} '\"\\\n%_", long.as_str()];
    for (name, text) in ["a", "A", "a__b", "a%", "a'"].into_iter().zip(texts.iter().cycle()) {
        for text in ["before", *text] {
            let version = store.set_description(name, Some(text)).await.map_err(failed(LOADED))?;
            expected.version += 1;
            ensure_eq(VERSION, &version, &expected.version)?;
            drop(expected.descriptions.insert(name.to_owned(), text.to_owned()));
        }
        let preference =
            ToolPreference::default().weight(0.1).hidden().with_override("text", *text);
        let version =
            store.set_preference(name, Some(&preference)).await.map_err(failed(LOADED))?;
        expected.version += 1;
        ensure_eq(VERSION, &version, &expected.version)?;
        drop(expected.preferences.insert(name.to_owned(), preference));
        ensure_eq(LOADED, &store.load().await.map_err(failed(LOADED))?, &expected)?;
    }
    for name in ["a", "none"] {
        store.set_description(name, None).await.map_err(failed(LOADED))?;
        drop(expected.descriptions.remove(name));
        store.set_preference(name, None).await.map_err(failed(LOADED))?;
        drop(expected.preferences.remove(name));
        expected.version += 2;
        ensure_eq(VERSION, &store.load().await.map_err(failed(VERSION))?, &expected)?;
    }
    for other in [0, expected.version - 1, expected.version + 1] {
        let wait = timeout(NOTICED_WITHIN, store.wait_for_change(other)).await;
        ensure_eq(CURRENT, &matches!(wait, Ok(Ok(()))), &true)?;
    }
    Ok(())
}

async fn check_concurrent_changes<S>(handles: [Arc<S>; 2]) -> Result<(), Violation>
where
    S: OverrideStore + 'static,
{
    change_concurrently(handles, 0).await
}

async fn change_concurrently<S>(handles: [Arc<S>; 2], before: u64) -> Result<(), Violation>
where
    S: OverrideStore + 'static,
{
    let mut tasks = JoinSet::new();
    for (writer, store) in handles.iter().cycle().take(WRITERS).enumerate() {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            let mut versions = Vec::new();
            for number in 0..WRITES {
                let name = format!("t{writer}_{number}");
                versions.push(store.set_description(&name, Some(&name)).await?);
            }
            Ok::<_, OverrideError>(versions)
        });
    }
    let mut versions = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        let joined =
            joined.map_err(|error| Violation { rule: CONCURRENT, details: error.to_string() })?;
        versions.extend(joined.map_err(failed(CONCURRENT))?);
    }
    versions.sort_unstable();
    let count = u64::try_from(WRITERS * WRITES).unwrap_or_default();
    ensure_eq(CONCURRENT, &versions, &(before + 1..=before + count).collect())?;
    let [store, _] = handles;
    let loaded = store.load().await.map_err(failed(CONCURRENT))?;
    let is_there = |number: usize| {
        loaded.descriptions.contains_key(&format!("t{}_{}", number / WRITES, number % WRITES))
    };
    ensure_eq(CONCURRENT, &(0..WRITERS * WRITES).all(is_there), &true)
}
