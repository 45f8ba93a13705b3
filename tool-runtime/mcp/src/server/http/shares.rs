//! Counts what each sharer has running, such as a principal, so that one alone can't take all
//! places.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::super::connection::session::lock;
use super::sharers::Sharers;

/// Counts what sharers have running.
#[derive(Clone, Default)]
pub(super) struct Shares(Arc<Mutex<HashMap<String, usize>>>);

/// One of the places of a sharer, until it is dropped.
pub(super) struct Share {
    shares: Shares,
    sharer: String,
}

impl Shares {
    /// Takes a place of each of the sharers, if each has less than its part of the limit.
    pub(super) fn take_all(&self, sharers: &Sharers, limit: usize) -> Option<Vec<Share>> {
        sharers.limits(limit).map(|(name, limit)| self.take(name, limit)).collect()
    }

    /// Takes a place if the sharer has less than `limit`.
    pub(super) fn take(&self, sharer: &str, limit: usize) -> Option<Share> {
        let mut counts = lock(&self.0);
        let count = counts.get(sharer).copied().unwrap_or_default();
        (count < limit).then(|| {
            counts.insert(sharer.to_owned(), count + 1);
            Share { shares: self.clone(), sharer: sharer.to_owned() }
        })
    }
}

#[cfg(test)]
impl Shares {
    /// Returns the number of places that are taken.
    pub(super) fn count(&self) -> usize {
        lock(&self.0).values().sum()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = lock(&self.shares.0);
        match counts.get_mut(&self.sharer) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&self.sharer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_for_each_principal_and_given_back() {
        let shares = Shares::default();
        let ada: Vec<_> = (0..2).map(|_| shares.take("Ada", 2).unwrap()).collect();
        assert!(shares.take("Ada", 2).is_none());
        let bob = shares.take("Bob", 2).unwrap();
        drop(ada);
        assert!(shares.take("Ada", 1).is_some());
        drop(bob);
        assert!(lock(&shares.0).is_empty(), "nothing is kept of principals that are gone");
    }
}
