//! Checks of the limits on sizes.

use tool_core::records::{
    Expected, MAX_COLLECTION_BYTES, MAX_KEY_BYTES, MAX_RECORD_BYTES, RecordList, Records,
    StoreError,
};

use super::operations::{delete, list_all, load, save};
use crate::Violation;
use crate::violation::{ensure, ensure_eq};

const STORED: &str = "names, keys and values of the largest sizes are stored";
const REFUSED: &str = "a larger name, key or value is refused as too large, and changes nothing";
const NOT_FOUND: &str = "a read of a larger name or key finds nothing";

/// Returns a text of so many bytes, of characters of two bytes if that fits.
fn text(bytes: usize) -> String {
    "\u{e9}".repeat(bytes / 2) + "x".repeat(bytes % 2).as_str()
}

/// Checks texts of the largest sizes, and texts with a byte more.
pub(super) async fn check(store: &dyn Records) -> Result<(), Violation> {
    let largest = [MAX_COLLECTION_BYTES, MAX_KEY_BYTES, MAX_RECORD_BYTES].map(text);
    let [collection, key, value] = &largest;
    for (collection, key, value) in [
        (collection.as_str(), "k", "v"),
        ("c", key, "v"),
        ("c", "k", value),
        (collection, key, value),
    ] {
        save(store, collection, (key, value, None), STORED).await?;
        let record = load(store, collection, key, STORED).await?;
        let found = record.map(|it| (it.key, it.value));
        ensure_eq(STORED, &found, &Some((key.to_owned(), value.to_owned())))?;
        let listed = list_all(store, collection, STORED).await?.records;
        ensure(listed.iter().any(|it| it.key == key), STORED, "the record in the list", || {
            format!("{} others", listed.len())
        })?;
    }
    delete(store, collection, key, STORED).await?;

    let larger = [MAX_COLLECTION_BYTES, MAX_KEY_BYTES, MAX_RECORD_BYTES].map(|max| text(max + 1));
    let [long_collection, long_key, long_value] = &larger;
    let before = list_all(store, "c", REFUSED).await?;
    for (collection, key, value, max_bytes) in [
        (long_collection.as_str(), "k", "v", MAX_COLLECTION_BYTES),
        ("c", long_key, "v", MAX_KEY_BYTES),
        ("c", "k", long_value, MAX_RECORD_BYTES),
        ("c", "new", long_value, MAX_RECORD_BYTES),
    ] {
        let saved = store.save(collection, key, Expected::Any, value, None).await;
        ensure_too_large(saved, max_bytes)?;
        if max_bytes != MAX_RECORD_BYTES {
            ensure_too_large(store.delete(collection, key, Expected::Any).await, max_bytes)?;
        }
        ensure_eq(REFUSED, &list_all(store, "c", REFUSED).await?, &before)?;
    }
    for (collection, key) in [(long_collection.as_str(), "k"), ("c", long_key)] {
        ensure_eq(NOT_FOUND, &load(store, collection, key, NOT_FOUND).await?, &None)?;
    }
    let listed = list_all(store, long_collection, NOT_FOUND).await?;
    ensure_eq(NOT_FOUND, &listed, &RecordList::default())
}

fn ensure_too_large(written: Result<u64, StoreError>, limit: usize) -> Result<(), Violation> {
    let is_refused = matches!(
        written,
        Err(StoreError::TooLarge { bytes, max_bytes, .. })
            if (bytes, max_bytes) == (limit + 1, limit)
    );
    let expected = format!("`TooLarge` with {} of {limit} bytes", limit + 1);
    ensure(is_refused, REFUSED, &expected, || match written {
        Ok(_) => "a success".to_owned(),
        Err(error) => format!("the error `{error}`"),
    })
}
