//! Blocks of codes: those of many vectors in one row, so that a search reads few rows.

use std::collections::{BTreeMap, BinaryHeap, HashSet};

use tool_runtime::store::rusqlite::{self, OptionalExtension, Transaction};

use super::codes;
use super::number;

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
    let insert = "INSERT INTO knowledge_vectors (chunk, block, slot, vector) \
                  VALUES (?1, ?2, ?3, ?4)";
    let mut insert = transaction.prepare(insert)?;
    let mut rest = vectors;
    while !rest.is_empty() {
        let mut block = Block::last(transaction, space)?.unwrap_or_else(|| Block {
            id: None,
            live: 0,
            chunks: Vec::new(),
            codes: Vec::new(),
        });
        let first = block.used();
        let (added, later) = rest.split_at(rest.len().min(SLOTS - first));
        for (chunk, vector) in added {
            block.chunks.extend(chunk.to_le_bytes());
            block.codes.extend(codes::code(vector).iter().flat_map(|word| word.to_le_bytes()));
        }
        block.live += number(added.len());
        let id = block.save(transaction, space)?;
        for (slot, (chunk, vector)) in (first..).zip(added) {
            insert.execute((chunk, id, number(slot), to_bytes(vector)))?;
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
    for (block, slots) in slots {
        let read = "SELECT live, chunks FROM knowledge_blocks WHERE id = ?1";
        let (live, mut chunks): (i64, Vec<u8>) =
            transaction.query_row(read, [block], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let live = live - number(slots.len());
        if live <= 0 {
            transaction.execute("DELETE FROM knowledge_blocks WHERE id = ?1", [block])?;
            continue;
        }
        for slot in slots {
            let start = usize::try_from(slot).unwrap_or(usize::MAX).saturating_mul(8);
            if let Some(chunk) = chunks.get_mut(start..start.saturating_add(8)) {
                chunk.fill(0);
            }
        }
        let update = "UPDATE knowledge_blocks SET live = ?2, chunks = ?3 WHERE id = ?1";
        transaction.execute(update, (block, live, chunks))?;
    }
    let delete = "DELETE FROM knowledge_vectors \
                  WHERE chunk IN (SELECT id FROM knowledge_chunks WHERE document = ?1)";
    transaction.execute(delete, [document])?;
    Ok(())
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

/// Encodes a vector as 32-bit floats, least significant byte first.
fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|component| component.to_le_bytes()).collect()
}

/// Decodes a vector.
pub(super) fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
