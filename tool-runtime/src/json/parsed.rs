//! What comes out of reading a text.

use std::sync::OnceLock;

use serde_json::Value;

use super::{
    Fix, Level, Options, Risk,
    recover::{Keys, Mode, Nodes, recover},
};

/// A value, and every repair that it took to read it.
///
/// ```
/// use tool_runtime::json::{FixKind, Level, parse};
///
/// let parsed = parse("<tool_call>[1, 2]</tool_call>").unwrap();
/// assert_eq!(parsed.value, serde_json::json!([1, 2]));
/// assert_eq!(parsed.fixes[0].kind, FixKind::Tag);
/// assert_eq!(parsed.level(), Level::Wrapping);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// The repairs, in the order of the text; none if the text was JSON already.
    pub fixes: Vec<Fix>,
    /// Whether the text ended before the value did, so that more may have been meant.
    pub truncated: bool,
    pub(super) called: Vec<String>,
    pub(super) json: Json,
}

impl Parsed {
    /// The JSON of the value as the model spelled it, without what was around it: numbers have all
    /// their digits. Decode types from this rather than from the value printed again.
    ///
    /// ```
    /// use tool_runtime::json::parse;
    ///
    /// let parsed = parse("```json\n[340282366920938463463374607431768211455]\n```").unwrap();
    /// let numbers: Vec<u128> = serde_json::from_str(parsed.json()).unwrap();
    /// assert_eq!(numbers, [u128::MAX]);
    /// ```
    pub fn json(&self) -> &str {
        self.json.text(&self.value)
    }

    /// What the elements and envelopes that were taken away say is called, from the outermost on:
    /// whoever executes the arguments looks whether they are meant for it.
    ///
    /// ```
    /// use tool_runtime::json::parse_as;
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"path": {}}});
    /// let parsed = parse_as(r#"{"name": "read", "arguments": {"path": "a"}}"#, &schema).unwrap();
    /// assert_eq!(parsed.json(), r#"{"path":"a"}"#);
    /// assert_eq!(parsed.called(), ["read"]);
    ///
    /// let parsed = parse_as(r#"<function=read>{"path": "a"}</function>"#, &schema).unwrap();
    /// assert_eq!(parsed.called(), ["read"]);
    /// ```
    pub fn called(&self) -> &[String] {
        &self.called
    }

    /// The highest level of the fixes; [`Level::Strict`] when there are none.
    ///
    /// ```
    /// use tool_runtime::json::{Level, parse};
    ///
    /// assert_eq!(parse("[1, 2]").unwrap().level(), Level::Strict);
    /// ```
    pub fn level(&self) -> Level {
        self.fixes.iter().map(Fix::level).max().unwrap_or(Level::Strict)
    }

    /// The highest risk of the fixes; [`Risk::Lossless`] when there are none. That of a text that
    /// was cut off is [`Risk::Lossy`], wherever the cut is: behind a whole item as well, more may
    /// have been meant.
    ///
    /// ```
    /// use tool_runtime::json::{Risk, parse};
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
            && self.called == other.called
            && self.json() == other.json()
    }
}

/// The JSON of a value. That of a damaged text is made only when somebody asks for it.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Text(String),
    /// All that was seen when the value was read, also what is behind it: where a string ends may
    /// have hung on that.
    Damaged {
        text: String,
        in_prose: bool,
        json: OnceLock<String>,
    },
}

impl Json {
    pub(super) const fn damaged(text: String, in_prose: bool) -> Self {
        Self::Damaged { text, in_prose, json: OnceLock::new() }
    }

    /// The text that the value was read from.
    pub(super) fn source(&self) -> &str {
        match self {
            Self::Text(text) | Self::Damaged { text, .. } => text,
        }
    }

    pub(super) fn text(&self, value: &Value) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Damaged { text, in_prose, json } => json.get_or_init(|| {
                let options = Options::default().with_max_depth(usize::MAX);
                let mode = Mode { options, keys: Keys::NONE, in_prose: *in_prose, is_sound: false };
                // The same parser over the same text, so it reads the same again.
                match recover::<Nodes>(text, 0, text.len(), mode, &mut 0) {
                    Ok(recovered) => recovered.value.to_json(),
                    Err(_) => value.to_string(),
                }
            }),
        }
    }
}
