//! Checks that names, keys, values and orders come back as they were saved.

use std::collections::BTreeSet;

use tool_core::records::Records;

use super::names::TEXTS;
use super::operations::{delete, list_all, load, save};
use crate::Violation;
use crate::violation::ensure_eq;

const KEYS: &str = "keys that differ in a byte are different";
const COLLECTIONS: &str = "names of collections that differ in a byte are different";
const VALUES: &str = "a value comes back byte for byte";
const ORDERS: &str = "the order of a record comes back unchanged, and is replaced with the record";
const BYTES: &str = "records are listed in the order of the bytes of their keys";

/// Checks keys that are hard to tell apart.
pub(super) async fn check_keys(store: &dyn Records) -> Result<(), Violation> {
    let long = ["b", "c"].map(|end| "a".repeat(1_000) + end);
    let mut keys: BTreeSet<&str> =
        TEXTS.into_iter().chain(long.iter().map(String::as_str)).collect();
    for key in &keys {
        save(store, "c", (key, key, None), KEYS).await?;
    }
    for deleted in ["a", "B", "e\u{301}"] {
        delete(store, "c", deleted, KEYS).await?;
        keys.remove(deleted);
        ensure_eq(KEYS, &load(store, "c", deleted, KEYS).await?, &None)?;
    }
    for key in &keys {
        let record = load(store, "c", key, KEYS).await?.map(|it| (it.key, it.value));
        ensure_eq(KEYS, &record, &Some(((*key).to_owned(), (*key).to_owned())))?;
    }
    let listed = list_all(store, "c", KEYS).await?.records;
    let listed: Vec<_> = listed.iter().map(|it| it.key.as_str()).collect();
    let found: BTreeSet<_> = listed.iter().copied().collect();
    ensure_eq(KEYS, &found, &keys)?;
    ensure_eq(BYTES, &listed, &keys.into_iter().collect())
}

/// Checks names of collections that are hard to tell apart.
pub(super) async fn check_collections(store: &dyn Records) -> Result<(), Violation> {
    for name in TEXTS {
        save(store, name, ("key", name, None), COLLECTIONS).await?;
    }
    for name in TEXTS {
        let listed = list_all(store, name, COLLECTIONS).await?;
        let values: Vec<_> = listed.records.iter().map(|it| it.value.as_str()).collect();
        ensure_eq(COLLECTIONS, &values, &vec![name])?;
        let record = load(store, name, "key", COLLECTIONS).await?;
        ensure_eq(COLLECTIONS, &record.map(|it| it.value), &Some(name.to_owned()))?;
    }
    Ok(())
}

/// Checks values and orders that are hard to store.
pub(super) async fn check_values(store: &dyn Records) -> Result<(), Violation> {
    let long = ["\u{e9}x".repeat(20_000), "\0".repeat(50_000), "\\\"".repeat(20_000)];
    let formats = ["{\"a\": 1, \"a\": 2.0}", "[1e400]", "1e3", "\"text\"", "{", "<a>&amp;</a>"];
    let texts = TEXTS.into_iter().chain(formats).chain(long.iter().map(String::as_str));
    for text in texts {
        save(store, "c", ("key", text, None), VALUES).await?;
        let record = load(store, "c", "key", VALUES).await?;
        ensure_eq(VALUES, &record.map(|it| it.value), &Some(text.to_owned()))?;
        let listed = list_all(store, "c", VALUES).await?.records;
        let listed: Vec<_> = listed.iter().map(|it| it.value.as_str()).collect();
        ensure_eq(VALUES, &listed, &vec![text])?;
    }
    // The last one is no floating-point number.
    let odd = (1 << 53) + 1;
    for order in [Some(0), None, Some(i64::MIN), Some(i64::MAX), Some(-1), None, Some(odd)] {
        save(store, "c", ("key", "value", order), ORDERS).await?;
        let record = load(store, "c", "key", ORDERS).await?;
        ensure_eq(ORDERS, &record.map(|it| it.order), &Some(order))?;
        let listed = list_all(store, "c", ORDERS).await?.records;
        ensure_eq(ORDERS, &listed.iter().map(|it| it.order).collect(), &vec![order])?;
    }
    Ok(())
}
