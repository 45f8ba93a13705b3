//! Call arguments as a JSON object, for providers and servers that parse them again.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use tool_core::{Arguments, json};

/// Returns the JSON text of the object that the tool received. If the tool received none, returns
/// an object that contains the text of the model, so that the model still sees what it wrote.
fn repaired_object(arguments: &Arguments) -> String {
    let text = arguments.to_text();
    let repaired = json::parse_as(&text, &json!({ "type": "object" })).ok();
    match repaired.filter(|parsed| parsed.value.is_object()) {
        Some(parsed) => parsed.json().to_owned(),
        None => json!({ "unreadable": text }).to_string(),
    }
}

/// Returns call arguments as the JSON text of an object.
///
/// The text is the one that the model wrote, byte for byte, if it is a JSON object. Otherwise it is
/// the repaired object, or, if the text cannot be repaired, `{"unreadable": "<the text>"}`.
///
/// Send arguments back in this form: llama.cpp and vLLM parse the arguments of every call in a
/// conversation. If the arguments of one call are not a JSON object, they refuse this request and
/// every later one.
///
/// ```
/// use tool_runtime::Arguments;
/// use tool_runtime::providers::codec::arguments_text;
///
/// assert_eq!(arguments_text(&Arguments::from(r#"{ "n": 1.0 }"#)), r#"{ "n": 1.0 }"#);
/// assert_eq!(arguments_text(&Arguments::from("{n: 1,}")), r#"{"n":1}"#);
/// ```
pub fn arguments_text(arguments: &Arguments) -> Cow<'_, str> {
    let text = arguments.to_text();
    if serde_json::from_str::<Map<String, Value>>(&text).is_ok() {
        return text;
    }
    Cow::Owned(repaired_object(arguments))
}

/// Returns call arguments as a JSON object, for providers that take a value instead of a text.
///
/// Repairs damaged arguments like [`arguments_text`]. A number that does not fit into 64 bits
/// becomes the nearest one that does; the tool received all of its digits.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::Arguments;
/// use tool_runtime::providers::codec::arguments_object;
///
/// assert_eq!(arguments_object(&Arguments::from("{n: 1,}")), json!({ "n": 1 }));
/// ```
pub fn arguments_object(arguments: &Arguments) -> Value {
    if let Arguments::Value(value) = arguments
        && value.is_object()
    {
        return Value::clone(value);
    }
    let text = arguments.to_text();
    let members = serde_json::from_str::<Map<String, Value>>(&text)
        .or_else(|_| serde_json::from_str(&repaired_object(arguments)));
    members.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::arguments_text;

    #[test]
    fn arguments_are_sent_as_an_object() {
        for (written, encoded) in [
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
            assert_eq!(arguments_text(&written.into()), encoded, "{written}");
        }
    }
}
