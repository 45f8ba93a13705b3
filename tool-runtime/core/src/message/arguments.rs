use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The arguments of a call, as the model provider delivered them.
///
/// - Most providers send the text that the model wrote. It is kept byte for byte, so that repairs
///   can be compared with the original.
/// - Some providers send an object. Its JSON text is kept, because a [`Value`] would lose numbers
///   that do not fit into 64 bits.
/// - A program that makes a call itself can pass a [`Value`].
///
/// A clone shares the text or the value. A text serializes as a JSON string, a value as itself.
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
    /// The text that the model wrote. It should contain a JSON object.
    Text(Arc<str>),
    /// A value of the program.
    Value(Arc<Value>),
}

impl Arguments {
    /// Returns the text of the model, or the value as JSON text.
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

/// Treats a JSON string as the text of the arguments, because no tool takes a bare string.
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
