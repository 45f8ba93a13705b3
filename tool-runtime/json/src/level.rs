//! The level and the risk of fixes.

use serde::{Deserialize, Serialize};

/// The depth of a fix; each level includes the levels before it.
///
/// The level of a result is the highest level of its fixes
/// ([`Parsed::level`](super::Parsed::level)). Limit the repairs of a parse with
/// [`Options::max_level`](super::Options::max_level).
///
/// ```
/// use tool_json::{Level, parse};
///
/// let parsed = parse("```json\n{\"city\": \"Oslo\"}\n```").unwrap();
/// assert_eq!(parsed.level(), Level::Wrapping);
/// assert!(parsed.level() < Level::Spelling);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// No repair: the value is exactly what serde_json parses.
    Strict,
    /// Removes text around the value: byte order mark, non-JSON whitespace, code fences, tags,
    /// prose, a level of escaping.
    Wrapping,
    /// Reads another spelling of the same token: raw control characters, invalid escapes, literals
    /// of Python and JavaScript, comments, stray commas, other quotation marks, unquoted keys.
    Spelling,
    /// Inserts or replaces structural tokens: missing commas, colons and closing brackets, wrong
    /// closing brackets, unescaped inner quotes.
    Structure,
    /// Reads a text that was cut off inside a string, key or literal.
    Truncation,
    /// Changes a value to fit the schema, if exactly one change does so.
    Schema,
}

/// The possible loss of a fix, independent of its level.
///
/// The risk of a result is the highest risk of its fixes ([`Parsed::risk`](super::Parsed::risk)).
/// Limit the risk of a parse with [`Options::max_risk`](super::Options::max_risk).
///
/// ```
/// use tool_json::{Risk, parse};
///
/// assert_eq!(parse("`{\"city\": \"Oslo\"}`").unwrap().risk(), Risk::Lossless);
/// assert_eq!(parse("I'd say {\"city\": \"Oslo\"}").unwrap().risk(), Risk::Inferred);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// The value is spelled in full and has one meaning.
    Lossless,
    /// The value is complete, but its reading was inferred.
    Inferred,
    /// Part of the intended value may be missing, because the text was cut off, or another value
    /// may be intended.
    Lossy,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_risks_are_ordered_as_declared() {
        assert!(Level::Strict < Level::Wrapping && Level::Truncation < Level::Schema);
        assert!(Risk::Lossless < Risk::Inferred && Risk::Inferred < Risk::Lossy);
    }
}
