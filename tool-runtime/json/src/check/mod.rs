//! Validation of values against schemas, with messages that a model can act on.
//!
//! ```text
//! check ─▶ validate/ validator    value against schema; object, array, scalar: the keywords of one
//!           │        │            type
//!           │        └▶ branch    anyOf and oneOf: ranks the branches to validate;
//!           │                     closest_branch selects the one to report
//!           ▼
//!         fault ─▶ explain/ report       a Mismatch: describe words what is expected, display
//!           │                            what is there
//!           └────▶          correction   a value that a type can decode in place of the mismatch:
//!                                        sample
//! ```
//!
//! **Limits.** Validation is bounded for every schema: the fuel, the number of steps, depends on
//! the size of the value alone, and the nesting is limited by [`validate::limits::MAX_DEPTH`]. A
//! value that can't be checked within the limits does not count as valid: it yields one mismatch of
//! kind [`MismatchKind::Unchecked`].
//!
//! **Not validated.** `format` is an annotation, as in the specification, until a type refuses a
//! string. References to other documents or anchors, `$dynamicRef`, and patterns that regex-lite
//! can't compile (look-around, `\p{…}`, or more than half a megabyte compiled) add no rule.

use std::fmt;

use serde_json::Value;

pub use explain::correction::{Correction, Edit, corrections};
pub use explain::display::path;
pub use explain::expectation::{Expectation, expectation, has_uniform_items};
pub use validate::fault::PathSegment;
pub use validate::pattern::is_supported;
pub use validate::pointer::resolve;

/// A position at which a value doesn't match its schema.
///
/// `Display` writes one line for the model: `` `days`: expected an integer from 1 to 7, got 9 ``.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_json::{MismatchKind, check};
///
/// let mismatches = check(&json!("Celsius"), &json!({ "enum": ["celsius", "fahrenheit"] }));
/// assert_eq!(mismatches[0].kind, MismatchKind::Enum);
/// assert_eq!(mismatches[0].found, "\"Celsius\"");
/// assert_eq!(mismatches[0].suggestion.as_deref(), Some("\"celsius\""));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The path of the value: `days`, `stops[2].city`, `prices["odd key"]`; empty for the whole
    /// value.
    pub path: String,
    /// The kind of the violated rule.
    pub kind: MismatchKind,
    /// The expectation of the schema, in words.
    pub expected: String,
    /// The actual value, shortened to a readable length; empty if there is none.
    pub found: String,
    /// The closest allowed spelling, if one is similar.
    pub suggestion: Option<String>,
}

/// The kind of rule that a value violates.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_json::{MismatchKind, check};
///
/// let schema = json!({ "type": "integer", "maximum": 255 });
/// assert_eq!(check(&json!("7"), &schema)[0].kind, MismatchKind::Type);
/// assert_eq!(check(&json!(256), &schema)[0].kind, MismatchKind::Range);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MismatchKind {
    /// A required member is missing.
    Missing,
    /// The schema doesn't allow a member of this name.
    Unknown,
    /// The value matches none of the allowed types or branches.
    Type,
    /// The value is an array where no array is allowed.
    Array,
    /// The value is not among the listed values.
    Enum,
    /// The number is out of bounds.
    Range,
    /// The number is not a multiple of the required number.
    Multiple,
    /// The string is too short or too long.
    Length,
    /// The string doesn't match the pattern.
    Pattern,
    /// The string does not have the format that the Rust type parses.
    Format,
    /// The array has too few or too many items.
    Items,
    /// The array contains an item twice.
    Unique,
    /// The array has too few or too many items that match `contains`.
    Contains,
    /// The object has too few or too many members.
    Properties,
    /// The name of a member violates `propertyNames`.
    Name,
    /// The schema excludes the value with `not`.
    Excluded,
    /// The schema allows no value here.
    Forbidden,
    /// The value matches several branches of `oneOf`, but may match only one.
    Ambiguous,
    /// The value is too large or too deeply nested to be checked.
    Unchecked,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, expected, found, .. } = self;
        match self.kind {
            MismatchKind::Missing if expected.is_empty() => {
                return write!(f, "`{path}` is missing");
            }
            MismatchKind::Missing => return write!(f, "`{path}` is missing: expected {expected}"),
            MismatchKind::Unknown => {
                return match &self.suggestion {
                    Some(near) => write!(f, "`{path}` is not known here: did you mean {near}?"),
                    None => write!(f, "`{path}` is not known here: {expected}"),
                };
            }
            _ if path.is_empty() => {}
            _ => write!(f, "`{path}`: ")?,
        }
        write!(f, "expected {expected}")?;
        if !found.is_empty() {
            write!(f, ", got {found}")?;
        }
        match &self.suggestion {
            Some(near) => write!(f, "; did you mean {near}?"),
            None => Ok(()),
        }
    }
}

/// Validates `value` against `schema` (JSON Schema 2020-12) and returns every mismatch.
///
/// An empty list means that the value is valid. The list has at most 20 mismatches. If a value
/// matches none of several branches, the mismatches of the closest branch are listed.
///
/// `format`, references to other documents and patterns with look-around add no rule. The time is
/// bounded for every schema: a value that can't be checked within the limits yields one mismatch of
/// kind [`MismatchKind::Unchecked`].
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_json::check;
///
/// let schema = json!({
///     "type": "object",
///     "properties": { "days": { "type": "integer", "minimum": 1, "maximum": 7 } },
/// });
/// assert!(check(&json!({ "days": 7 }), &schema).is_empty());
///
/// let mismatches = check(&json!({ "days": 9 }), &schema);
/// assert_eq!(mismatches[0].to_string(), "`days`: expected an integer from 1 to 7, got 9");
/// ```
#[must_use]
pub fn check(value: &Value, schema: &Value) -> Vec<Mismatch> {
    let mut listed: Vec<Mismatch> = Vec::new();
    let describe = explain::describe::Describer::new(schema);
    for fault in validate::validator::Validator::run(schema, value) {
        let mismatch = explain::report::mismatch(&fault, &describe);
        // Two branches of an `allOf` may have the same rule.
        if !listed.contains(&mismatch) {
            listed.push(mismatch);
        }
    }
    listed
}

mod explain;
#[cfg(test)]
mod hostile;
mod validate;
#[cfg(test)]
mod wording;
