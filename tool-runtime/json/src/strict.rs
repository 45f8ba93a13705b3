//! Parses strictly, like serde_json.
//!
//! On an error, the strict pass keeps what it has built, so that the
//! [recovery parser](super::recover) need not build it again. Without an error nothing is kept: the arrays and objects are on the call stack, and are saved
//! only while the error propagates through them.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The longest key that recovery looks for in its lookahead: a byte may be escaped as six.
const MAX_KEY_LEN: usize = 256 / 6;

/// An array or object that was open at the error, with its elements so far.
#[derive(Debug)]
pub(super) enum PartialContainer {
    Array(Vec<Value>),
    /// The key is that of the member whose value was not complete.
    Object(Map<String, Value>, Option<String>),
}

/// The containers that were built before the error.
#[derive(Debug, Default)]
pub(super) struct ParsedPrefix {
    /// The open containers, outermost first.
    pub(super) open: Vec<PartialContainer>,
    /// The number of closed objects that are members of objects.
    pub(super) closed: usize,
    /// Whether a key occurred twice or is very long: recovery may read such a text differently.
    pub(super) is_uncertain: bool,
    /// Whether the text begins with a whole value, so that the error is in the text after it.
    pub(super) has_value: bool,
}

/// Parses `text` like serde_json; on an error, returns the containers built before it as well.
pub(super) fn parse_strict(text: &str) -> Result<Value, (serde_json::Error, ParsedPrefix)> {
    let mut progress = ParsedPrefix::default();
    let mut input = serde_json::Deserializer::from_str(text);
    let read = TrackingVisitor::<false> { progress: &mut progress, in_object: false }
        .deserialize(&mut input);
    let value = match read {
        Ok(value) => value,
        Err(error) => {
            progress.open.reverse();
            return Err((error, progress));
        }
    };
    match input.end() {
        Ok(()) => Ok(value),
        Err(error) => {
            progress.has_value = true;
            Err((error, progress))
        }
    }
}

/// Returns whether `text` is JSON, without building its value. Numbers may be too large.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Parses `json` like serde_json, but refuses an object with a duplicate key: in damaged text,
/// nothing decides between the two values.
pub(super) fn parse_unique(json: &str) -> serde_json::Result<Value> {
    let mut input = serde_json::Deserializer::from_str(json);
    let progress = &mut ParsedPrefix::default();
    let value = TrackingVisitor::<true> { progress, in_object: false }.deserialize(&mut input)?;
    input.end()?;
    Ok(value)
}

/// A visitor that builds a value and saves open containers on an error; if `UNIQUE`, it refuses
/// duplicate keys.
struct TrackingVisitor<'p, const UNIQUE: bool> {
    progress: &'p mut ParsedPrefix,
    in_object: bool,
}

impl<'de, const UNIQUE: bool> DeserializeSeed<'de> for TrackingVisitor<'_, UNIQUE> {
    type Value = Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de, const UNIQUE: bool> Visitor<'de> for TrackingVisitor<'_, UNIQUE> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    #[inline]
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    #[inline]
    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    #[inline]
    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    #[inline]
    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    #[inline]
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    #[inline]
    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let progress = self.progress;
        let mut items = Vec::new();
        loop {
            match input.next_element_seed(TrackingVisitor::<UNIQUE> { progress, in_object: false })
            {
                Ok(Some(item)) => items.push(item),
                Ok(None) => return Ok(Value::Array(items)),
                Err(error) => {
                    progress.open.push(PartialContainer::Array(items));
                    return Err(error);
                }
            }
        }
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let progress = self.progress;
        let mut members = Map::new();
        loop {
            let key = match input.next_key::<String>() {
                Ok(Some(key)) => key,
                Ok(None) => break,
                Err(error) => {
                    progress.open.push(PartialContainer::Object(members, None));
                    return Err(error);
                }
            };
            if UNIQUE && members.contains_key(&key) {
                return Err(A::Error::custom("a key comes twice"));
            }
            progress.is_uncertain |= key.len() > MAX_KEY_LEN;
            match input.next_value_seed(TrackingVisitor::<UNIQUE> { progress, in_object: true }) {
                Ok(value) => progress.is_uncertain |= members.insert(key, value).is_some(),
                Err(error) => {
                    progress.open.push(PartialContainer::Object(members, Some(key)));
                    return Err(error);
                }
            }
        }
        progress.closed += usize::from(self.in_object);
        Ok(Value::Object(members))
    }
}
