//! Checks of concurrent writers, and of writes that are dropped.

use std::sync::Arc;

use tokio::task::yield_now;
use tool_knowledge::{DocumentRecord, DocumentStore, DocumentStoreError, SearchFilter};

use super::samples::{EMBEDDER, document};
use crate::Violation;
use crate::checks::{Scheduling, Work, poll_times};
use crate::violation::{ensure_eq, failed};

/// The number of rounds in which all writers expect the same record.
const ROUNDS: usize = 10;

/// The number of writers of each round.
const WRITERS: usize = 4;

pub(super) async fn one_of_concurrent_puts_succeeds<S: DocumentStore + 'static>(
    handles: &[Arc<S>; 2],
) -> Result<(), Violation> {
    const RULE: &str = "of concurrent writers that expect one record, exactly one succeeds";
    let mut current = None;
    for (round, scheduling) in (0..ROUNDS).zip(Scheduling::ALL.into_iter().cycle()) {
        let winners = put_concurrently(scheduling, handles, |writer| {
            (("one", format!("word{round} by{writer}")), current.clone(), usize::MAX)
        });
        let winners = winners.await?;
        ensure_eq(RULE, &winners.len(), &1)?;
        let [first, _] = handles;
        let stored = first.find("t", &["one"]).await.map_err(failed(RULE))?.remove("one");
        let rule = "the document of the writer that succeeded is stored";
        ensure_eq(rule, &stored.as_ref(), &winners.first())?;
        current = stored;
    }
    // One document is stored, so there is room for one of the writers.
    let winners = put_concurrently(Scheduling::Threads, handles, |writer| {
        let source = ["two", "three", "four"].get(writer).copied().unwrap_or("five");
        ((source, "new".into()), None, 2)
    });
    ensure_eq("concurrent writers keep the limit of a tenant", &winners.await?.len(), &1)
}

/// Puts a document by each writer, and returns the records of those that succeeded.
async fn put_concurrently<S: DocumentStore + 'static>(
    scheduling: Scheduling,
    handles: &[Arc<S>; 2],
    write: impl Fn(usize) -> ((&'static str, String), Option<DocumentRecord>, usize),
) -> Result<Vec<DocumentRecord>, Violation> {
    const RULE: &str = "a refused write is a conflict";
    let writers = handles.iter().cycle().take(WRITERS).enumerate();
    let works = writers.map(|(writer, store)| -> Work<Option<DocumentRecord>> {
        let store = Arc::clone(store);
        let ((source, text), expected, most) = write(writer);
        let document = document("t", source, &[(&text, [0.6, 0.8])]);
        Box::pin(async move {
            let record = document.record.clone();
            match store.put_if(document, expected.as_ref(), most).await {
                Ok(()) => Ok(Some(record)),
                Err(
                    DocumentStoreError::Conflict { .. } | DocumentStoreError::TenantFull { .. },
                ) => Ok(None),
                Err(error) => Err(failed(RULE)(error)),
            }
        })
    });
    let results = scheduling.run(works.collect()).await?;
    Ok(results.into_iter().flatten().collect())
}

/// Drops writes after each number of polls.
pub(super) async fn dropped_puts_are_whole(store: &impl DocumentStore) -> Result<(), Violation> {
    const RULE: &str = "a dropped write is done completely or not at all";
    const CHUNKS: usize = 20;
    for polls in 0..4 {
        let tenant = format!("dropped after {polls}");
        let texts: Vec<String> = (0..CHUNKS).map(|number| format!("word {number}")).collect();
        let parts: Vec<_> = texts.iter().map(|text| (text.as_str(), [0.6, 0.8])).collect();
        let documents = ["one", "two"].map(|source| document(&tenant, source, &parts));
        _ = poll_times(polls, store.put(documents.to_vec())).await;
        yield_now().await;
        // A write that continues in the background is done before this search or after all of them.
        let filter = SearchFilter::tenant(&tenant);
        let words = store.search_words("word", &filter, 99).await.map_err(failed(RULE))?.len();
        ensure_eq(RULE, &(words == 0 || words == 2 * CHUNKS), &true)?;
        if words > 0 {
            let found = store.search_vectors(EMBEDDER, &[0.6, 0.8], &filter, 99).await;
            ensure_eq(RULE, &found.map_err(failed(RULE))?.len(), &words)?;
            let found = store.find(&tenant, &["one", "two"]).await.map_err(failed(RULE))?;
            ensure_eq(RULE, &found.len(), &2)?;
        }
    }
    Ok(())
}
