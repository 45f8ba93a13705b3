//! The arguments of a call as an object, for providers and servers that read them again.

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

/// The same as a value.
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
