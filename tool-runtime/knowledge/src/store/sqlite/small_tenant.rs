//! Searches by words in a tenant of few chunks, beside others in the same index.
//!
//! FTS5 knows in how many chunks of all tenants a word is. So this asks it for each word alone, and
//! weighs the words by the chunks of the tenant: what others have decides nothing.

use std::collections::{BTreeSet, HashMap};

use tool_store::rusqlite::{self, Transaction};

use super::filter::ChunkFilter;
use super::number;
use crate::store::SearchFilter;
use crate::store::bm25::weight;

/// The chunks that contain a word, each with the share of the weight of the word that it gets. With
/// a very high weight of the column, `bm25` is the highest score that a chunk can get.
const SHARES: &str = "
    SELECT rowid, bm25(knowledge_words, 1.0, 0.0) / bm25(knowledge_words, 1e12, 0.0)
    FROM knowledge_words WHERE knowledge_words MATCH ?1
";

/// Returns the chunks of a tenant that contain words of a query, best first. The tenant has
/// `chunks` chunks.
pub(super) fn by_words_of_tenant(
    transaction: &Transaction<'_>,
    words: BTreeSet<&str>,
    chunks: i64,
    filter: &SearchFilter,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let tenant = tenant_word(&filter.tenant);
    let mut select = transaction.prepare(SHARES)?;
    let mut scores: HashMap<i64, f64> = HashMap::new();
    for word in words {
        let query = format!("\"{word}\" AND {tenant}");
        let shares = select.query_map([query], |row| row.try_into())?;
        let shares = shares.collect::<rusqlite::Result<Vec<(i64, f64)>>>()?;
        let weight = weight(chunks, number(shares.len()));
        for (chunk, share) in shares {
            *scores.entry(chunk).or_default() += weight * share;
        }
    }
    let mut ranked: Vec<(i64, f64)> = scores.into_iter().collect();
    ranked.sort_unstable_by(|(chunk, score), (other, other_score)| {
        other_score.total_cmp(score).then(chunk.cmp(other))
    });
    let mut passing = ChunkFilter::new(transaction, filter)?;
    let mut found = Vec::new();
    for (chunk, _) in ranked {
        if found.len() == limit {
            break;
        }
        if filter.metadata.is_empty() || passing.passes(chunk)? {
            found.push(chunk);
        }
    }
    Ok(found)
}

/// Returns the word that the index has for a tenant.
pub(super) fn tenant_word(tenant: &str) -> String {
    let digest = hmac_sha256::Hash::hash(tenant.as_bytes());
    digest.iter().take(12).fold("tenant".to_owned(), |word, byte| word + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use tool_store::Sqlite;

    use crate::store::sqlite::SqliteDocuments;
    use crate::store::{
        DocumentRecord, DocumentStore, IndexedChunk, IndexedDocument, SearchFilter,
    };

    const WORDS: [&str; 8] = ["red", "fox", "hen", "sky", "roof", "milk", "tea", "leaf"];

    fn document(tenant: &str, source: &str, text: &str) -> IndexedDocument {
        let record = DocumentRecord::new(tenant, source, [0; 32]);
        IndexedDocument::new(record, vec![IndexedChunk::new(0, text, [0; 32])])
    }

    async fn found(store: &SqliteDocuments, query: &str) -> Vec<String> {
        let ids = store.search_words(query, &SearchFilter::tenant("a"), 50).await.unwrap();
        store.chunks(&ids).await.unwrap().into_iter().map(|chunk| chunk.source).collect()
    }

    #[tokio::test]
    async fn documents_of_other_tenants_change_no_ranking() {
        let store = SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap();
        let mut random = fastrand::Rng::with_seed(7);
        for number in 0..40 {
            // Few have the last words. All are equally long, as those of the other tenant.
            let text: Vec<_> =
                (0..6).map(|_| WORDS[random.usize(..8).min(random.usize(..8))]).collect();
            let source = format!("{number:02}");
            store.put(vec![document("a", &source, &text.join(" "))]).await.unwrap();
        }
        // No two words of a query are in more than half of the chunks: FTS5 weighs all such words
        // alike, and chunks with equal scores would differ by the order of a sum.
        let queries = ["red leaf", "fox milk tea", "sky"];
        let mut before = Vec::new();
        for query in queries {
            before.push(found(&store, query).await);
        }
        // The word that is rare in one tenant is frequent in the other one.
        for number in 0..200 {
            let document = document("b", &number.to_string(), "leaf leaf tea tea milk milk");
            store.put(vec![document]).await.unwrap();
        }
        for (query, before) in queries.iter().zip(before) {
            assert!(!before.is_empty(), "{query}");
            assert_eq!(found(&store, query).await, before, "{query}");
        }
    }
}
