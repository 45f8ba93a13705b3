//! The text of what stands in a provider's JSON.
//!
//! A value that was read has lost the digits of floats and of numbers beyond 64 bits, and members that
//! came twice. So arguments that a provider sends as an object are cut out of its JSON as they stand there.
//! serde_json has `RawValue` for this, but its feature changes what every program that builds with it
//! reads: an object whose first key is a certain word becomes what its text spells.

use crate::json::value_end::end_of_value;
use crate::message::Arguments;

/// A value in JSON that was read and found sound.
///
/// ```
/// use tool_runtime::providers::codec::Source;
///
/// let body = Source::new(r#"{"calls": [{"input": { "id": 12345678901234567890123 }}]}"#);
/// let call = body.member("calls").and_then(|calls| calls.items().next()).unwrap();
/// let arguments = call.member("input").and_then(Source::arguments).unwrap();
/// assert_eq!(arguments.to_text(), r#"{ "id": 12345678901234567890123 }"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'t>(&'t str);

impl<'t> Source<'t> {
    /// All of this text.
    pub fn new(json: &'t str) -> Self {
        Self(json.trim())
    }

    /// The member of this name; of several the last, which is the one that is read.
    pub fn member(self, name: &str) -> Option<Self> {
        let mut inside = Inside::of(self.0, '{');
        let mut found = None;
        while let (Some(key), Some(value)) = (inside.next(), inside.next()) {
            if is_named(key, name) {
                found = Some(Self(value));
            }
        }
        found
    }

    /// The items of a list; none of what is no list.
    pub fn items(self) -> impl Iterator<Item = Self> + use<'t> {
        Inside::of(self.0, '[').map(Self)
    }

    /// The arguments that stand here: the text that a string holds, and anything else as it is written. None
    /// where it is null.
    pub fn arguments(self) -> Option<Arguments> {
        if self.0 == "null" {
            return None;
        }
        let told = serde_json::from_str::<String>(self.0).ok();
        Some(told.map_or_else(|| Arguments::from(self.0), Arguments::from))
    }
}

fn is_named(key: &str, name: &str) -> bool {
    match key.contains('\\') {
        true => serde_json::from_str::<String>(key).is_ok_and(|key| key == name),
        false => key.trim_matches('"') == name,
    }
}

/// What stands in a list, or in an object: there keys and values take turns.
struct Inside<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Inside<'t> {
    fn of(text: &'t str, opens: char) -> Self {
        Self { text, at: if text.starts_with(opens) { 1 } else { text.len() } }
    }
}

impl<'t> Iterator for Inside<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let between = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',' | b':');
        let bytes = self.text.as_bytes();
        self.at += bytes.get(self.at..)?.iter().position(|byte| !between(byte))?;
        let end = end_of_value(bytes, self.at)?;
        let value = self.text.get(self.at..end).filter(|value| !value.is_empty());
        self.at = end;
        value
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::Source;

    #[test]
    fn members_and_items_are_found() {
        for (json, name, expected) in [
            (r#"{}"#, "a", None),
            (r#"[{"a": 1}]"#, "a", None),
            (r#""a""#, "a", None),
            (r#" { "b" : {"a": 2} , "a":1.50}"#, "a", Some("1.50")),
            (r#"{"a": 1, "a": [ {}, 2]}"#, "a", Some("[ {}, 2]")),
            (r#"{"\u0061": "x\"}", "b": ":,"}"#, "a", Some(r#""x\"}""#)),
            (r#"{"é\\": null}"#, "é\\", Some("null")),
            (r#"{"b": "a", "c": -1e400}"#, "c", Some("-1e400")),
        ] {
            assert_eq!(Source::new(json).member(name).map(|it| it.0), expected, "{json}");
        }
        for (json, expected) in [
            ("[]", &[][..]),
            ("[ ]", &[]),
            ("{\"a\": 1}", &[]),
            ("7", &[]),
            ("", &[]),
            ("[1,2]", &["1", "2"]),
            (
                "[ [1, [2]] , {\"a\": \"]\"}, \"é,\" ,null ]",
                &["[1, [2]]", "{\"a\": \"]\"}", "\"é,\"", "null"],
            ),
        ] {
            let items: Vec<_> = Source::new(json).items().map(|it| it.0).collect();
            assert_eq!(items, expected, "{json}");
        }
    }

    #[test]
    fn what_is_found_is_what_is_read() {
        let json = r#"[{"a": [1, {"b": "\\\""}], "c": {"a": {}}}, "\u00e9", [[]], -0.0, true]"#;
        let value: Value = serde_json::from_str(json).unwrap();
        let items: Vec<_> = Source::new(json).items().collect();
        assert_eq!(items.len(), value.as_array().unwrap().len());
        for (item, read) in items.iter().zip(value.as_array().unwrap()) {
            assert_eq!(serde_json::from_str::<Value>(item.0).unwrap(), *read);
            for (name, read) in read.as_object().into_iter().flatten() {
                let member = item.member(name).unwrap();
                assert_eq!(serde_json::from_str::<Value>(member.0).unwrap(), *read);
            }
        }
    }

    #[test]
    fn arguments_stay_as_they_are_written() {
        for (json, text) in [
            (r#"{ "n": 12345678901234567890123 }"#, Some(r#"{ "n": 12345678901234567890123 }"#)),
            (r#"{"n": 1.10, "n": 2}"#, Some(r#"{"n": 1.10, "n": 2}"#)),
            (r#""{\"a\": 1}""#, Some(r#"{"a": 1}"#)),
            (r#""""#, Some("")),
            ("[1]", Some("[1]")),
            ("null", None),
        ] {
            let arguments = Source::new(json).arguments();
            assert_eq!(arguments.map(|it| it.to_text().into_owned()).as_deref(), text, "{json}");
        }
    }
}
