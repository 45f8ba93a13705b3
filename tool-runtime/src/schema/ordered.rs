//! The order in which members are written.
//!
//! A model that is held to a schema writes members in the order in which the schema names them, and thinks
//! better where what it concludes comes behind what it concludes that from. A map knows no order, but
//! `required` does: it has members as their type declares them.

use std::collections::HashMap;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// JSON in which the `properties` of each schema come in the order of its `required`, and behind them, sorted,
/// those that may be left out. Prints as that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InOrder<'v>(pub(crate) &'v Value);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(InOrder)),
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_key(key)?;
                    match (key.as_str(), value, members.get("required")) {
                        ("properties", Value::Object(named), Some(Value::Array(order))) => {
                            map.serialize_value(&Named { named, order })?;
                        }
                        _ => map.serialize_value(&InOrder(value))?,
                    }
                }
                map.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

impl fmt::Display for InOrder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

struct Named<'v> {
    named: &'v Map<String, Value>,
    order: &'v [Value],
}

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Of a name that comes twice the first place counts.
        let names = self.order.iter().enumerate().rev();
        let places: HashMap<_, _> =
            names.filter_map(|(place, name)| Some((name.as_str()?, place))).collect();
        let mut members: Vec<_> = self.named.iter().collect();
        // Stable: those without a place stay as they are, behind the others.
        members.sort_by_key(|(name, _)| places.get(name.as_str()).copied().unwrap_or(usize::MAX));
        serializer.collect_map(members.into_iter().map(|(name, value)| (name, InOrder(value))))
    }
}

#[cfg(test)]
mod tests {
    use super::InOrder;
    use serde_json::json;

    #[test]
    fn members_come_as_they_are_required() {
        for (value, text) in [
            (
                json!({ "required": ["z", "b", "z"], "properties": { "a": {}, "b": {}, "c": {}, "z": {} } }),
                r#"{"properties":{"z":{},"b":{},"a":{},"c":{}},"required":["z","b","z"]}"#,
            ),
            (
                json!([{ "properties": { "x": { "required": ["q"], "properties": { "p": 1, "q": 2 } } } }]),
                r#"[{"properties":{"x":{"properties":{"q":2,"p":1},"required":["q"]}}}]"#,
            ),
            // Members of these names, not schemas.
            (json!({ "properties": 1, "required": true }), r#"{"properties":1,"required":true}"#),
            (
                json!({ "properties": { "b": 1, "a": 2 }, "required": [3, "none"] }),
                r#"{"properties":{"a":2,"b":1},"required":[3,"none"]}"#,
            ),
            (json!("\u{1}é"), "\"\\u0001é\""),
            (json!(1.5), "1.5"),
        ] {
            assert_eq!(InOrder(&value).to_string(), text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(text).unwrap(), value);
        }
    }
}
