//! Checks that random operations have the same results as in plain maps.

use std::collections::BTreeMap;

use fastrand::Rng;
use tool_core::records::{Expected, Record, Records};

use super::operations::{list_all, load};
use crate::Violation;
use crate::violation::{ensure, ensure_eq};

/// The number of random sequences.
pub(super) const SEEDS: u64 = 8;
/// The number of operations in each.
const OPERATIONS: usize = 30;
const COLLECTIONS: [&str; 2] = ["c", "C"];
const KEYS: [&str; 3] = ["a", "", "A\0"];

const OUTCOME: &str = "a random write is done or refused as in a plain map";
const REVISIONS: &str = "a revision is above all earlier ones of its collection";
const STORED: &str = "a write changes its record and the counter only";

/// The expected content of a collection.
#[derive(Default)]
struct Model {
    counter: u64,
    records: BTreeMap<&'static str, Record>,
}

pub(super) async fn check(store: &dyn Records, seed: u64) -> Result<(), Violation> {
    let mut rng = Rng::with_seed(seed);
    let mut models = COLLECTIONS.map(|name| (name, Model::default()));
    for number in 0..OPERATIONS {
        if let Some((name, model)) = models.get_mut(rng.usize(..COLLECTIONS.len())) {
            write(store, name, model, number, &mut rng).await?;
        }
        for (name, model) in &models {
            let listed = list_all(store, name, STORED).await?;
            let expected: Vec<_> = model.records.values().cloned().collect();
            ensure_eq(STORED, &listed.records, &expected)?;
            ensure_eq(STORED, &listed.counter, &model.counter)?;
            for key in KEYS {
                let record = load(store, name, key, STORED).await?;
                ensure_eq(STORED, &record.as_ref(), &model.records.get(key))?;
            }
        }
    }
    Ok(())
}

/// Saves or deletes a random record, with a random expectation.
async fn write(
    store: &dyn Records,
    collection: &str,
    model: &mut Model,
    number: usize,
    rng: &mut Rng,
) -> Result<(), Violation> {
    let key = rng.choice(KEYS).unwrap_or_default();
    let stored = model.records.get(key).map(|record| record.revision);
    let expected = match rng.u8(..6) {
        0 => Expected::Absent,
        1 => Expected::Revision(rng.u64(..=model.counter + 1)),
        2 => Expected::Any,
        _ => stored.map_or(Expected::Absent, Expected::Revision),
    };
    let saves = rng.u8(..4) > 0;
    let (value, order) = (format!("{number}"), rng.bool().then(|| rng.i64(..)));
    let written = if saves {
        store.save(collection, key, expected, &value, order).await
    } else {
        store.delete(collection, key, expected).await
    };
    let revision = match (written, expected.check(key, stored)) {
        (Ok(revision), Ok(())) => revision,
        (Err(found), Err(expected)) => {
            return ensure_eq(OUTCOME, &format!("{found:?}"), &format!("{expected:?}"));
        }
        (found, expected) => {
            return ensure_eq(
                OUTCOME,
                &format!("{:?}", found.map(|_| ())),
                &format!("{expected:?}"),
            );
        }
    };
    let above = format!("a revision above {}", model.counter);
    ensure(revision > model.counter, REVISIONS, &above, || revision.to_string())?;
    model.counter = revision;
    if saves {
        model.records.insert(key, Record::new(key, revision, value).order(order));
    } else {
        model.records.remove(key);
    }
    Ok(())
}
