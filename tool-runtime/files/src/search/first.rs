//! Keeps the first elements of a sequence that arrives in any order, in bounded memory.

use std::collections::BinaryHeap;

/// The smallest elements of those that were added, and the number of all.
#[derive(Debug)]
pub(crate) struct First<T> {
    limit: usize,
    elements: BinaryHeap<T>,
    total: u64,
}

impl<T: Ord> First<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, elements: BinaryHeap::new(), total: 0 }
    }

    pub(crate) fn add(&mut self, element: T) {
        self.total += 1;
        if self.elements.len() < self.limit {
            self.elements.push(element);
        } else if let Some(mut largest) = self.elements.peek_mut()
            && element < *largest
        {
            *largest = element;
        }
    }

    /// Returns the elements in their order, and the number of all that were added.
    pub(crate) fn into_sorted(self) -> (Vec<T>, u64) {
        (self.elements.into_sorted_vec(), self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::First;

    #[test]
    fn smallest_elements_are_kept_in_order() {
        let mut first = First::new(3);
        [5, 1, 4, 2, 3].into_iter().for_each(|number| first.add(number));
        assert_eq!(first.into_sorted(), (vec![1, 2, 3], 5));
    }
}
