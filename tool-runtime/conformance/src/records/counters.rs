//! Checks of counters and revisions.

use tool_core::records::{Expected, RecordList, RecordQuery, Records};

use super::operations::{delete, list, list_all, load, save};
use crate::Violation;
use crate::violation::{ensure, ensure_eq, failed};

const EMPTY: &str = "a collection without writes has the counter 0 and no records";
const RAISED: &str = "a write raises the counter, and has its new value as the revision";
const SEPARATE: &str = "collections share neither counters nor records";

/// A write: its key, its expectation, and whether it saves or deletes.
type Write = (&'static str, Expected, bool);

/// Writes that succeed in this order. Deletions of what does not exist are writes, too.
const WRITES: [Write; 12] = [
    ("a", Expected::Absent, true),
    ("a", Expected::Any, true),
    ("b", Expected::Any, true),
    ("a", Expected::Any, false),
    ("a", Expected::Any, false),
    ("a", Expected::Absent, false),
    ("b", Expected::Any, false),
    ("a", Expected::Absent, true),
    ("a", Expected::Any, false),
    ("b", Expected::Absent, false),
    ("b", Expected::Absent, true),
    ("b", Expected::Any, true),
];

/// Checks that the counter begins at 0, and that each write raises it.
pub(super) async fn check_counter(store: &dyn Records) -> Result<(), Violation> {
    ensure_eq(EMPTY, &list_all(store, "c", EMPTY).await?, &RecordList::default())?;
    ensure_eq(EMPTY, &load(store, "c", "a", EMPTY).await?, &None)?;
    let mut last = 0;
    for (key, expected, is_save) in WRITES {
        let written = if is_save {
            store.save("c", key, expected, "value", None).await
        } else {
            store.delete("c", key, expected).await
        };
        let revision = written.map_err(failed(RAISED))?;
        let above = format!("a revision above {last}");
        ensure(revision > last, RAISED, &above, || revision.to_string())?;
        last = revision;
        let found = list_all(store, "c", RAISED).await?;
        ensure_eq(RAISED, &found.counter, &revision)?;
        let counter = list(store, "c", &RecordQuery::all().limit(0), RAISED).await?.counter;
        ensure_eq(RAISED, &counter, &revision)?;
        let record = load(store, "c", key, RAISED).await?;
        ensure_eq(RAISED, &record.map(|it| it.revision), &is_save.then_some(revision))?;
    }
    Ok(())
}

/// Checks that a write is seen in its collection only.
pub(super) async fn check_collections(store: &dyn Records) -> Result<(), Violation> {
    save(store, "one", ("a", "1", Some(1)), SEPARATE).await?;
    let counter = save(store, "one", ("b", "1", None), SEPARATE).await?;
    ensure_eq(SEPARATE, &list_all(store, "two", SEPARATE).await?, &RecordList::default())?;
    ensure_eq(SEPARATE, &load(store, "two", "a", SEPARATE).await?, &None)?;
    let before = list_all(store, "one", SEPARATE).await?;
    ensure_eq(SEPARATE, &before.counter, &counter)?;
    save(store, "two", ("a", "2", Some(2)), SEPARATE).await?;
    delete(store, "two", "a", SEPARATE).await?;
    let two = save(store, "two", ("b", "2", None), SEPARATE).await?;
    ensure_eq(SEPARATE, &list_all(store, "one", SEPARATE).await?, &before)?;
    let found = list_all(store, "two", SEPARATE).await?;
    ensure_eq(SEPARATE, &(found.counter, found.records.len()), &(two, 1))
}
