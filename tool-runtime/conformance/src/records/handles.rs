//! Checks two handles of one store.

use tool_core::records::{Expected, Record, RecordList, Records, StoreError};

use super::operations::{delete, list_all, load, save};
use crate::Violation;
use crate::violation::{ensure, ensure_eq};

const LOADED: &str = "a handle loads what another handle saved";
const LISTED: &str = "a handle lists what another handle saved";
const CONFLICT: &str = "a write on a revision that another handle replaced is a conflict";
const DELETED: &str = "a handle does not load what another handle deleted";

/// Checks that one handle sees what the other writes, even if it has read the record before.
pub(super) async fn check(writer: &dyn Records, reader: &dyn Records) -> Result<(), Violation> {
    ensure_eq(LOADED, &load(reader, "seen", "k", LOADED).await?, &None)?;
    let mut first = 0;
    for value in ["1", "2"] {
        let before = first;
        first = save(writer, "seen", ("k", value, Some(7)), LOADED).await?;
        let record = Record::new("k", first, value).order(7);
        ensure_eq(LOADED, &load(reader, "seen", "k", LOADED).await?.as_ref(), &Some(&record))?;
        let listed = list_all(reader, "seen", LISTED).await?;
        ensure_eq(LISTED, &listed, &RecordList::new(first, vec![record]))?;
        let late = reader.save("seen", "k", Expected::Revision(before), "late", None).await;
        let is_conflict =
            matches!(late, Err(StoreError::Conflict { actual, .. }) if actual == first);
        ensure(is_conflict, CONFLICT, "a conflict", || format!("{late:?}"))?;
    }
    let deleted = delete(writer, "seen", "k", DELETED).await?;
    ensure_eq(DELETED, &load(reader, "seen", "k", DELETED).await?, &None)?;
    let listed = list_all(reader, "seen", DELETED).await?;
    ensure_eq(DELETED, &listed, &RecordList::new(deleted, Vec::new()))
}
