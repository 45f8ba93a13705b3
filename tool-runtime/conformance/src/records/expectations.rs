//! Checks of the expectations of writers.

use tool_core::records::{Expected, Records, StoreError};

use super::operations::{delete, list_all, save};
use crate::Violation;
use crate::violation::{ensure_eq, failed};

const EXPECTED: &str = "a write is done only if the stored record is as expected";
const REFUSED: &str = "a refused write changes nothing";

/// The writes that precede a check.
#[derive(Clone, Copy)]
enum History {
    Missing,
    Saved,
    Replaced,
    Deleted,
}

/// Checks each expectation against each history of a record.
pub(super) async fn check(store: &dyn Records) -> Result<(), Violation> {
    use History::{Deleted, Missing, Replaced, Saved};
    // A revision of another record.
    let other = save(store, "c", ("other", "0", None), EXPECTED).await?;
    let mut number = 0;
    for history in [Missing, Saved, Replaced, Deleted] {
        for is_save in [true, false] {
            for expectation in 0..8 {
                number += 1;
                let key = format!("{number}");
                let (first, stored) = prepare(store, &key, history).await?;
                let current = stored.unwrap_or(first);
                let expected = match expectation {
                    0 => Expected::Any,
                    1 => Expected::Absent,
                    2 => Expected::Revision(0),
                    3 => Expected::Revision(first),
                    4 => Expected::Revision(current),
                    5 => Expected::Revision(current.saturating_add(1)),
                    6 => Expected::Revision(u64::MAX),
                    _ => Expected::Revision(other),
                };
                check_write(store, &key, stored, expected, is_save).await?;
            }
        }
    }
    Ok(())
}

/// Returns the first revision of the record, and the stored one.
async fn prepare(
    store: &dyn Records,
    key: &str,
    history: History,
) -> Result<(u64, Option<u64>), Violation> {
    if matches!(history, History::Missing) {
        return Ok((1, None));
    }
    let first = save(store, "c", (key, "1", Some(1)), EXPECTED).await?;
    let stored = match history {
        History::Replaced => Some(save(store, "c", (key, "2", Some(2)), EXPECTED).await?),
        History::Deleted => {
            delete(store, "c", key, EXPECTED).await?;
            None
        }
        History::Missing | History::Saved => Some(first),
    };
    Ok((first, stored))
}

async fn check_write(
    store: &dyn Records,
    key: &str,
    stored: Option<u64>,
    expected: Expected,
    is_save: bool,
) -> Result<(), Violation> {
    let before = list_all(store, "c", REFUSED).await?;
    let written = if is_save {
        store.save("c", key, expected, "new", Some(9)).await
    } else {
        store.delete("c", key, expected).await
    };
    let outcome = |error: Option<&StoreError>| match error {
        None => format!("a success for {expected:?}, where {stored:?} is stored"),
        Some(error) => format!("{error:?} for {expected:?}, where {stored:?} is stored"),
    };
    let refusal = expected.check(key, stored).err();
    ensure_eq(EXPECTED, &outcome(written.as_ref().err()), &outcome(refusal.as_ref()))?;
    let after = list_all(store, "c", REFUSED).await?;
    if refusal.is_some() {
        return ensure_eq(REFUSED, &after, &before);
    }
    let revision = written.map_err(failed(EXPECTED))?;
    let record = after.records.iter().find(|record| record.key == key);
    let record = record.map(|it| (it.revision, it.value.as_str(), it.order));
    ensure_eq(EXPECTED, &record, &is_save.then_some((revision, "new", Some(9))))
}
