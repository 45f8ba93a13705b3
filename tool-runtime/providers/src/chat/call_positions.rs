//! Positions of the calls of a streamed reply, by the index and the id that its pieces have.
//!
//! A piece is looked up in constant time, however many calls the reply has.

use std::collections::HashMap;

/// Positions of the calls received so far.
#[derive(Default)]
pub(super) struct CallPositions {
    count: usize,
    by_index: HashMap<u64, IndexPositions>,
    by_id: HashMap<String, usize>,
}

/// Positions of the last calls with one index. Some servers send the same index for all calls.
#[derive(Default)]
struct IndexPositions {
    last: usize,
    without_id: Option<usize>,
    by_id: HashMap<String, usize>,
}

impl CallPositions {
    /// Returns the position of the call that a piece belongs to; a new call gets the next position.
    pub(super) fn of_piece(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
    ) -> usize {
        let id = id.filter(|id| !id.is_empty());
        let has_name = name.is_some_and(|name| !name.is_empty());
        let of_index = index.and_then(|index| self.by_index.get(&index));
        let position = match (index, id) {
            // Some servers send one index for all calls, which then have different ids.
            (Some(_), Some(id)) => {
                of_index.and_then(|it| it.by_id.get(id).copied().max(it.without_id))
            }
            (Some(_), None) => of_index.map(|it| it.last),
            (None, Some(id)) => self.by_id.get(id).copied(),
            (None, None) if has_name => None,
            (None, None) => self.count.checked_sub(1),
        };
        // Some servers create an id for each piece, so a piece without a name never starts another
        // call.
        let continued = of_index.filter(|_| !has_name).map(|it| it.last);
        position.or(continued).unwrap_or(self.count)
    }

    /// Records the next call, with the index and the id of its first piece.
    pub(super) fn add(&mut self, index: Option<u64>, id: Option<&str>) {
        let position = self.count;
        self.count += 1;
        if let Some(index) = index {
            let positions = self.by_index.entry(index).or_default();
            positions.last = position;
            match id {
                Some(id) => _ = positions.by_id.insert(id.to_owned(), position),
                None => positions.without_id = Some(position),
            }
        }
        if let Some(id) = id {
            self.by_id.insert(id.to_owned(), position);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option::of;
    use proptest::prelude::*;

    use super::CallPositions;

    type Piece = (Option<u64>, Option<&'static str>, Option<&'static str>);

    /// Searches all calls from the last to the first.
    fn searched(calls: &[Piece], (index, id, name): Piece) -> usize {
        let id = id.filter(|id| !id.is_empty());
        let has_name = name.is_some_and(|name| !name.is_empty());
        let is_of = |&(call_index, call_id, _): &Piece| match (index, id) {
            (Some(_), Some(id)) => call_index == index && call_id.is_none_or(|known| known == id),
            (Some(_), None) => call_index == index,
            (None, Some(id)) => call_id == Some(id),
            (None, None) => !has_name,
        };
        let continues = |call: &Piece| !has_name && index.is_some() && call.0 == index;
        let position = calls.iter().rposition(is_of);
        position.or_else(|| calls.iter().rposition(continues)).unwrap_or(calls.len())
    }

    proptest! {
        #[test]
        fn positions_equal_those_of_a_search(
            pieces in vec(
                (of(0..3_u64), of(prop::sample::select(vec!["", "a", "b", "c"])), of(prop::sample::select(vec!["", "f"]))),
                0..20,
            )
        ) {
            let (mut positions, mut calls) = (CallPositions::default(), Vec::new());
            for piece in pieces {
                let (index, id, name) = piece;
                let position = positions.of_piece(index, id, name);
                prop_assert_eq!(position, searched(&calls, piece), "{:?} after {:?}", piece, calls);
                if position == calls.len() {
                    positions.add(index, id);
                    calls.push(piece);
                }
            }
        }
    }
}
