//! What a provider counted.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::message::Usage;

/// The members of a provider's `usage`, read so that no strange one costs the reply: what isn't a count
/// counts for nothing.
#[derive(Clone, Debug, Default)]
pub struct Counts(Map<String, Value>);

impl Counts {
    /// The count at this place, as a JSON pointer tells it (RFC 6901); none where none is told.
    pub fn at(&self, pointer: &str) -> Option<u64> {
        let mut names = pointer.split('/').skip(1);
        let first = self.0.get(names.next()?)?;
        count(names.try_fold(first, |value, name| value.get(name))?)
    }

    /// Hears what is told later: that is the whole of each count, and what isn't told again stays.
    pub fn hear(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// What was used, read off the counts; none where nothing was told.
    pub fn usage(self, read: impl FnOnce(&Self) -> Usage) -> Option<Usage> {
        (!self.0.is_empty()).then(|| read(&self))
    }
}

/// Whatever stands there; what is no object tells nothing, and neither does null.
impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Object(mut members) = Value::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        members.retain(|_, member| !member.is_null());
        Ok(Self(members))
    }
}

/// A number of things, if it is one; some servers write it as `10.0`.
pub fn count(value: &Value) -> Option<u64> {
    let whole = |number: f64| {
        let text = format!("{number:.0}");
        (number.fract() == 0.0).then(|| text.parse().ok())?
    };
    value.as_u64().or_else(|| value.as_f64().and_then(whole))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Counts, count};

    #[test]
    fn strange_counts_are_none() {
        for (told, expected) in [
            (json!(7), Some(7)),
            (json!(10.0), Some(10)),
            (json!(0.0), Some(0)),
            (json!(0.5), None),
            (json!(-1), None),
            (json!(-1.0), None),
            (json!(1e20), None),
            (json!("7"), None),
            (json!([7]), None),
            (json!(null), None),
        ] {
            assert_eq!(count(&told), expected, "{told}");
        }
    }

    #[test]
    fn what_is_told_later_joins_what_was_told() {
        let read = |told| serde_json::from_value::<Counts>(told).unwrap();
        for (told, later, expected) in [
            (json!({ "in": 7 }), json!({}), [Some(7), None]),
            (json!({ "in": 7 }), json!(null), [Some(7), None]),
            (json!({ "in": 7 }), json!({ "in": null, "of": { "out": 2 } }), [Some(7), Some(2)]),
            (json!({ "in": 7, "of": [] }), json!({ "in": 8 }), [Some(8), None]),
            (json!([]), json!("none"), [None, None]),
        ] {
            let mut counts = read(told.clone());
            counts.hear(read(later.clone()));
            assert_eq!([counts.at("/in"), counts.at("/of/out")], expected, "{told} {later}");
        }
    }
}
