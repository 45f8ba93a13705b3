//! Admission of calls: circuit breakers, rate limits and concurrency limits.

pub(crate) mod admission;
pub(crate) mod circuits;
pub(crate) mod concurrency;
pub(crate) mod declared_limiters;
pub(crate) mod limiter;
pub(crate) mod rate;
