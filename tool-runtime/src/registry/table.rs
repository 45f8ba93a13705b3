use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Entry;
use super::namesakes::Namesakes;

/// Tools by the names that they gave themselves, in parts that copies share: a change copies the one
/// part that it falls into. There are about as many parts as tools in a part, so that this is the
/// least to copy.
#[derive(Clone, Default)]
pub(super) struct Table {
    parts: Vec<Arc<HashTable<Namesakes>>>,
    hasher: RandomState,
    names: usize,
}

impl Table {
    /// The tools of a name.
    #[inline]
    pub(super) fn find(&self, own: &str) -> Option<&Namesakes> {
        let hash = self.hasher.hash_one(own);
        let part = self.parts.get(part_of(hash, self.parts.len()))?;
        part.find(hash, |known| **known.name() == *own)
    }

    /// All tools, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.parts.iter().flat_map(|part| part.iter()).flat_map(Namesakes::iter)
    }

    /// Changes the tools of a name, of which there may be none before or after.
    pub(super) fn edit(&mut self, own: &str, edit: impl FnOnce(&mut Vec<Arc<Entry>>)) {
        let known = self.find(own).map(|known| Arc::clone(known.name()));
        let name = known.unwrap_or_else(|| own.into());
        if self.names >= self.parts.len() * self.parts.len() {
            self.grow();
        }
        let (hash, count) = (self.hasher.hash_one(own), self.parts.len());
        let Some(part) = self.parts.get_mut(part_of(hash, count)) else { return };
        let part = Arc::make_mut(part);
        let old = part.find_entry(hash, |known| **known.name() == *own).ok();
        let old = old.map(|found| found.remove().0);
        self.names -= usize::from(old.is_some());
        let mut tools = old.map(Namesakes::into_tools).unwrap_or_default();
        edit(&mut tools);
        if let Some(new) = Namesakes::of(name, tools) {
            self.names += 1;
            part.insert_unique(hash, new, |known| self.hasher.hash_one(&**known.name()));
        }
    }

    /// Doubles the parts, or makes the first.
    fn grow(&mut self) {
        let count = (self.parts.len() * 2).max(1);
        let mut parts = vec![HashTable::new(); count];
        for known in self.parts.iter().flat_map(|part| part.iter()) {
            let hash = self.hasher.hash_one(&**known.name());
            if let Some(part) = parts.get_mut(part_of(hash, count)) {
                let part: &mut HashTable<Namesakes> = part;
                part.insert_unique(hash, known.clone(), |known| {
                    self.hasher.hash_one(&**known.name())
                });
            }
        }
        self.parts = parts.into_iter().map(Arc::new).collect();
    }
}

/// Which part of so many, a power of two, a hash falls into: by other bits than the table in it goes
/// by.
#[inline]
fn part_of(hash: u64, count: usize) -> usize {
    (hash >> 32) as usize & count.wrapping_sub(1)
}
