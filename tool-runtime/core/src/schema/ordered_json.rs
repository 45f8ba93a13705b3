//! JSON output with schema members in a fixed order.
//!
//! A model that is held to a schema writes members in the order of the schema, and reasons better
//! if conclusions come after what they are based on. A map has no order, but `required` lists
//! members in the order of their declaration.

use std::collections::HashMap;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Writes JSON with the `properties` of each schema in the order of its `required`, followed by the
/// optional ones in alphabetical order.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct OrderedJson<'v>(pub &'v Value);

impl Serialize for OrderedJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(OrderedJson)),
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_key(key)?;
                    match (key.as_str(), value, members.get("required")) {
                        ("properties", Value::Object(named), Some(Value::Array(order))) => {
                            map.serialize_value(&OrderedMembers { named, order })?;
                        }
                        _ => map.serialize_value(&OrderedJson(value))?,
                    }
                }
                map.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

impl fmt::Display for OrderedJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

struct OrderedMembers<'v> {
    named: &'v Map<String, Value>,
    order: &'v [Value],
}

impl Serialize for OrderedMembers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // If a name occurs twice, the first position counts.
        let names = self.order.iter().enumerate().rev();
        let order_of: HashMap<_, _> =
            names.filter_map(|(index, name)| Some((name.as_str()?, index))).collect();
        let mut members: Vec<_> = self.named.iter().collect();
        // The sort is stable: optional members keep their order.
        members.sort_by_key(|(name, _)| order_of.get(name.as_str()).copied().unwrap_or(usize::MAX));
        serializer.collect_map(members.into_iter().map(|(name, value)| (name, OrderedJson(value))))
    }
}

#[cfg(test)]
mod tests {
    use super::OrderedJson;
    use serde_json::json;

    #[test]
    fn members_are_written_in_order_of_required() {
        for (value, text) in [
            (
                json!({ "required": ["z", "b", "z"], "properties": { "a": {}, "b": {}, "c": {}, "z": {} } }),
                r#"{"properties":{"z":{},"b":{},"a":{},"c":{}},"required":["z","b","z"]}"#,
            ),
            (
                json!([{ "properties": { "x": { "required": ["q"], "properties": { "p": 1, "q": 2 } } } }]),
                r#"[{"properties":{"x":{"properties":{"q":2,"p":1},"required":["q"]}}}]"#,
            ),
            // Members with these names, not schemas.
            (json!({ "properties": 1, "required": true }), r#"{"properties":1,"required":true}"#),
            (
                json!({ "properties": { "b": 1, "a": 2 }, "required": [3, "none"] }),
                r#"{"properties":{"a":2,"b":1},"required":[3,"none"]}"#,
            ),
            (json!("\u{1}é"), "\"\\u0001é\""),
            (json!(1.5), "1.5"),
        ] {
            assert_eq!(OrderedJson(&value).to_string(), text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(text).unwrap(), value);
        }
    }
}
