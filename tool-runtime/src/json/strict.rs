//! The strict pass: reads as serde_json does, and keeps what it built where the text stops to be
//! JSON, so that the [recovery parser](super::recover) need not build it again.
//!
//! Nothing is kept while all goes well: each list and object is on the call stack, and is put aside
//! only when the error passes through it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Recovery looks for the end of a key so far, and a byte may be written in six.
const KEY: usize = 256 / 6;

/// A list or object that was open at the error, with what it holds so far.
#[derive(Debug)]
pub(super) enum Open {
    List(Vec<Value>),
    /// The key is that of the member whose value was not read to its end.
    Object(Map<String, Value>, Option<String>),
}

/// What was built before the error.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// From the outermost on.
    pub(super) open: Vec<Open>,
    /// How many objects were closed that are members of objects.
    pub(super) closed: usize,
    /// A key came twice, or is very long: recovery may read that in another way.
    pub(super) is_odd: bool,
}

/// Reads `text` as serde_json does; on an error also what was built before it.
pub(super) fn read_strict(text: &str) -> Result<Value, (serde_json::Error, Progress)> {
    let mut progress = Progress::default();
    let mut input = serde_json::Deserializer::from_str(text);
    let read = Building { progress: &mut progress, in_object: false }.deserialize(&mut input);
    match read.and_then(|value| input.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(error) => {
            progress.open.reverse();
            Err((error, progress))
        }
    }
}

struct Building<'p> {
    progress: &'p mut Progress,
    in_object: bool,
}

impl<'de> DeserializeSeed<'de> for Building<'_> {
    type Value = Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Building<'_> {
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
            match input.next_element_seed(Building { progress, in_object: false }) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => return Ok(Value::Array(items)),
                Err(error) => {
                    progress.open.push(Open::List(items));
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
                    progress.open.push(Open::Object(members, None));
                    return Err(error);
                }
            };
            progress.is_odd |= key.len() > KEY;
            match input.next_value_seed(Building { progress, in_object: true }) {
                Ok(value) => progress.is_odd |= members.insert(key, value).is_some(),
                Err(error) => {
                    progress.open.push(Open::Object(members, Some(key)));
                    return Err(error);
                }
            }
        }
        progress.closed += usize::from(self.in_object);
        Ok(Value::Object(members))
    }
}
