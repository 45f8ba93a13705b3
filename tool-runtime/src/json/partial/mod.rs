//! JSON that is still arriving: the value so far, at any time.
//!
//! ```text
//! push ─▶ reader    bytes to containers, open and whole; number and text: the scalar at the end
//! value ─▶ so_far    a view of them, each part complete or growing
//! finish ─▶ parse    of all that came
//! ```
//!
//! The reader is strict, so that nothing it shows is taken back later but by [`Partial::finish`]:
//! where the text stops being JSON it stops, and shows what it had. Two things are let pass that
//! have one meaning, raw line breaks and other control characters in strings. It skips what stands
//! before the value: prose, fences, tags, reasoning, and brackets that don't begin JSON.
//!
//! Each byte is looked at once, and what was read is moved, never copied: the work is linear in the
//! text, however it is cut into chunks.

mod number;
mod reader;
mod so_far;
mod text;

use self::reader::Reader;
pub use self::so_far::SoFar;
use super::{Parsed, Unreadable, parse};

/// Reads a value while its text arrives.
///
/// It is strict: at the first byte that is no JSON, such as a single quote, a bare key or a comment, it
/// stops, and [`value`](Self::value) shows what came before it however much follows. Only raw line breaks
/// and other control characters in strings are let pass. What [`finish`](Self::finish) gives is repaired
/// as [`parse`] does it.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::json::Partial;
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
    reader: Reader,
}

impl Partial {
    /// Nothing has arrived yet.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// assert!(Partial::new().value().is_none());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next chunk, of any length.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// for chunk in ["[1", "2, ", "3"] {
    ///     partial.push(chunk);
    /// }
    /// assert_eq!(partial.value().unwrap().to_value().to_string(), "[12,3]");
    /// ```
    pub fn push(&mut self, chunk: &str) {
        self.text.push_str(chunk);
        self.reader.read(&self.text, &mut 0);
    }

    /// The value so far; `None` until an object or a list begins.
    ///
    /// It is what can be read of the text without knowing how it goes on. Members are there as soon
    /// as their value has begun, numbers and strings as they grow; of an escape or literal, such as
    /// `true`, nothing is until all of it is.
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push("A [list] follows: ");
    /// assert!(partial.value().is_none());
    /// partial.push(r#"["a\u00e5", tru"#);
    /// assert_eq!(partial.value().unwrap().to_value().to_string(), r#"["aå"]"#);
    /// ```
    pub fn value(&self) -> Option<SoFar<'_>> {
        SoFar::of(&self.reader)
    }

    /// All the text that has arrived.
    ///
    /// With a schema at hand, read it in the end with [`parse_as`](super::parse_as).
    ///
    /// ```
    /// use tool_runtime::json::Partial;
    ///
    /// let mut partial = Partial::new();
    /// partial.push("[1, ");
    /// assert_eq!(partial.text(), "[1, ");
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads the whole text, now that it has ended: the same as [`parse`].
    ///
    /// # Errors
    /// As [`parse`].
    ///
    /// ```
    /// use tool_runtime::json::{Partial, parse};
    ///
    /// let mut partial = Partial::new();
    /// partial.push("[1, 2]");
    /// assert_eq!(partial.finish(), parse("[1, 2]"));
    /// ```
    pub fn finish(self) -> Result<Parsed, Unreadable> {
        parse(&self.text)
    }
}

#[cfg(test)]
mod tests;
