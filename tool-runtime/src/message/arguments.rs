use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The arguments of a call, as the model's provider delivered them.
///
/// Most providers send the text that the model wrote; it is kept byte for byte, so that
/// whatever was repaired on the way into the tool can be looked up afterwards. Some send an
/// object; it is kept as it is written in their JSON, for a value would lose numbers that 64 bits
/// don't hold. A program that makes a call of its own may have a value; it is handed over as it is,
/// and a `#[tool]` function decodes it. Both are shared: a clone copies no text.
///
/// Serialised, a text is a JSON string and an object is itself.
///
/// ```
/// use tool_runtime::Arguments;
///
/// let text = Arguments::from(r#"{ "city": "Oslo" }"#);
/// assert_eq!(text.to_text(), r#"{ "city": "Oslo" }"#);
///
/// let object = Arguments::from(serde_json::json!({ "city": "Oslo" }));
/// assert_eq!(object.to_text(), r#"{"city":"Oslo"}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// Text that should hold a JSON object, exactly as the model wrote it.
    Text(Arc<str>),
    /// A value that was never text.
    Value(Arc<Value>),
}

impl Arguments {
    /// The arguments as text: the model's own, or the value printed as JSON.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Value(value) => Cow::Owned(value.to_string()),
        }
    }
}

impl fmt::Display for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Value(value) => value.fmt(f),
        }
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// A JSON string is taken for the text of the arguments: no tool takes a bare string.
impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::from(text),
            value => Self::Value(Arc::new(value)),
        }
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}
