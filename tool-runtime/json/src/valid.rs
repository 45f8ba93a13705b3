//! Reads a value by a schema and checks it, in one call.

use std::{error::Error, fmt};

use serde_json::Value;

use super::{Mismatch, Options, ParseError, Parsed, check, parse_as_with};

/// Parses the one JSON value in `text` and coerces it to `schema`; the value satisfies the schema.
///
/// This is [`parse_as`](crate::parse_as), followed by [`check`]. Prefer it wherever you have a
/// schema.
///
/// # Errors
/// Returns [`ParseValidError::Unreadable`] in the cases of [`parse_as`](crate::parse_as), and
/// [`ParseValidError::Invalid`] with every mismatch if the value does not satisfy the schema.
///
/// ```
/// use serde_json::json;
/// use tool_json::{ParseValidError, parse_valid};
///
/// let schema = json!({
///     "type": "object",
///     "properties": {
///         "city": {"type": "string"},
///         "days": {"type": "integer", "maximum": 7},
///     },
///     "required": ["city"],
/// });
/// let parsed = parse_valid("Sure: {city: 'Oslo', days: \"3\"}", &schema).unwrap();
/// assert_eq!(parsed.value, json!({"city": "Oslo", "days": 3}));
///
/// let error = parse_valid("{days: 10}", &schema).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`city` is missing: expected a string\n`days`: expected an integer of at most 7, got 10",
/// );
/// let ParseValidError::Invalid(mismatches) = error else { panic!() };
/// assert_eq!(mismatches[1].path, "days");
/// ```
pub fn parse_valid(text: &str, schema: &Value) -> Result<Parsed, ParseValidError> {
    parse_valid_with(text, schema, &Options::default())
}

/// Parses the one JSON value in `text` by `schema` and checks it, within the limits of `options`.
///
/// The result is that of [`parse_valid`] unless a limit is exceeded.
///
/// # Errors
/// Returns a [`ParseValidError`] in the cases of [`parse_valid`], and
/// [`ParseValidError::Unreadable`] if a limit is exceeded as described at
/// [`parse_with`](crate::parse_with).
///
/// ```
/// use tool_json::{Level, Options, parse_valid_with};
///
/// let schema = serde_json::json!({"type": "object"});
/// let options = Options::default().with_max_level(Level::Wrapping);
/// assert!(parse_valid_with("{a: 1}", &schema, &options).is_err());
/// ```
pub fn parse_valid_with(
    text: &str,
    schema: &Value,
    options: &Options,
) -> Result<Parsed, ParseValidError> {
    let parsed = parse_as_with(text, schema, options)?;
    match check(&parsed.value, schema) {
        mismatches if mismatches.is_empty() => Ok(parsed),
        mismatches => Err(ParseValidError::Invalid(mismatches)),
    }
}

/// The reason for which a text yields no value that satisfies the schema.
///
/// [`Display`](fmt::Display) writes a message for the model: the parse error, or one line for each
/// mismatch.
///
/// ```
/// use tool_json::{ParseErrorKind, ParseValidError, parse_valid};
///
/// let schema = serde_json::json!({"type": "object"});
/// match parse_valid("Sorry, I can't.", &schema).unwrap_err() {
///     ParseValidError::Unreadable(error) => assert_eq!(error.kind(), ParseErrorKind::NoValue),
///     error => panic!("{error}"),
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseValidError {
    /// The text cannot be parsed without guessing.
    Unreadable(ParseError),
    /// The value does not satisfy the schema; these are all mismatches.
    Invalid(Vec<Mismatch>),
}

impl fmt::Display for ParseValidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Invalid(mismatches) => {
                for (at, mismatch) in mismatches.iter().enumerate() {
                    let separator = if at == 0 { "" } else { "\n" };
                    write!(f, "{separator}{mismatch}")?;
                }
                Ok(())
            }
        }
    }
}

impl Error for ParseValidError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Invalid(_) => None,
        }
    }
}

impl From<ParseError> for ParseValidError {
    fn from(error: ParseError) -> Self {
        Self::Unreadable(error)
    }
}
