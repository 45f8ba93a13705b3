//! The suite for stores of pinned MCP definitions, by the contract of [`PinStore`].
//!
//! ```
//! use tool_conformance::pins;
//! use tool_runtime::mcp::MemoryPins;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! assert_eq!(pins::check(|| async { MemoryPins::new() }).await, []);
//!
//! let store = MemoryPins::new();
//! assert_eq!(pins::check_handles(store.clone(), store).await, []);
//! # }
//! ```

use std::sync::Arc;

use serde_json::{Value, json};
use tool_mcp::{PinStore, PinnedDefinition, Pins};

use crate::Violation;
use crate::checks::{Checks, Scheduling, Work, poll_times};
use crate::violation::{ensure_eq, failed};

/// Names of servers and of tools that a store must distinguish.
const NAMES: [&str; 10] =
    ["docs", "Docs", "docs ", "", "döcs", "do\u{308}cs", "docs\0", "../docs", "%", "'; DROP --"];

/// The number of concurrent writers.
const WRITERS: usize = 16;

/// Checks a store of pins against the contract of [`PinStore`].
///
/// `open` returns a store without pins and is called a few times: return a new file or schema each
/// time. If a store can be cloned, or opened more than once, run [`check_handles`] as well.
///
/// ```
/// use tool_conformance::pins;
/// use tool_runtime::mcp::MemoryPins;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// assert_eq!(pins::check(|| async { MemoryPins::new() }).await, []);
/// # }
/// ```
pub async fn check<S, F>(open: impl Fn() -> F) -> Vec<Violation>
where
    S: PinStore + 'static,
    F: Future<Output = S>,
{
    let open = &open;
    let mut checks = Checks::default();
    checks.run(async { check_contents(&open().await).await }).await;
    checks.run(async { check_replacement(&open().await).await }).await;
    checks.run(async { check_dropped_saves(&open().await).await }).await;
    for scheduling in Scheduling::ALL {
        checks
            .run(async {
                let store = Arc::new(open().await);
                check_concurrent_saves(scheduling, [Arc::clone(&store), store]).await
            })
            .await;
    }
    checks.found()
}

/// Checks two handles of one store of pins, such as a store and its clone, or one database that is
/// opened twice.
///
/// The checks cover that each handle sees at once what the other saves, and that neither loses what
/// the other saves at the same time. The store must have no pins yet.
///
/// ```
/// use tool_conformance::pins;
/// use tool_runtime::mcp::MemoryPins;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = MemoryPins::new();
/// assert_eq!(pins::check_handles(store.clone(), store).await, []);
/// # }
/// ```
pub async fn check_handles<S: PinStore + 'static>(first: S, second: S) -> Vec<Violation> {
    let handles = [first, second].map(Arc::new);
    let mut checks = Checks::default();
    checks.run(check_visibility(&handles)).await;
    for scheduling in Scheduling::ALL {
        checks.run(check_concurrent_saves(scheduling, handles.clone())).await;
    }
    checks.found()
}

async fn check_visibility<S: PinStore>(handles: &[Arc<S>; 2]) -> Result<(), Violation> {
    const RULE: &str = "a handle sees at once what another one saves";
    let [first, second] = handles;
    for (round, (writer, reader)) in [(first, second), (second, first)].into_iter().enumerate() {
        for description in ["first", "second"] {
            let pins = pins([("find", json!({ "description": description, "round": round }))]);
            writer.save("visible", &pins).await.map_err(failed(RULE))?;
            let loaded = reader.load("visible").await.map_err(failed(RULE))?;
            ensure_eq(RULE, &loaded, &Some(pins))?;
        }
    }
    Ok(())
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
        let saved = poll_times(polls, store.save(&name, &new)).await;
        saved.transpose().map_err(&fail)?;
        // A save that continues in the background is done before this load, or after it.
        let loaded = store.load(&name).await.map_err(&fail)?;
        let expected = if loaded.as_ref() == Some(&old) { &old } else { &new };
        ensure_eq(RULE, &loaded.as_ref(), &Some(expected))?;
    }
    Ok(())
}

async fn check_concurrent_saves<S: PinStore + 'static>(
    scheduling: Scheduling,
    handles: [Arc<S>; 2],
) -> Result<(), Violation> {
    const RULE: &str = "concurrent saves of different servers are all stored";
    let name = move |number: usize| format!("{scheduling:?} {number}");
    let writers = handles.iter().cycle().take(WRITERS).cloned().enumerate();
    let works = writers.map(|(number, store)| -> Work<()> {
        Box::pin(async move { store.save(&name(number), &samples()).await.map_err(failed(RULE)) })
    });
    scheduling.run(works.collect()).await?;
    let [store, _] = &handles;
    for number in 0..WRITERS {
        let loaded = store.load(&name(number)).await.map_err(failed(RULE))?;
        ensure_eq(RULE, &loaded, &Some(samples()))?;
    }
    Ok(())
}
