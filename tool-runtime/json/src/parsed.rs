//! The result of parsing a text.

use std::sync::OnceLock;

use serde_json::Value;

use super::{
    Fix, Level, Options, Risk,
    recover::{NodeBuilder, RecoveryMode, SchemaKeys, recover},
};

/// A parsed value, with all fixes that were needed to read it.
///
/// ```
/// use tool_json::{FixKind, Level, parse};
///
/// let parsed = parse("<tool_call>[1, 2]</tool_call>").unwrap();
/// assert_eq!(parsed.value, serde_json::json!([1, 2]));
/// assert_eq!(parsed.fixes[0].kind, FixKind::Tag);
/// assert_eq!(parsed.level(), Level::Wrapping);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parsed {
    /// The value that was parsed.
    pub value: Value,
    /// The repairs, in the order of the text; empty if the text was valid JSON that fits the
    /// schema.
    pub fixes: Vec<Fix>,
    /// Whether the text ended inside the value, so that content may be missing.
    pub truncated: bool,
    pub(super) callees: Vec<String>,
    pub(super) json: JsonText,
}

impl Parsed {
    /// Returns the JSON of the value as the model spelled it, without the text around it.
    ///
    /// Numbers keep all their digits. Decode Rust types from this text rather than from
    /// [`value`](Self::value), which may have lost digits.
    ///
    /// ```
    /// use tool_json::parse;
    ///
    /// let parsed = parse("```json\n[340282366920938463463374607431768211455]\n```").unwrap();
    /// let numbers: Vec<u128> = serde_json::from_str(parsed.json()).unwrap();
    /// assert_eq!(numbers, [u128::MAX]);
    /// ```
    pub fn json(&self) -> &str {
        self.json.as_str(&self.value)
    }

    /// Returns the tool names in the removed elements and envelopes, outermost first.
    ///
    /// Compare them with the tool that is about to receive the arguments: the model may have
    /// intended to call another one.
    ///
    /// ```
    /// use tool_json::parse_as;
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"path": {}}});
    /// let parsed = parse_as(r#"{"name": "read", "arguments": {"path": "a"}}"#, &schema).unwrap();
    /// assert_eq!(parsed.json(), r#"{"path":"a"}"#);
    /// assert_eq!(parsed.tool_names(), ["read"]);
    ///
    /// let parsed = parse_as(r#"<function=read>{"path": "a"}</function>"#, &schema).unwrap();
    /// assert_eq!(parsed.tool_names(), ["read"]);
    /// ```
    pub fn tool_names(&self) -> &[String] {
        &self.callees
    }

    /// Returns the highest level of the fixes, or [`Level::Strict`] if there are none.
    ///
    /// ```
    /// use tool_json::{Level, parse};
    ///
    /// assert_eq!(parse("[1, 2]").unwrap().level(), Level::Strict);
    /// ```
    pub fn level(&self) -> Level {
        self.fixes.iter().map(Fix::level).max().unwrap_or(Level::Strict)
    }

    /// Returns the highest risk of the fixes, or [`Risk::Lossless`] if there are none.
    ///
    /// The risk of a truncated text is always [`Risk::Lossy`]: even after a complete item, more
    /// items may be missing.
    ///
    /// ```
    /// use tool_json::{Risk, parse};
    ///
    /// assert_eq!(parse("Here you are: [1, 2]").unwrap().risk(), Risk::Inferred);
    /// assert_eq!(parse(r#"["milk", "bread""#).unwrap().risk(), Risk::Lossy);
    /// ```
    pub fn risk(&self) -> Risk {
        if self.truncated {
            return Risk::Lossy;
        }
        self.fixes.iter().map(Fix::risk).max().unwrap_or(Risk::Lossless)
    }
}

impl PartialEq for Parsed {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
            && self.fixes == other.fixes
            && self.truncated == other.truncated
            && self.callees == other.callees
            && self.json() == other.json()
    }
}

/// The JSON text of a value; that of a damaged text is computed on first use.
#[derive(Clone, Debug)]
pub(super) enum JsonText {
    Ready(String),
    /// Everything that the parser saw, including the text after the value: the end of a string may
    /// have depended on it.
    Deferred {
        text: String,
        in_prose: bool,
        json: OnceLock<String>,
    },
}

impl JsonText {
    pub(super) const fn deferred(text: String, in_prose: bool) -> Self {
        Self::Deferred { text, in_prose, json: OnceLock::new() }
    }

    /// The text that the value was parsed from.
    pub(super) fn source(&self) -> &str {
        match self {
            Self::Ready(text) | Self::Deferred { text, .. } => text,
        }
    }

    pub(super) fn as_str(&self, value: &Value) -> &str {
        match self {
            Self::Ready(text) => text,
            Self::Deferred { text, in_prose, json } => json.get_or_init(|| {
                let options = Options::default().max_depth(usize::MAX);
                let mode = RecoveryMode { options, keys: SchemaKeys::NONE, in_prose: *in_prose };
                // The same parser over the same text gives the same result.
                match recover::<NodeBuilder>(text, 0, text.len(), mode, &mut 0) {
                    Ok(recovered) => recovered.value.to_json(),
                    Err(_) => value.to_string(),
                }
            }),
        }
    }
}
