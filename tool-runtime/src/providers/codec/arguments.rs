//! The arguments of a call as an object, for providers and servers that read them again.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::json;
use crate::message::Arguments;

/// The JSON of the object that the tool was given; where it was given none, of one that holds what the
/// model wrote, so that it still sees that.
pub fn object_text(arguments: &Arguments) -> String {
    let text = arguments.to_text();
    let repaired = json::parse_as(&text, &json!({ "type": "object" })).ok();
    match repaired.filter(|parsed| parsed.value.is_object()) {
        Some(parsed) => parsed.json().to_owned(),
        None => json!({ "unreadable": text }).to_string(),
    }
}

/// An object as text: the model's own, byte for byte, unless it is damaged.
///
/// llama.cpp and vLLM read these texts again and refuse the whole conversation, now and on every
/// turn after, when one of them isn't the JSON of an object.
pub fn written_object(arguments: &Arguments) -> Cow<'_, str> {
    let text = arguments.to_text();
    if serde_json::from_str::<Map<String, Value>>(&text).is_ok() {
        return text;
    }
    Cow::Owned(object_text(arguments))
}

/// The same as a value, for providers that want the object itself. What 64 bits don't hold of a number goes
/// back as the nearest that they do: the tool had all of its digits.
pub fn object(arguments: &Arguments) -> Value {
    if let Arguments::Value(value) = arguments
        && value.is_object()
    {
        return Value::clone(value);
    }
    let text = arguments.to_text();
    let members = serde_json::from_str::<Map<String, Value>>(&text)
        .or_else(|_| serde_json::from_str(&object_text(arguments)));
    members.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::written_object;

    #[test]
    fn arguments_go_back_as_an_object() {
        for (written, sent) in [
            (r#"{ "b": 1.0, "a": 1e2 }"#, r#"{ "b": 1.0, "a": 1e2 }"#),
            ("", "{}"),
            (" null ", "{}"),
            ("```json\n{\"a\": 1}\n```", r#"{"a": 1}"#),
            ("As in [1]: {\"a\": 1}", r#"{"a": 1}"#),
            (r#""{\"a\": 1}""#, r#"{"a": 1}"#),
            ("{a: 1.10,}", r#"{"a":1.10}"#),
            ("{\"a\": 1 | 2}", r#"{"unreadable":"{\"a\": 1 | 2}"}"#),
            ("[1]", r#"{"unreadable":"[1]"}"#),
        ] {
            assert_eq!(written_object(&written.into()), sent, "{written}");
        }
    }
}
