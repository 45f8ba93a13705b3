//! A conformance suite for pin stores: tests an implementation of [`PinStore`] against its
//! contract.

use std::fmt::Debug;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Value, json};

use super::pins::{PinStore, PinnedDefinition, Pins};

/// Names of servers and of tools that a store must distinguish.
const NAMES: [&str; 10] =
    ["docs", "Docs", "docs ", "", "döcs", "do\u{308}cs", "docs\0", "../docs", "%", "'; DROP --"];

/// The first rule of the [`PinStore`] contract that a store violates.
///
/// ```
/// use tool_runtime::mcp::{MemoryPins, pin_conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), pin_conformance::Violation> {
/// pin_conformance::check(|| async { MemoryPins::new() }).await
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pin store violates the contract: {rule}: {details}")]
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
    let details = || format!("{actual:?} instead of {expected:?}");
    if actual == expected { Ok(()) } else { Err(Violation { rule, details: details() }) }
}

/// Returns the violation of a store that fails where it has to succeed.
fn failed(rule: &'static str) -> impl Fn(io::Error) -> Violation {
    move |error| Violation { rule, details: format!("it failed: {error}") }
}

/// Checks a pin store against the contract of [`PinStore`].
///
/// `open` returns a store without pins and is called a few times: return a new file or schema each
/// time. If a store can be cloned, or opened more than once, run [`check_handles`] as well.
///
/// ```
/// use tool_runtime::mcp::{MemoryPins, pin_conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// pin_conformance::check(|| async { MemoryPins::new() }).await.unwrap();
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
    S: PinStore + 'static,
    F: Future<Output = S>,
{
    check_contents(&open().await).await?;
    check_replacement(&open().await).await?;
    check_dropped_saves(&open().await).await?;
    let store = Arc::new(open().await);
    check_concurrent_saves([Arc::clone(&store), store]).await
}

/// Checks two handles of one pin store, such as a store and its clone, or one database that is
/// opened twice.
///
/// The checks cover that each handle sees at once what the other saves, and that neither loses what
/// the other saves at the same time. The store must have no pins yet.
///
/// ```
/// use tool_runtime::mcp::{MemoryPins, pin_conformance};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryPins::new();
/// pin_conformance::check_handles(store.clone(), store).await.unwrap();
/// # }
/// ```
///
/// # Errors
/// Returns the first violation, with what the handles did instead.
///
/// # Panics
/// Panics outside a tokio runtime, and if a store panics.
pub async fn check_handles<S: PinStore + 'static>(first: S, second: S) -> Result<(), Violation> {
    const RULE: &str = "a handle sees at once what another one saves";
    for (round, (writer, reader)) in [(&first, &second), (&second, &first)].into_iter().enumerate()
    {
        for description in ["first", "second"] {
            let pins = pins([("find", json!({ "description": description, "round": round }))]);
            writer.save("visible", &pins).await.map_err(failed(RULE))?;
            let loaded = reader.load("visible").await.map_err(failed(RULE))?;
            ensure_eq(RULE, &loaded, &Some(pins))?;
        }
    }
    check_concurrent_saves([first, second].map(Arc::new)).await
}

fn pins<const N: usize>(definitions: [(&str, Value); N]) -> Pins {
    let pin = |(name, definition): (&str, Value)| {
        (name.to_owned(), PinnedDefinition::new(name, definition))
    };
    definitions.into_iter().map(pin).collect()
}

/// Returns pins with every kind of content, of all names.
fn samples() -> Pins {
    let schema = json!({
        "inputSchema": { "properties": { "": { "const": u64::MAX }, "é": { "minimum": -0.5 } } },
        "annotations": [null, true, i64::MIN, 1e300, "\0 \u{202e} 🦀 \"'\\"],
    });
    NAMES.map(|name| pins([(name, schema.clone())])).into_iter().flatten().collect()
}

async fn check_contents(store: &dyn PinStore) -> Result<(), Violation> {
    const RULE: &str = "the pins of each server are loaded as they were saved";
    let fail = failed(RULE);
    for name in NAMES {
        let loaded = store.load(name).await.map_err(&fail)?;
        ensure_eq("an unknown server has no pins", &loaded, &None)?;
        let mut pins = samples();
        pins.extend([(name.to_owned(), PinnedDefinition::new(name, json!({ "of": name })))]);
        store.save(name, &pins).await.map_err(&fail)?;
    }
    for name in NAMES {
        let mut expected = samples();
        expected.extend([(name.to_owned(), PinnedDefinition::new(name, json!({ "of": name })))]);
        let loaded = store.load(name).await.map_err(&fail)?;
        ensure_eq(RULE, &loaded, &Some(expected))?;
    }
    Ok(())
}

async fn check_replacement(store: &dyn PinStore) -> Result<(), Violation> {
    const RULE: &str = "a save replaces all pins of its server";
    let fail = failed(RULE);
    store.save("other", &samples()).await.map_err(&fail)?;
    for pins in [
        pins([("add", json!({ "description": "Adds." })), ("find", json!({}))]),
        pins([("add", json!({ "description": "Adds and mails." }))]),
        Pins::new(),
        pins([("find", json!([]))]),
    ] {
        store.save("docs", &pins).await.map_err(&fail)?;
        let loaded = store.load("docs").await.map_err(&fail)?;
        ensure_eq(RULE, &loaded, &Some(pins))?;
    }
    let loaded = store.load("other").await.map_err(&fail)?;
    ensure_eq("a save leaves other servers unchanged", &loaded, &Some(samples()))
}

/// Drops saves after each number of polls.
async fn check_dropped_saves(store: &dyn PinStore) -> Result<(), Violation> {
    const RULE: &str = "a dropped save is done completely or not at all";
    let fail = failed(RULE);
    let (old, new) = (pins([("old", json!({}))]), samples());
    for polls in 0..4 {
        let name = format!("dropped after {polls}");
        store.save(&name, &old).await.map_err(&fail)?;
        {
            let mut save = pin!(store.save(&name, &new));
            for _ in 0..polls {
                let is_done =
                    poll_fn(|context| Poll::Ready(save.as_mut().poll(context).is_ready()));
                if is_done.await {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        // A save that continues in the background is done before this one, or after it.
        let loaded = store.load(&name).await.map_err(&fail)?;
        let expected = if loaded.as_ref() == Some(&old) { &old } else { &new };
        ensure_eq(RULE, &loaded.as_ref(), &Some(expected))?;
    }
    Ok(())
}

async fn check_concurrent_saves<S: PinStore + 'static>(
    handles: [Arc<S>; 2],
) -> Result<(), Violation> {
    const RULE: &str = "concurrent saves of different servers are all stored";
    let name = |number: usize| format!("server {number}");
    let mut saves = tokio::task::JoinSet::new();
    for (number, store) in handles.iter().cycle().take(16).enumerate() {
        let store = Arc::clone(store);
        saves.spawn(async move { store.save(&name(number), &samples()).await });
    }
    while let Some(saved) = saves.join_next().await {
        let saved = saved.map_err(|error| failed(RULE)(io::Error::other(error)))?;
        saved.map_err(failed(RULE))?;
    }
    for number in 0..16 {
        let [first, _] = &handles;
        let loaded = first.load(&name(number)).await.map_err(failed(RULE))?;
        ensure_eq(RULE, &loaded, &Some(samples()))?;
    }
    Ok(())
}
