//! Access to the original text of values in JSON.
//!
//! A value that was decoded has lost the digits of floats and of numbers beyond 64 bits, and
//! members that occur twice. Arguments that a provider sends as an object are therefore cut out of
//! its JSON unchanged. serde_json offers `RawValue` for this, but its feature changes what every
//! program that builds with it decodes: an object whose first key is a certain word becomes what
//! its text spells.

use tool_core::__workspace::end_of_value;
use tool_core::Arguments;

/// Text of a JSON value that was validated before.
///
/// ```
/// use tool_runtime::providers::codec::RawJson;
///
/// let body = RawJson::new(r#"{"calls": [{"input": { "id": 12345678901234567890123 }}]}"#);
/// let call = body.member("calls").and_then(|calls| calls.items().next()).unwrap();
/// let arguments = call.member("input").and_then(RawJson::arguments).unwrap();
/// assert_eq!(arguments.to_text(), r#"{ "id": 12345678901234567890123 }"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawJson<'t>(&'t str);

impl<'t> RawJson<'t> {
    /// Creates a value from a whole text, which has to be valid JSON.
    pub fn new(json: &'t str) -> Self {
        Self(json.trim())
    }

    /// Returns the member of this name. If several members have the name, returns the last one,
    /// which is also the one that serde_json keeps.
    pub fn member(self, name: &str) -> Option<Self> {
        let mut entries = RawEntries::of(self.0, '{');
        let mut found = None;
        while let (Some(key), Some(value)) = (entries.next(), entries.next()) {
            if is_named(key, name) {
                found = Some(Self(value));
            }
        }
        found
    }

    /// Returns the items of an array. A value of another type has none.
    pub fn items(self) -> impl Iterator<Item = Self> + use<'t> {
        RawEntries::of(self.0, '[').map(Self)
    }

    /// Returns the value as call arguments: the content of a string, or the text of any other
    /// value. Returns `None` for `null`.
    pub fn arguments(self) -> Option<Arguments> {
        if self.0 == "null" {
            return None;
        }
        let content = serde_json::from_str::<String>(self.0).ok();
        Some(content.map_or_else(|| Arguments::from(self.0), Arguments::from))
    }
}

fn is_named(key: &str, name: &str) -> bool {
    if key.contains('\\') {
        serde_json::from_str::<String>(key).is_ok_and(|key| key == name)
    } else {
        key.trim_matches('"') == name
    }
}

/// Iterator over the items of an array, or over the keys and values of an object in turn.
struct RawEntries<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> RawEntries<'t> {
    fn of(text: &'t str, open: char) -> Self {
        Self { text, offset: if text.starts_with(open) { 1 } else { text.len() } }
    }
}

impl<'t> Iterator for RawEntries<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let is_separator = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',' | b':');
        let bytes = self.text.as_bytes();
        self.offset += bytes.get(self.offset..)?.iter().position(|byte| !is_separator(byte))?;
        let end = end_of_value(bytes, self.offset)?;
        let value = self.text.get(self.offset..end).filter(|value| !value.is_empty());
        self.offset = end;
        value
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::RawJson;

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
            assert_eq!(RawJson::new(json).member(name).map(|it| it.0), expected, "{json}");
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
            let items: Vec<_> = RawJson::new(json).items().map(|it| it.0).collect();
            assert_eq!(items, expected, "{json}");
        }
    }

    #[test]
    fn raw_text_matches_the_decoded_value() {
        let json = r#"[{"a": [1, {"b": "\\\""}], "c": {"a": {}}}, "\u00e9", [[]], -0.0, true]"#;
        let value: Value = serde_json::from_str(json).unwrap();
        let items: Vec<_> = RawJson::new(json).items().collect();
        assert_eq!(items.len(), value.as_array().unwrap().len());
        for (item, decoded) in items.iter().zip(value.as_array().unwrap()) {
            assert_eq!(serde_json::from_str::<Value>(item.0).unwrap(), *decoded);
            for (name, decoded) in decoded.as_object().into_iter().flatten() {
                let member = item.member(name).unwrap();
                assert_eq!(serde_json::from_str::<Value>(member.0).unwrap(), *decoded);
            }
        }
    }

    #[test]
    fn arguments_keep_their_text() {
        for (json, text) in [
            (r#"{ "n": 12345678901234567890123 }"#, Some(r#"{ "n": 12345678901234567890123 }"#)),
            (r#"{"n": 1.10, "n": 2}"#, Some(r#"{"n": 1.10, "n": 2}"#)),
            (r#""{\"a\": 1}""#, Some(r#"{"a": 1}"#)),
            (r#""""#, Some("")),
            ("[1]", Some("[1]")),
            ("null", None),
        ] {
            let arguments = RawJson::new(json).arguments();
            assert_eq!(arguments.map(|it| it.to_text().into_owned()).as_deref(), text, "{json}");
        }
    }
}
