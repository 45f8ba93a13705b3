//! Parses JSON incrementally while it arrives.
//!
//! # Flow
//!
//! ```text
//! push   ─▶ parser    bytes to containers, open and complete; scalar: the open string or number
//! value  ─▶ value     a view of the containers, each part complete or growing
//! finish ─▶ parse     of the whole text, with repairs
//! ```
//!
//! # Invariants
//!
//! - The incremental parser is strict, so a value that it returned is never retracted, except by
//!   [`Partial::finish`]. At the first byte that is not JSON, it stops, and keeps its value. Only
//!   raw line breaks and other control characters in strings, which have one meaning, are accepted.
//! - It skips the text before the value: prose, fences, tags, reasoning, and brackets that do not
//!   begin JSON.
//! - Each byte is inspected once, and values are moved, never copied: the work is linear in the
//!   text, whatever the chunks.

mod parser;
mod scalar;
mod value;

use self::parser::IncrementalParser;
pub use self::value::PartialValue;
use super::{ParseError, Parsed, parse};

/// An incremental parser for a value whose text is still arriving.
///
/// [`push`](Self::push) adds a chunk of any length, [`value`](Self::value) returns a view of what
/// has arrived, and [`finish`](Self::finish) parses the whole text like [`parse`].
///
/// The parser is strict until `finish`: at the first byte that is not JSON, such as a single quote,
/// a bare key or a comment, it stops, and [`value`](Self::value) keeps returning the value before
/// that byte. Only raw line breaks and other control characters in strings are accepted. The result
/// of `finish` is repaired.
///
/// ```
/// use serde_json::json;
/// use tool_json::Partial;
///
/// let mut partial = Partial::new();
/// partial.push("Sure:\n```json\n{\"city\": \"Oslo\", \"note\": \"by the fj");
///
/// let so_far = partial.value().unwrap();
/// assert_eq!(so_far.to_value(), json!({"city": "Oslo", "note": "by the fj"}));
/// assert!(so_far.get("city").unwrap().is_complete());
/// assert!(!so_far.get("note").unwrap().is_complete());
///
/// partial.push("ord\"}\n```");
/// assert!(partial.value().unwrap().is_complete());
/// assert_eq!(partial.finish().unwrap().value, json!({"city": "Oslo", "note": "by the fjord"}));
///
/// let mut partial = Partial::new();
/// partial.push("{\"city\": \"Oslo\", 'note': 'by the fjord'}");
/// assert_eq!(partial.value().unwrap().to_value(), json!({"city": "Oslo"}));
/// assert_eq!(partial.finish().unwrap().value, json!({"city": "Oslo", "note": "by the fjord"}));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Partial {
    text: String,
    parser: IncrementalParser,
}

impl Partial {
    /// Creates a parser without text.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// assert!(Partial::new().value().is_none());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next chunk, of any length.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// for chunk in ["[1", "2, ", "3"] {
    ///     partial.push(chunk);
    /// }
    /// assert_eq!(partial.value().unwrap().to_value().to_string(), "[12,3]");
    /// ```
    pub fn push(&mut self, chunk: &str) {
        self.text.push_str(chunk);
        self.parser.advance(&self.text, &mut 0);
    }

    /// Returns the value so far, or `None` until an object or array begins.
    ///
    /// The value contains everything that is independent of the text that is still missing. A
    /// member appears as soon as its value has begun. Numbers and strings appear as they grow; an
    /// escape or a literal such as `true` appears only once it is complete.
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push("A [list] follows: ");
    /// assert!(partial.value().is_none());
    /// partial.push(r#"["a\u00e5", tru"#);
    /// assert_eq!(partial.value().unwrap().to_value().to_string(), r#"["aå"]"#);
    /// ```
    pub fn value(&self) -> Option<PartialValue<'_>> {
        PartialValue::of(&self.parser)
    }

    /// Returns all the text that has arrived.
    ///
    /// If there is a schema, parse this text with [`parse_as`](super::parse_as) instead of calling
    /// [`finish`](Self::finish).
    ///
    /// ```
    /// use tool_json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push("[1, ");
    /// assert_eq!(partial.text(), "[1, ");
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses and repairs the whole text, like [`parse`].
    ///
    /// # Errors
    /// Returns a [`ParseError`] in the cases of [`parse`].
    ///
    /// ```
    /// use tool_json::{Partial, parse};
    ///
    /// let mut partial = Partial::new();
    /// partial.push("[1, 2]");
    /// assert_eq!(partial.finish(), parse("[1, 2]"));
    /// ```
    pub fn finish(self) -> Result<Parsed, ParseError> {
        parse(&self.text)
    }
}

#[cfg(test)]
mod tests;
