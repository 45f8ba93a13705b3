//! Blocks of codes: those of many vectors in one row, so that a search reads few rows.

use std::collections::{BTreeMap, BinaryHeap, HashSet};

use tool_store::rusqlite::{self, OptionalExtension, Transaction};

use super::number;
use super::vector_bytes::to_bytes;
use crate::store::codes;

/// Slots of a block.
const SLOTS: usize = 1_024;

/// Vectors that are compared with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Space<'a> {
    pub(super) tenant: &'a str,
    pub(super) embedder: &'a str,
    pub(super) dimensions: usize,
}

/// A chunk and its vector.
pub(super) type Vector<'a> = (i64, &'a [f32]);

struct Block {
    id: Option<i64>,
    live: i64,
    chunks: Vec<u8>,
    codes: Vec<u8>,
}

impl Block {
    fn used(&self) -> usize {
        self.chunks.len() / 8
    }

    /// Reads the last block of a space, unless it is full.
    fn last(transaction: &Transaction<'_>, space: Space<'_>) -> rusqlite::Result<Option<Self>> {
        let select = "SELECT id, live, chunks, codes, used FROM knowledge_blocks \
                      WHERE tenant = ?1 AND embedder = ?2 AND dimensions = ?3 \
                      ORDER BY id DESC LIMIT 1";
        let values = (space.tenant, space.embedder, number(space.dimensions));
        let block = transaction.prepare(select)?.query_row(values, |row| {
            let block = Self {
                id: Some(row.get(0)?),
                live: row.get(1)?,
                chunks: row.get(2)?,
                codes: row.get(3)?,
            };
            Ok((block, row.get::<_, i64>(4)?))
        });
        Ok(block.optional()?.filter(|(_, used)| *used < number(SLOTS)).map(|(block, _)| block))
    }

    fn save(&mut self, transaction: &Transaction<'_>, space: Space<'_>) -> rusqlite::Result<i64> {
        let save = "INSERT OR REPLACE INTO knowledge_blocks \
                    (id, tenant, embedder, dimensions, used, live, chunks, codes) \
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let Space { tenant, embedder, .. } = space;
        let (dimensions, used, live) = (number(space.dimensions), number(self.used()), self.live);
        let values = (self.id, tenant, embedder, dimensions, used, live, &self.chunks, &self.codes);
        transaction.prepare(save)?.execute(values)?;
        let id = self.id.unwrap_or_else(|| transaction.last_insert_rowid());
        self.id = Some(id);
        Ok(id)
    }
}

/// Adds the vectors of chunks to their space.
pub(super) fn append(
    transaction: &Transaction<'_>,
    space: Space<'_>,
    vectors: &[Vector<'_>],
) -> rusqlite::Result<()> {
    let insert = "INSERT INTO knowledge_vectors (block, slot, chunk, vector) \
                  VALUES (?1, ?2, ?3, ?4)";
    let mut insert = transaction.prepare(insert)?;
    let code =
        |vector: &[f32]| codes::code(vector).iter().flat_map(|it| it.to_le_bytes()).collect();
    let entries = vectors.iter().map(|(chunk, vector)| (*chunk, code(vector))).collect::<Vec<_>>();
    let mut vectors = vectors.iter();
    append_codes(transaction, space, &entries, |block, slot, chunk| {
        let vector = vectors.next().map(|(_, vector)| to_bytes(vector)).unwrap_or_default();
        insert.execute((block, slot, chunk, vector)).map(drop)
    })
}

/// Adds the codes of chunks to the last block of their space, and to new ones. `place` receives the
/// block and the slot of each chunk, in their order.
fn append_codes(
    transaction: &Transaction<'_>,
    space: Space<'_>,
    entries: &[(i64, Vec<u8>)],
    mut place: impl FnMut(i64, i64, i64) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut rest = entries;
    while !rest.is_empty() {
        let mut block = Block::last(transaction, space)?.unwrap_or_else(|| Block {
            id: None,
            live: 0,
            chunks: Vec::new(),
            codes: Vec::new(),
        });
        let first = block.used();
        let (added, later) = rest.split_at(rest.len().min(SLOTS - first));
        for (chunk, code) in added {
            block.chunks.extend(chunk.to_le_bytes());
            block.codes.extend(code);
        }
        block.live += number(added.len());
        let id = block.save(transaction, space)?;
        for (slot, (chunk, _)) in (first..).zip(added) {
            place(id, number(slot), *chunk)?;
        }
        rest = later;
    }
    Ok(())
}

/// Removes the vectors of the chunks of a document.
pub(super) fn remove(transaction: &Transaction<'_>, document: i64) -> rusqlite::Result<()> {
    let select = "SELECT block, slot FROM knowledge_vectors \
                  WHERE chunk IN (SELECT id FROM knowledge_chunks WHERE document = ?1)";
    let mut slots: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let mut select = transaction.prepare(select)?;
    let mut rows = select.query([document])?;
    while let Some(row) = rows.next()? {
        slots.entry(row.get(0)?).or_default().push(row.get::<_, i64>(1)?);
    }
    let delete = "DELETE FROM knowledge_vectors \
                  WHERE chunk IN (SELECT id FROM knowledge_chunks WHERE document = ?1)";
    transaction.execute(delete, [document])?;
    let mut sparse = Vec::new();
    for (block, slots) in slots {
        let read = "SELECT used, live, chunks FROM knowledge_blocks WHERE id = ?1";
        let (used, live, mut chunks): (i64, i64, Vec<u8>) =
            transaction
                .query_row(read, [block], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let live = live - number(slots.len());
        for slot in slots {
            let start = usize::try_from(slot).unwrap_or(usize::MAX).saturating_mul(8);
            if let Some(chunk) = chunks.get_mut(start..start.saturating_add(8)) {
                chunk.fill(0);
            }
        }
        let update = "UPDATE knowledge_blocks SET live = ?2, chunks = ?3 WHERE id = ?1";
        transaction.execute(update, (block, live, chunks))?;
        if live * 2 < used {
            sparse.push(block);
        }
    }
    // Afterwards, because moved codes may come into a block that was just read.
    sparse.into_iter().try_for_each(|block| rewrite(transaction, block))
}

/// Removes a block, and adds what it still holds to the last one, so that a search compares few
/// codes of chunks that are gone.
fn rewrite(transaction: &Transaction<'_>, block: i64) -> rusqlite::Result<()> {
    let read = "SELECT tenant, embedder, dimensions, chunks, codes FROM knowledge_blocks \
                WHERE id = ?1";
    let (tenant, embedder, dimensions, chunks, codes) =
        transaction.query_row(read, [block], |row| {
            <(String, String, i64, Vec<u8>, Vec<u8>)>::try_from(row)
        })?;
    transaction.execute("DELETE FROM knowledge_blocks WHERE id = ?1", [block])?;
    let chunks = chunks.as_chunks::<8>().0;
    let codes = codes.chunks_exact((codes.len() / chunks.len().max(1)).max(1));
    let entries: Vec<(i64, Vec<u8>)> = chunks
        .iter()
        .zip(codes)
        .map(|(chunk, code)| (i64::from_le_bytes(*chunk), code.to_vec()))
        .filter(|(chunk, _)| *chunk != 0)
        .collect();
    let dimensions = usize::try_from(dimensions).unwrap_or_default();
    let space = Space { tenant: &tenant, embedder: &embedder, dimensions };
    let update = "UPDATE knowledge_vectors SET block = ?1, slot = ?2 WHERE chunk = ?3";
    let mut update = transaction.prepare(update)?;
    append_codes(transaction, space, &entries, |block, slot, chunk| {
        update.execute((block, slot, chunk)).map(drop)
    })
}

/// Returns the `count` chunks whose codes are closest to that of a vector, in no order.
pub(super) fn closest(
    transaction: &Transaction<'_>,
    space: Space<'_>,
    vector: &[f32],
    allowed: Option<&HashSet<i64>>,
    count: usize,
) -> rusqlite::Result<Vec<i64>> {
    let query = codes::code(vector);
    let len = query.len() * 8;
    let mut closest: BinaryHeap<(u32, i64)> = BinaryHeap::with_capacity(count + 1);
    let select = "SELECT chunks, codes FROM knowledge_blocks \
                  WHERE tenant = ?1 AND embedder = ?2 AND dimensions = ?3";
    let mut select = transaction.prepare(select)?;
    let mut rows = select.query((space.tenant, space.embedder, number(space.dimensions)))?;
    while let Some(row) = rows.next()? {
        let chunks = row.get_ref(0)?.as_blob()?.as_chunks::<8>().0;
        let codes = row.get_ref(1)?.as_blob()?.chunks_exact(len);
        for (chunk, code) in chunks.iter().zip(codes) {
            let chunk = i64::from_le_bytes(*chunk);
            if chunk == 0 || allowed.is_some_and(|allowed| !allowed.contains(&chunk)) {
                continue;
            }
            let found = (codes::distance(&query, code), chunk);
            if closest.len() < count {
                closest.push(found);
            } else if closest.peek().is_some_and(|farthest| found < *farthest) {
                closest.pop();
                closest.push(found);
            }
        }
    }
    Ok(closest.into_iter().map(|(_, chunk)| chunk).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tool_store::Sqlite;

    use crate::store::sqlite::SqliteDocuments;
    use crate::store::{
        DocumentRecord, DocumentStore, IndexedChunk, IndexedDocument, SearchFilter,
    };

    /// A vector of the length 1, at an angle in steps of a 5,000th of a circle.
    fn vector(step: u16) -> Vec<f32> {
        let (sin, cos) = (f32::from(step) / 5_000.0 * std::f32::consts::TAU).sin_cos();
        vec![cos, sin]
    }

    fn document(step: u16) -> IndexedDocument {
        let mut record = DocumentRecord::new("", format!("{step:04}"), [0; 32]);
        record.embedder = "test".into();
        let mut chunk = IndexedChunk::new(0, "x", [0; 32]);
        chunk.vector = Some(vector(step));
        IndexedDocument::new(record, vec![chunk])
    }

    /// Checks what the blocks hold, and returns their number of slots.
    async fn slots(store: &SqliteDocuments, live: usize) -> usize {
        let check = "SELECT (SELECT sum(used) FROM knowledge_blocks), \
                     (SELECT sum(live) FROM knowledge_blocks), \
                     (SELECT count(DISTINCT block * 2000 + slot) FROM knowledge_vectors)";
        let read = store.tables.read(|it| it.query_row(check, (), |row| row.try_into()));
        let (used, stored, distinct): (Option<i64>, Option<i64>, i64) = read.await.unwrap();
        let live = i64::try_from(live).unwrap();
        assert_eq!((stored.unwrap_or_default(), distinct), (live, live));
        usize::try_from(used.unwrap_or_default()).unwrap()
    }

    #[tokio::test]
    async fn removed_vectors_take_no_more_slots_than_those_that_are_left() {
        let store = SqliteDocuments::open(&Sqlite::in_memory().unwrap()).await.unwrap();
        store.put((0..4_000).map(document).collect()).await.unwrap();
        let mut left: BTreeSet<u16> = (0..4_000).collect();
        assert_eq!(slots(&store, 4_000).await, 4_000);
        let mut random = fastrand::Rng::with_seed(7);
        while !left.is_empty() {
            let mut removed: Vec<u16> = left.iter().copied().collect();
            random.shuffle(&mut removed);
            removed.truncate(400);
            let names: Vec<String> = removed.iter().map(|step| format!("{step:04}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            assert_eq!(store.remove("", &names).await.unwrap(), removed.len());
            left.retain(|step| !removed.contains(step));
            let used = slots(&store, left.len()).await;
            assert!(used <= 2 * left.len(), "{used} slots for {}", left.len());
            // The closest one is found wherever its code is now.
            let all = SearchFilter::default();
            for step in left.iter().step_by(97) {
                let query = vector(*step);
                let found = store.search_vectors("test", &query, &all, 1).await.unwrap();
                let found = store.chunks(&found).await.unwrap();
                assert_eq!(found[0].source, format!("{step:04}"));
            }
        }
        assert_eq!(slots(&store, 0).await, 0);
        store.put(vec![document(1)]).await.unwrap();
        assert_eq!(slots(&store, 1).await, 1);
    }
}
