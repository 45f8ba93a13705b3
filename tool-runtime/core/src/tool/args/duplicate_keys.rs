//! Detects duplicate keys. Parsers disagree on which of them counts, so what is approved could
//! differ from what runs.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Returns the first key that one object in the text of this value has twice.
pub(super) fn duplicate_key(json: &str, value: &Value) -> Option<String> {
    // Counting is cheap, and there is hardly ever a duplicate.
    if key_count(json) <= member_count(value) {
        return None;
    }
    let mut found = None;
    let searched = KeySearch(&mut found).deserialize(&mut serde_json::Deserializer::from_str(json));
    found.filter(|_| searched.is_err())
}

/// Decodes any value, and fails at the first duplicate key, which it stores.
struct KeySearch<'f>(&'f mut Option<String>);

impl<'de> DeserializeSeed<'de> for KeySearch<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KeySearch<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !keys.insert(key.clone()) {
                *self.0 = Some(key);
                return Err(A::Error::custom("duplicate key"));
            }
            map.next_value_seed(KeySearch(&mut *self.0))?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(KeySearch(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// Counts the keys in valid JSON: each has one colon outside of strings.
fn key_count(json: &str) -> usize {
    let (mut count, mut is_string, mut is_escaped) = (0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_string = !is_string,
            b':' if !is_string => count += 1,
            _ => {}
        }
    }
    count
}

fn member_count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(member_count).sum(),
        Value::Object(members) => members.len() + members.values().map(member_count).sum::<usize>(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::duplicate_key;

    #[test]
    fn only_equal_keys_of_one_object_are_duplicates() {
        for (json, expected) in [
            (r#"{}"#, None),
            (r#"{"a": 1, "b": {"a": ":"}}"#, None),
            (r#"{"a\":": "\\", "b": ["::", {"c": null}]}"#, None),
            (r#"{"a": 1, "a": 1}"#, Some("a")),
            (r#"{"a": 1, "\u0061": 2}"#, Some("a")),
            (r#"{"a": [-1, 1.5, true, null, {"b": 1, "b": ":\""}]}"#, Some("b")),
        ] {
            let value = serde_json::from_str(json).unwrap();
            assert_eq!(duplicate_key(json, &value).as_deref(), expected, "{json}");
        }
    }
}
