//! Token counts that a provider reports.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use tool_core::Usage;

/// Members of the `usage` object of a provider. A member that is not a count is ignored, so that
/// unexpected data never fails a reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Map<String, Value>);

impl Counts {
    /// Returns the count at a JSON pointer (RFC 6901), if there is one.
    pub(crate) fn get(&self, pointer: &str) -> Option<u64> {
        let mut names = pointer.split('/').skip(1);
        let first = self.0.get(names.next()?)?;
        count(names.try_fold(first, |value, name| value.get(name))?)
    }

    /// Returns the tokens of a modality in a list such as Gemini's `promptTokensDetails`.
    pub(crate) fn of_modality(&self, list: &str, modality: &str) -> u64 {
        let details = self.0.get(list).and_then(Value::as_array).into_iter().flatten();
        let of_modality =
            details.filter(|detail| detail.get("modality").is_some_and(|name| name == modality));
        of_modality.filter_map(|detail| count(detail.get("tokenCount")?)).sum()
    }

    /// Merges later counts. A later count replaces an earlier one, because providers send running
    /// totals.
    pub(crate) fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Converts the counts into a usage; returns `None` if the provider reported none.
    pub(crate) fn usage(self, convert: impl FnOnce(&Self) -> Usage) -> Option<Usage> {
        (!self.0.is_empty()).then(|| convert(&self))
    }
}

/// Accepts any value: a value that is not an object has no counts, and `null` members are dropped.
impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Object(mut members) = Value::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        members.retain(|_, member| !member.is_null());
        Ok(Self(members))
    }
}

/// Returns a count from a JSON number. Some servers write whole numbers as `10.0`.
pub(crate) fn count(value: &Value) -> Option<u64> {
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
    fn values_that_are_not_counts_are_ignored() {
        for (reported, expected) in [
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
            assert_eq!(count(&reported), expected, "{reported}");
        }
    }

    #[test]
    fn later_counts_replace_earlier_ones() {
        let convert = |reported| serde_json::from_value::<Counts>(reported).unwrap();
        for (reported, later, expected) in [
            (json!({ "in": 7 }), json!({}), [Some(7), None]),
            (json!({ "in": 7 }), json!(null), [Some(7), None]),
            (json!({ "in": 7 }), json!({ "in": null, "of": { "out": 2 } }), [Some(7), Some(2)]),
            (json!({ "in": 7, "of": [] }), json!({ "in": 8 }), [Some(8), None]),
            (json!([]), json!("none"), [None, None]),
        ] {
            let mut counts = convert(reported.clone());
            counts.merge(convert(later.clone()));
            assert_eq!([counts.get("/in"), counts.get("/of/out")], expected, "{reported} {later}");
        }
    }
}
