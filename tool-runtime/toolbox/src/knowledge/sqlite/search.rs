//! Searches by words and by vectors.

use std::collections::{BTreeSet, HashSet};

use tool_runtime::store::rusqlite::types::Value as Column;
use tool_runtime::store::rusqlite::{self, OptionalExtension, Transaction, params_from_iter};

use super::blocks::{self, Space, from_bytes};
use super::number;
use crate::knowledge::store::SearchFilter;

/// How many chunks may contain the words of a query, so that its time is bounded. Words that are
/// too frequent are left out, beginning with the most frequent one: they say the least.
const MAX_MATCHES: i64 = 200_000;

/// The number of vectors whose codes are closest that are compared as a whole.
const CANDIDATES: usize = 1_000;

/// Returns the chunks that contain stems of a query, best first.
pub(super) fn by_words(
    transaction: &Transaction<'_>,
    stems: &str,
    filter: &SearchFilter,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let words = rare_words(transaction, stems)?;
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let mut query = format!("{{stems}} : ({})", quoted.join(" OR "));
    // The word of a tenant occurs in each of its chunks, so comparing it takes long.
    if has_other_tenants(transaction, &filter.tenant)? {
        query += &format!(" AND {{tenant}} : {}", tenant_word(&filter.tenant));
    }
    let (join, mut values) = metadata_join(filter, "knowledge_words.rowid", 3);
    values.splice(0..0, [Column::from(query), Column::from(number(limit))]);
    let select = format!(
        "SELECT knowledge_words.rowid FROM knowledge_words {join} \
         AND knowledge_words MATCH ?1 ORDER BY bm25(knowledge_words, 1.0, 0.0), 1 LIMIT ?2"
    );
    let mut select = transaction.prepare(&select)?;
    let found = select.query_map(params_from_iter(values), |row| row.get(0))?;
    found.collect()
}

/// Returns whether a document belongs to another tenant.
fn has_other_tenants(transaction: &Transaction<'_>, tenant: &str) -> rusqlite::Result<bool> {
    // Two ranges of the index, where `<>` would read all of it.
    let select = "SELECT EXISTS (SELECT 1 FROM knowledge_documents WHERE tenant < ?1) \
                  OR EXISTS (SELECT 1 FROM knowledge_documents WHERE tenant > ?1)";
    transaction.prepare(select)?.query_row([tenant], |row| row.get(0))
}

/// Returns the words of a query that occur, from the rarest, without those that are too frequent.
fn rare_words<'q>(transaction: &Transaction<'_>, stems: &'q str) -> rusqlite::Result<Vec<&'q str>> {
    let count = "SELECT doc FROM knowledge_terms WHERE term = ?1";
    let mut count = transaction.prepare(count)?;
    let words: BTreeSet<&str> = stems.split_whitespace().collect();
    let mut counted = Vec::new();
    for word in words {
        let count: Option<i64> = count.query_row([word], |row| row.get(0)).optional()?;
        // The index removes diacritics, so a word that seems to be missing may occur.
        counted.push((count.unwrap_or_default(), word));
    }
    counted.sort_unstable();
    let mut matches = 0;
    let is_rare = |(count, _): &&(i64, &str)| {
        matches += count;
        matches <= MAX_MATCHES
    };
    let rare = counted.iter().take_while(is_rare).count().max(1);
    Ok(counted.into_iter().take(rare).map(|(_, word)| word).collect())
}

/// Returns the chunks whose vectors are closest to a vector, best first.
pub(super) fn by_vector(
    transaction: &Transaction<'_>,
    embedder: &str,
    vector: &[f32],
    filter: &SearchFilter,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let allowed = allowed_chunks(transaction, filter)?;
    let space = Space { tenant: &filter.tenant, embedder, dimensions: vector.len() };
    let count = CANDIDATES.saturating_add(limit.saturating_mul(4)).min(20_000);
    let candidates = blocks::closest(transaction, space, vector, allowed.as_ref(), count)?;
    let mut select =
        transaction.prepare("SELECT vector FROM knowledge_vectors WHERE chunk = ?1")?;
    let mut scored = Vec::with_capacity(candidates.len());
    for chunk in candidates {
        let stored = |row: &rusqlite::Row<'_>| Ok(from_bytes(row.get_ref(0)?.as_blob()?));
        if let Some(stored) = select.query_row([chunk], stored).optional()? {
            let product: f32 =
                stored.iter().zip(vector).map(|(stored, component)| stored * component).sum();
            scored.push((product, chunk));
        }
    }
    scored.sort_unstable_by(|(product, chunk), (other_product, other)| {
        other_product.total_cmp(product).then(chunk.cmp(other))
    });
    scored.truncate(limit);
    Ok(scored.into_iter().map(|(_, chunk)| chunk).collect())
}

/// Returns the chunks that pass a filter, unless it passes all of its tenant.
fn allowed_chunks(
    transaction: &Transaction<'_>,
    filter: &SearchFilter,
) -> rusqlite::Result<Option<HashSet<i64>>> {
    if filter.metadata.is_empty() {
        return Ok(None);
    }
    let (join, mut values) = metadata_join(filter, "chunk.id", 2);
    values.insert(0, Column::from(filter.tenant.clone()));
    let select =
        format!("SELECT chunk.id FROM knowledge_chunks AS chunk {join} AND document.tenant = ?1");
    let mut select = transaction.prepare(&select)?;
    let found = select.query_map(params_from_iter(values), |row| row.get(0))?;
    found.collect::<rusqlite::Result<_>>().map(Some)
}

/// Returns the statement's part that joins documents whose metadata passes a filter, and ends in a
/// condition. The parameters begin at number `first`.
fn metadata_join(filter: &SearchFilter, chunk: &str, first: usize) -> (String, Vec<Column>) {
    if filter.metadata.is_empty() {
        return ("WHERE true".into(), Vec::new());
    }
    let mut join = format!(
        "JOIN knowledge_chunks AS part ON part.id = {chunk} \
         JOIN knowledge_documents AS document ON document.id = part.document WHERE true"
    );
    let mut values = Vec::new();
    for (name, value) in &filter.metadata {
        let (key, value_number) = (first + values.len(), first + values.len() + 1);
        // Both as JSON, so that `1` and `"1"` differ.
        join += &format!(
            " AND EXISTS (SELECT 1 FROM json_each(document.metadata) AS member \
             WHERE member.key = ?{key} AND document.metadata -> member.fullkey = ?{value_number})"
        );
        values.extend([Column::from(name.clone()), Column::from(value.to_string())]);
    }
    (join, values)
}

/// Returns the word that the index has for a tenant.
pub(super) fn tenant_word(tenant: &str) -> String {
    let digest = hmac_sha256::Hash::hash(tenant.as_bytes());
    digest.iter().take(12).fold("tenant".to_owned(), |word, byte| word + &format!("{byte:02x}"))
}
