//! Searches by words.
//!
//! BM25 reads the list of chunks of each word of a query, and also of the word of the tenant if the
//! query has it. So the tenant is part of the query only if it has few chunks (`small_tenant.rs`);
//! otherwise the chunks of other tenants are left out of the ranking afterwards.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tool_store::rusqlite::{self, OptionalExtension, Transaction};

use super::filter::ChunkFilter;
use super::number;
use super::small_tenant::by_words_of_tenant;
use super::word_counts::WordCounts;
use crate::store::SearchFilter;

/// Bounds of the work of a search.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// How many chunks may contain the words of a query, so that its time is bounded. Words that
    /// are too frequent are left out, beginning with the most frequent one: they say the least.
    matches: i64,
    /// The most chunks of a tenant whose word is part of the query.
    small_tenant: i64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { matches: 200_000, small_tenant: 10_000 }
    }
}

/// How many chunks are ranked for each result, if other chunks than those of the tenant are ranked.
const RANKED_EACH: usize = 8;

/// Returns the chunks that contain stems of a query, best first.
pub(super) fn by_words(
    transaction: &Transaction<'_>,
    counts: &Mutex<WordCounts>,
    stems: &str,
    filter: &SearchFilter,
    limit: usize,
    bounds: Bounds,
) -> rusqlite::Result<Vec<i64>> {
    let words: BTreeSet<&str> = stems.split_whitespace().collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let has_others = has_other_tenants(transaction, &filter.tenant)?;
    if has_others {
        let chunks = count_chunks(transaction, &filter.tenant, bounds.small_tenant)?;
        if chunks <= bounds.small_tenant {
            return by_words_of_tenant(transaction, words, chunks, filter, limit);
        }
    }
    let query = any_of(rare_words(transaction, counts, words, bounds.matches)?);
    if filter.metadata.is_empty() && !has_others {
        return ranked(transaction, &query, None, limit, Some(limit));
    }
    let mut passing = ChunkFilter::new(transaction, filter)?;
    let most = limit.saturating_mul(RANKED_EACH);
    let found = ranked(transaction, &query, Some(&mut passing), limit, Some(most))?;
    if found.len() >= limit {
        return Ok(found);
    }
    ranked(transaction, &query, Some(&mut passing), limit, None)
}

/// Returns the first `limit` chunks that pass a filter, among the `most` best ones.
fn ranked(
    transaction: &Transaction<'_>,
    query: &str,
    mut filter: Option<&mut ChunkFilter<'_>>,
    limit: usize,
    most: Option<usize>,
) -> rusqlite::Result<Vec<i64>> {
    let select = "SELECT rowid FROM knowledge_words WHERE knowledge_words MATCH ?1 \
                  ORDER BY bm25(knowledge_words, 1.0, 0.0), 1 LIMIT ?2";
    let mut select = transaction.prepare(select)?;
    // A negative limit is none.
    let mut rows = select.query((query, most.map_or(-1, number)))?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let chunk = row.get(0)?;
        let passes = filter.as_mut().map_or(Ok(true), |filter| filter.passes(chunk))?;
        found.extend(passes.then_some(chunk));
    }
    Ok(found)
}

/// Returns the query for chunks with any of these words.
fn any_of<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    // Without a column: the other one has no words that a text can have.
    let quoted: Vec<String> = words.into_iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(" OR ")
}

/// Returns whether a document belongs to another tenant.
fn has_other_tenants(transaction: &Transaction<'_>, tenant: &str) -> rusqlite::Result<bool> {
    // Two ranges of the index, where `<>` would read all of it.
    let select = "SELECT EXISTS (SELECT 1 FROM knowledge_documents WHERE tenant < ?1) \
                  OR EXISTS (SELECT 1 FROM knowledge_documents WHERE tenant > ?1)";
    transaction.prepare(select)?.query_row([tenant], |row| row.get(0))
}

/// Returns how many chunks a tenant has; a number above `limit` if there are more.
fn count_chunks(transaction: &Transaction<'_>, tenant: &str, limit: i64) -> rusqlite::Result<i64> {
    let select = "SELECT count(*) FROM (SELECT 1 FROM knowledge_documents AS document \
                  JOIN knowledge_chunks AS chunk ON chunk.document = document.id \
                  WHERE document.tenant = ?1 LIMIT ?2)";
    let values = (tenant, limit.saturating_add(1));
    transaction.prepare(select)?.query_row(values, |row| row.get(0))
}

/// Returns words of a query, from the rarest, without those that are too frequent.
fn rare_words<'q>(
    transaction: &Transaction<'_>,
    counts: &Mutex<WordCounts>,
    words: BTreeSet<&'q str>,
    matches: i64,
) -> rusqlite::Result<Vec<&'q str>> {
    // Ids are never used again, so there may be fewer chunks.
    let select = "SELECT coalesce(max(id), 0) FROM knowledge_chunks";
    let chunks: i64 = transaction.query_row(select, (), |row| row.get(0))?;
    if chunks.saturating_mul(number(words.len())) <= matches {
        return Ok(words.into_iter().collect());
    }
    let mut counted = Vec::with_capacity(words.len());
    for word in words {
        counted.push((count(transaction, counts, word)?, word));
    }
    counted.sort_unstable();
    let mut sum = 0;
    let is_rare = |(count, _): &&(i64, &str)| {
        sum += count;
        sum <= matches
    };
    let rare = counted.iter().take_while(is_rare).count().max(1);
    Ok(counted.into_iter().take(rare).map(|(_, word)| word).collect())
}

/// Returns how many chunks contain a word. Counting reads the whole list of a word.
fn count(
    transaction: &Transaction<'_>,
    counts: &Mutex<WordCounts>,
    word: &str,
) -> rusqlite::Result<i64> {
    let counts = || counts.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if let Some(count) = counts().get(word, now) {
        return Ok(count);
    }
    let select = "SELECT doc FROM knowledge_terms WHERE term = ?1";
    let count: Option<i64> =
        transaction.prepare(select)?.query_row([word], |row| row.get(0)).optional()?;
    // The index removes diacritics, so a word that seems to be missing may occur.
    let count = count.unwrap_or_default();
    counts().insert(word, count, now);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tool_store::Sqlite;

    use super::{Bounds, by_words};
    use crate::store::sqlite::SqliteDocuments;
    use crate::store::{
        DocumentRecord, DocumentStore, IndexedChunk, IndexedDocument, SearchFilter,
    };

    /// Puts one document with one chunk for each text.
    async fn put(store: &SqliteDocuments, tenant: &str, texts: &[String]) {
        let document = |(number, text): (usize, &String)| {
            let mut record = DocumentRecord::new(tenant, format!("{number:04}"), [0; 32]);
            record.metadata.insert("number".into(), number.into());
            IndexedDocument::new(record, vec![IndexedChunk::new(0, text, [0; 32])])
        };
        store.put(texts.iter().enumerate().map(document).collect()).await.unwrap();
    }

    async fn search(
        store: &SqliteDocuments,
        stems: &'static str,
        filter: &SearchFilter,
        limit: usize,
        bounds: Bounds,
    ) -> Vec<String> {
        let (counts, filter) = (store.counts.clone(), filter.clone());
        let found = store
            .tables
            .read(move |it| by_words(it, &counts, stems, &filter, limit, bounds))
            .await
            .unwrap();
        store.chunks(&found).await.unwrap().into_iter().map(|chunk| chunk.source).collect()
    }

    async fn store() -> SqliteDocuments {
        SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap()
    }

    /// Texts of which every 7th has the word `red`, more often in the later ones.
    fn texts(count: usize) -> Vec<String> {
        let text = |n: usize| {
            format!("blue {}", "red ".repeat(if n.is_multiple_of(7) { n / 7 } else { 0 }))
        };
        (0..count).map(text).collect()
    }

    #[tokio::test]
    async fn large_and_small_tenants_have_the_same_results() {
        let store = store().await;
        for tenant in ["", "a", "b"] {
            put(&store, tenant, &texts(200)).await;
        }
        let small = Bounds { matches: 10_000, small_tenant: 200 };
        let large = Bounds { small_tenant: 199, ..small };
        let all = SearchFilter::tenant("a");
        for filter in [all.clone(), all.clone().metadata("number", 77), all.metadata("no", 1)] {
            for limit in [1, 5, 50] {
                for stems in ["red", "blue", "red blue "] {
                    let found = search(&store, stems, &filter, limit, large).await;
                    let expected = search(&store, stems, &filter, limit, small).await;
                    assert_eq!(found, expected, "{stems} {limit} {filter:?}");
                    let most = match filter.metadata.keys().next().map(String::as_str) {
                        None if stems == "red" => 28,
                        None => 200,
                        Some("number") => 1,
                        Some(_) => 0,
                    };
                    assert_eq!(found.len(), limit.min(most), "{stems} {limit} {filter:?}");
                    let distinct: BTreeSet<_> = found.iter().collect();
                    assert_eq!(distinct.len(), found.len());
                }
            }
        }
    }

    #[tokio::test]
    async fn results_of_a_large_tenant_may_be_the_worst_ones() {
        let store = store().await;
        put(&store, "best", &vec!["red red red".to_owned(); 300]).await;
        put(&store, "worst", &vec!["red and many other words".to_owned(); 20]).await;
        let large = Bounds { matches: 10_000, small_tenant: 19 };
        let found = search(&store, "red", &SearchFilter::tenant("worst"), 9, large).await;
        assert_eq!(found.len(), 9);
    }

    #[tokio::test]
    async fn words_are_left_out_by_the_count_of_the_tenant_alone() {
        let store = store().await;
        let texts = |word: &str| vec![format!("{word} sky"), "rare".to_owned()];
        put(&store, "a", &texts("common")).await;
        let bounds = Bounds { matches: 10, small_tenant: 100 };
        let filter = SearchFilter::tenant("a");
        let before = search(&store, "common rare", &filter, 9, bounds).await;
        assert_eq!(before.len(), 2);
        put(&store, "b", &vec!["common".to_owned(); 50]).await;
        let after = search(&store, "common rare", &filter, 9, bounds).await;
        assert_eq!(after.len(), 2);
    }

    #[tokio::test]
    async fn frequent_words_are_left_out_of_large_stores() {
        let store = store().await;
        let mut texts = vec!["common".to_owned(); 50];
        texts.push("rare".to_owned());
        put(&store, "", &texts).await;
        let all = SearchFilter::default();
        for (matches, expected) in [(49, 1), (51, 51), (1_000, 51)] {
            let bounds = Bounds { matches, small_tenant: 10 };
            let found = search(&store, "common rare", &all, 100, bounds).await;
            assert_eq!(found.len(), expected, "{matches}");
            // The most frequent word is not left out if it is the only one.
            assert_eq!(search(&store, "common", &all, 100, bounds).await.len(), 50);
        }
    }
}
