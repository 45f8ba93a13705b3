//! Checks of concurrent writers.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::yield_now;
use tool_core::records::{Expected, Records};

use super::operations::load;
use crate::Violation;
use crate::checks::{Scheduling, Work};
use crate::violation::{ensure, ensure_eq, failed};

/// The number of concurrent writers, of the writes of each, and of rounds with one winner.
const WRITERS: usize = 4;
const WRITES: usize = 8;
const ROUNDS: usize = 8;

const ONE_WINNER: &str = "of concurrent writers that expect one revision, exactly one succeeds";
const WINNER: &str = "after concurrent writes, the record of the writer that succeeded is stored";
const LOST: &str = "no write is lost if its writer expects the revision that it has seen";
const DISTINCT: &str = "concurrent writes have different revisions, and the last one stays";

type Handles<R> = [Arc<R>; 2];

/// Checks that of concurrent writers, which use two handles in turn, one succeeds.
pub(super) async fn check_one_winner<R: Records + 'static>(
    handles: &Handles<R>,
) -> Result<(), Violation> {
    for scheduling in Scheduling::ALL {
        check_winners(scheduling, handles).await?;
    }
    Ok(())
}

async fn check_winners<R: Records + 'static>(
    scheduling: Scheduling,
    handles: &Handles<R>,
) -> Result<(), Violation> {
    let [store, _] = handles;
    let mut expected = Expected::Absent;
    for round in 0..ROUNDS {
        // The last rounds delete.
        let is_save = round + 2 < ROUNDS;
        let works = handles.iter().cycle().take(WRITERS).enumerate();
        let works = works.map(|(writer, store)| -> Work<Option<(u64, String)>> {
            let (store, value) = (Arc::clone(store), format!("{round} of {writer}"));
            Box::pin(async move {
                let written = if is_save {
                    store.save("one", "k", expected, &value, None).await
                } else {
                    store.delete("one", "k", expected).await
                };
                match written {
                    Ok(revision) => Ok(Some((revision, value))),
                    Err(error) if error.is_conflict() => Ok(None),
                    Err(error) => Err(failed(ONE_WINNER)(error)),
                }
            })
        });
        let written = scheduling.run(works.collect()).await?;
        let winners: Vec<_> = written.into_iter().flatten().collect();
        let describe = || format!("{} successes for {expected:?}", winners.len());
        ensure(winners.len() == 1, ONE_WINNER, "1 success", describe)?;
        let record = load(store, "one", "k", WINNER).await?;
        let stored = record.map(|it| (it.revision, it.value));
        let winner = winners.into_iter().next().filter(|_| is_save);
        ensure_eq(WINNER, &stored, &winner)?;
        expected = match (winner, round + 2 == ROUNDS) {
            (Some((revision, _)), _) => Expected::Revision(revision),
            // The last round deletes a record, so there has to be one.
            (None, true) => {
                let saved = store.save("one", "k", Expected::Absent, "again", None).await;
                Expected::Revision(saved.map_err(failed(ONE_WINNER))?)
            }
            (None, false) => Expected::Absent,
        };
    }
    Ok(())
}

/// Checks that concurrent writers lose no write if they expect what they have read.
pub(super) async fn check_no_lost_write<R: Records + 'static>(
    handles: &Handles<R>,
) -> Result<(), Violation> {
    for scheduling in Scheduling::ALL {
        check_counts(scheduling, handles).await?;
    }
    Ok(())
}

async fn check_counts<R: Records + 'static>(
    scheduling: Scheduling,
    handles: &Handles<R>,
) -> Result<(), Violation> {
    let key = format!("{scheduling:?}");
    let works = handles
        .iter()
        .cycle()
        .take(WRITERS)
        .map(|store| -> Work<()> { Box::pin(count_up(Arc::clone(store), key.clone())) });
    scheduling.run(works.collect()).await?;
    let [store, _] = handles;
    let record = load(store, "count", &key, LOST).await?;
    ensure_eq(LOST, &record.map(|it| it.value), &Some((WRITERS * WRITES).to_string()))
}

/// Counts up in one record, beside others that do the same.
async fn count_up(store: Arc<impl Records>, key: String) -> Result<(), Violation> {
    for _ in 0..WRITES {
        // A writer conflicts at most as often as all others write.
        let mut is_saved = false;
        for _ in 0..=WRITERS * WRITES {
            let record = load(&store, "count", &key, LOST).await?;
            let number = record.as_ref().and_then(|it| it.value.parse::<usize>().ok());
            let expected = record.map_or(Expected::Absent, |it| Expected::Revision(it.revision));
            let next = (number.unwrap_or_default() + 1).to_string();
            yield_now().await;
            match store.save("count", &key, expected, &next, None).await {
                Ok(_) => {
                    is_saved = true;
                    break;
                }
                Err(error) if error.is_conflict() => yield_now().await,
                Err(error) => return Err(failed(LOST)(error)),
            }
        }
        ensure(is_saved, LOST, "a success after a conflict", || "only conflicts".to_owned())?;
    }
    Ok(())
}

/// Checks that concurrent writers get different revisions.
pub(super) async fn check_revisions<R: Records + 'static>(
    handles: &Handles<R>,
) -> Result<(), Violation> {
    for scheduling in Scheduling::ALL {
        check_distinct(scheduling, handles).await?;
    }
    Ok(())
}

async fn check_distinct<R: Records + 'static>(
    scheduling: Scheduling,
    handles: &Handles<R>,
) -> Result<(), Violation> {
    let works = handles.iter().cycle().take(WRITERS).map(|store| -> Work<Vec<u64>> {
        let store = Arc::clone(store);
        Box::pin(async move {
            let mut revisions = Vec::new();
            for number in 0..WRITES {
                let saved = store.save("any", "k", Expected::Any, &number.to_string(), None).await;
                revisions.push(saved.map_err(failed(DISTINCT))?);
                yield_now().await;
            }
            Ok(revisions)
        })
    });
    let revisions: Vec<_> = scheduling.run(works.collect()).await?.into_iter().flatten().collect();
    let distinct: BTreeSet<_> = revisions.iter().copied().collect();
    ensure_eq(DISTINCT, &distinct.len(), &revisions.len())?;
    let [store, _] = handles;
    let stored = load(store, "any", "k", DISTINCT).await?.map(|it| it.revision);
    ensure_eq(DISTINCT, &stored.as_ref(), &distinct.last())
}
