//! Checks that a list shows one moment, also during writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::yield_now;
use tool_core::records::{Expected, Record, RecordList, Records};

use super::operations::{list_all, load};
use crate::Violation;
use crate::checks::{Scheduling, Work};
use crate::violation::{ensure_eq, failed};

/// The number of writers, each with one record, of the writes of each, and of the lists.
const WRITERS: usize = 3;
const WRITES: usize = 16;
const LISTS: usize = 40;

const MOMENT: &str = "a list shows all writes up to its counter, and none after it";
const VISIBLE: &str = "a write is visible as soon as its future has returned";

/// The log of one of the concurrent writers and readers.
enum Log {
    /// The records by their revisions; `None` after a deletion.
    Writes(Vec<(u64, String, Option<Record>)>),
    Lists(Vec<RecordList>),
}

/// Checks the lists of one handle during the writes of another.
pub(super) async fn check<R: Records + 'static>(handles: &[Arc<R>; 2]) -> Result<(), Violation> {
    let [writing, reading] = handles;
    for scheduling in Scheduling::ALL {
        let collection = format!("{scheduling:?}");
        let mut works: Vec<Work<Log>> = Vec::new();
        for writer in 0..WRITERS {
            works.push(Box::pin(write(Arc::clone(writing), collection.clone(), writer)));
        }
        works.push(Box::pin(read(Arc::clone(reading), collection.clone())));
        let (mut writes, mut lists) = (Vec::new(), Vec::new());
        for log in scheduling.run(works).await? {
            match log {
                Log::Writes(more) => writes.extend(more),
                Log::Lists(more) => lists.extend(more),
            }
        }
        writes.sort_by_key(|(revision, ..)| *revision);
        lists.push(list_all(reading, &collection, MOMENT).await?);
        for list in lists {
            ensure_eq(MOMENT, &list, &at(list.counter, &writes))?;
        }
    }
    Ok(())
}

/// Returns the list at the moment of a counter.
fn at(counter: u64, writes: &[(u64, String, Option<Record>)]) -> RecordList {
    let mut records = BTreeMap::new();
    for (revision, key, record) in writes {
        if *revision <= counter {
            records.insert(key, record.clone());
        }
    }
    RecordList::new(counter, records.into_values().flatten().collect())
}

async fn write(
    store: Arc<impl Records>,
    collection: String,
    writer: usize,
) -> Result<Log, Violation> {
    let key = format!("key {writer}");
    let mut writes = Vec::new();
    for number in 0..WRITES {
        let value = number.to_string();
        let written = if number % 5 == 3 {
            store.delete(&collection, &key, Expected::Any).await
        } else {
            store.save(&collection, &key, Expected::Any, &value, Some(1)).await
        };
        let revision = written.map_err(failed(MOMENT))?;
        let record = (number % 5 != 3).then(|| Record::new(&key, revision, value).order(1));
        ensure_eq(VISIBLE, &load(&store, &collection, &key, VISIBLE).await?, &record)?;
        writes.push((revision, key.clone(), record));
        yield_now().await;
    }
    Ok(Log::Writes(writes))
}

async fn read(store: Arc<impl Records>, collection: String) -> Result<Log, Violation> {
    let mut lists = Vec::new();
    for _ in 0..LISTS {
        lists.push(list_all(&store, &collection, MOMENT).await?);
        yield_now().await;
    }
    Ok(Log::Lists(lists))
}
