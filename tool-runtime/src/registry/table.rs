use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Entry;
use super::namesakes::Namesakes;

/// Tools by their own names, in parts that copies of the table share.
///
/// A change copies the vector of parts and the one part that it affects. Their number grows with
/// the square root of the number of names, which minimizes what is copied.
#[derive(Clone, Default)]
pub(super) struct Table {
    parts: Vec<Arc<HashTable<Namesakes>>>,
    hasher: RandomState,
    names: usize,
}

impl Table {
    /// Returns the tools with this own name.
    #[inline]
    pub(super) fn find(&self, own_name: &str) -> Option<&Namesakes> {
        let hash = self.hasher.hash_one(own_name);
        let part = self.parts.get(part_of(hash, self.parts.len()))?;
        part.find(hash, |known| **known.name() == *own_name)
    }

    /// Returns all tools, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.parts.iter().flat_map(|part| part.iter()).flat_map(Namesakes::iter)
    }

    /// Changes the tools with this own name. There may be none before or after the change.
    pub(super) fn edit(&mut self, own_name: &str, edit: impl FnOnce(&mut Vec<Arc<Entry>>)) {
        let known = self.find(own_name).map(|known| Arc::clone(known.name()));
        let name = known.unwrap_or_else(|| own_name.into());
        if self.names >= self.parts.len() * self.parts.len() {
            self.grow();
        }
        let (hash, count) = (self.hasher.hash_one(own_name), self.parts.len());
        let Some(part) = self.parts.get_mut(part_of(hash, count)) else { return };
        let part = Arc::make_mut(part);
        let old = part.find_entry(hash, |known| **known.name() == *own_name).ok();
        let old = old.map(|found| found.remove().0);
        self.names -= usize::from(old.is_some());
        let mut tools = old.map(Namesakes::into_tools).unwrap_or_default();
        edit(&mut tools);
        if let Some(new) = Namesakes::of(name, tools) {
            self.names += 1;
            part.insert_unique(hash, new, |known| self.hasher.hash_one(&**known.name()));
        }
    }

    /// Doubles the number of parts, or creates the first one.
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

/// Returns the index of the part for a hash. `count` is a power of two. The bits differ from those
/// that the hash table of the part uses.
#[inline]
fn part_of(hash: u64, count: usize) -> usize {
    (hash >> 32) as usize & count.wrapping_sub(1)
}
