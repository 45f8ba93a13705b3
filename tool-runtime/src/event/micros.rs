//! Times and durations as whole microseconds: what other programs can read and sort by.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(whole(*span))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_micros)
}

/// A duration as it will be written down.
#[inline]
pub(crate) fn in_full(span: Duration) -> Duration {
    span - Duration::from_nanos(u64::from(span.subsec_nanos() % 1_000))
}

fn whole(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// Moments, since 1970.
pub(super) mod since_1970 {
    use super::{Deserialize, Deserializer, Duration, Serializer, SystemTime, UNIX_EPOCH, whole};

    pub(in crate::event) fn serialize<S: Serializer>(
        at: &SystemTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(whole(at.duration_since(UNIX_EPOCH).unwrap_or_default()))
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<SystemTime, D::Error> {
        // What no clock shows is as old as it gets.
        let since = Duration::from_micros(u64::deserialize(from)?);
        Ok(UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH))
    }
}
