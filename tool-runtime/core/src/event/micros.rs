//! Serializes times and durations as whole microseconds, which other programs can read and sort by.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(as_micros(*span))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_micros)
}

/// Returns the duration in whole microseconds, the serialized unit.
pub(crate) fn truncate(span: Duration) -> Duration {
    span - Duration::from_nanos(u64::from(span.subsec_nanos() % 1_000))
}

fn as_micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// Serializes points in time as microseconds since 1970.
pub(crate) mod since_1970 {
    use super::{
        Deserialize, Deserializer, Duration, Serializer, SystemTime, UNIX_EPOCH, as_micros,
    };

    pub(crate) fn serialize<S: Serializer>(
        at: &SystemTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(as_micros(at.duration_since(UNIX_EPOCH).unwrap_or_default()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        // A time that the platform can't represent becomes 1970.
        let since = Duration::from_micros(u64::deserialize(from)?);
        Ok(UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH))
    }
}

/// Serializes durations that may be unknown.
pub(super) mod optional_duration {
    use serde::Serialize;

    use super::{Deserialize, Deserializer, Duration, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Micros(#[serde(with = "super")] Duration);

    pub(in crate::event) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(Micros).serialize(serializer)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<Micros>::deserialize(from).map(|span| span.map(|Micros(span)| span))
    }
}

/// Serializes points in time that may be unknown.
pub(super) mod optional {
    use serde::Serialize;

    use super::{Deserialize, Deserializer, Serializer, SystemTime, since_1970};

    #[derive(Serialize, Deserialize)]
    struct Micros(#[serde(with = "since_1970")] SystemTime);

    pub(in crate::event) fn serialize<S: Serializer>(
        at: &Option<SystemTime>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(Micros).serialize(serializer)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<SystemTime>, D::Error> {
        Option::<Micros>::deserialize(from).map(|at| at.map(|Micros(at)| at))
    }
}
