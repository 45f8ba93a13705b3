//! Admits HTTP requests up to the limits, and beyond them what ends or answers other requests.
//!
//! A client that has reached its limit can still cancel a call, answer the question of a call, and
//! close its session, because such messages have reserved places. These are few, and a principal,
//! or else an address, gets a part of them, so that the limits remain effective.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::Limits;
use super::sharers::Sharers;
use super::shares::{Share, Shares};

/// The number of places beyond the limits.
const RESERVED: usize = 32;

/// The number of these places that one principal or address can take.
const RESERVED_OF_PRINCIPAL: usize = 8;

/// The places of all requests, and those that each sharer has taken.
pub(super) struct Admission {
    requests: Arc<Semaphore>,
    reserved: Arc<Semaphore>,
    /// The running requests of each sharer, including calls whose client has left.
    shares: Shares,
    reserved_shares: Shares,
    sharer_limit: usize,
}

/// The place of a request among all requests, until it is dropped.
pub(super) struct Permit {
    _permit: OwnedSemaphorePermit,
    is_reserved: bool,
}

/// The place of a request among those of its sharers, until it is dropped.
pub(super) struct Place {
    _shares: Vec<Share>,
    is_reserved: bool,
}

impl Admission {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(limits.max_requests)),
            reserved: Arc::new(Semaphore::new(RESERVED)),
            shares: Shares::default(),
            reserved_shares: Shares::default(),
            sharer_limit: limits.requests_per_principal(),
        }
    }

    /// Takes a place for a request whose sender is not known yet.
    pub(super) fn permit(&self) -> Option<Permit> {
        match Arc::clone(&self.requests).try_acquire_owned() {
            Ok(permit) => Some(Permit { _permit: permit, is_reserved: false }),
            Err(_) => self.reserved_permit(),
        }
    }

    fn reserved_permit(&self) -> Option<Permit> {
        let permit = Arc::clone(&self.reserved).try_acquire_owned().ok()?;
        Some(Permit { _permit: permit, is_reserved: true })
    }

    /// Takes a place for a request of some sharers. A request beyond the share of one of them
    /// leaves its permit to others and gets a reserved one.
    pub(super) fn place(&self, permit: &mut Permit, sharers: &Sharers) -> Option<Place> {
        if !permit.is_reserved
            && let Some(shares) = self.shares.take_all(sharers, self.sharer_limit)
        {
            return Some(Place { _shares: shares, is_reserved: false });
        }
        let shares = self.reserved_shares.take_all(sharers, RESERVED_OF_PRINCIPAL)?;
        if !permit.is_reserved {
            *permit = self.reserved_permit()?;
        }
        Some(Place { _shares: shares, is_reserved: true })
    }
}

#[cfg(test)]
impl Admission {
    /// Returns the number of places that are taken.
    pub(super) fn place_count(&self, limits: &Limits) -> usize {
        let requests = limits.max_requests - self.requests.available_permits();
        let reserved = RESERVED - self.reserved.available_permits();
        requests + reserved + self.shares.count() + self.reserved_shares.count()
    }
}

impl Place {
    /// Whether the request is beyond the limits, so that it may only end or answer others.
    pub(super) fn is_reserved(&self) -> bool {
        self.is_reserved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_beyond_the_limits_are_few_and_shared_by_principals() {
        let limits = Limits::default().max_requests(4);
        let admission = Admission::new(&limits);
        let mut places = Vec::new();
        let mut take = |principal| {
            let mut permit = admission.permit()?;
            let place = admission.place(&mut permit, &Sharers::of(principal, None))?;
            let is_reserved = place.is_reserved();
            places.push((permit, place));
            Some(is_reserved)
        };
        // Ada has half of the requests.
        assert_eq!([take(Some("Ada")), take(Some("Ada"))], [Some(false); 2]);
        for _ in 0..RESERVED_OF_PRINCIPAL {
            assert_eq!(take(Some("Ada")), Some(true));
        }
        assert_eq!(take(Some("Ada")), None);
        // Ada has taken none of the other half.
        for (principal, is_reserved) in [("Bob", false), ("Cyd", false), ("Dan", true)] {
            assert_eq!(take(Some(principal)), Some(is_reserved));
        }
        let mut left = 0;
        while take(None) == Some(true) {
            left += 1;
        }
        assert_eq!(left, RESERVED - RESERVED_OF_PRINCIPAL - 1);
        places.clear();
        assert_eq!(admission.place_count(&limits), 0);
        let ada = Sharers::of(Some("Ada"), None);
        let place = admission.place(&mut admission.permit().unwrap(), &ada).unwrap();
        assert!(!place.is_reserved());
    }
}
