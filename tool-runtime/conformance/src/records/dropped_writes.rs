//! Checks writes whose future is dropped.

use tool_core::records::{Expected, RecordList, Records};

use super::operations::list_all;
use crate::Violation;
use crate::checks::poll_times;
use crate::violation::{ensure, failed};

/// The number of writes to drop, each after one poll more than the one before.
const DROPPED_WRITES: usize = 16;

const COMPLETE: &str = "a write whose future is dropped is done completely or not at all";

/// Checks that a write is done completely or not at all, whenever it is dropped.
///
/// A dropped write may still be done in the background, at any later moment.
pub(super) async fn check(store: &dyn Records) -> Result<(), Violation> {
    for number in 1..=DROPPED_WRITES {
        let (value, order) = (number.to_string(), i64::try_from(number).ok());
        let save = store.save("c", "k", Expected::Any, &value, order);
        if let Some(saved) = poll_times(number, save).await {
            saved.map_err(failed(COMPLETE))?;
        }
        ensure_whole(&list_all(store, "c", COMPLETE).await?)?;
        if number % 3 == 0 {
            let delete = store.delete("c", "k", Expected::Any);
            if let Some(deleted) = poll_times(number, delete).await {
                deleted.map_err(failed(COMPLETE))?;
            }
            ensure_whole(&list_all(store, "c", COMPLETE).await?)?;
        }
    }
    Ok(())
}

/// Fails unless the collection is as after one of the writes. Each saves a number as value and as
/// order.
fn ensure_whole(list: &RecordList) -> Result<(), Violation> {
    let is_whole = match list.records.as_slice() {
        [] => list.corrupt.is_empty(),
        [record] => {
            let number = record.value.parse().ok();
            number.is_some() && record.order == number && record.revision == list.counter
        }
        _ => false,
    };
    let expected = "the value, the order and the revision of one write, or no record";
    ensure(is_whole, COMPLETE, expected, || format!("{list:?}"))
}
