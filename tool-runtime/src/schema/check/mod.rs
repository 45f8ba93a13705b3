//! Every place where a value is not what its schema wants, in words that a model can act on.
//!
//! ```text
//! check ─▶ walk     value against schema; object, array, text, number: the keywords of one type
//!           │ └──▶ branch      anyOf and oneOf: glance tells which to walk, meant which to report
//!           ▼
//!         fault ──▶ report      a Mismatch, worded by describe (what is wanted) and found (what came)
//! ```
//!
//! **Limits.** A walk is bounded, whatever the schema: fuel grows with the size of the value alone,
//! and nesting with [`limits::MAX_DEPTH`]. A value that can't be checked within them is not called
//! valid: it gives one mismatch of kind [`MismatchKind::Unchecked`].
//!
//! **Left to others.** `format` is a note, as the specification has it, until a type refuses a text; a reference to another
//! document or to an anchor, `$dynamicRef`, and a pattern that regex-lite can't compile (look-around,
//! `\p{…}`, or more than half a megabyte compiled) add no rule.

mod array;
mod branch;
mod describe;
mod equal;
mod evaluated;
mod fault;
mod format;
mod found;
mod fuel;
mod glance;
mod limits;
mod meant;
mod num;
mod number;
mod object;
mod pattern;
mod phrase;
mod report;
mod rules;
mod text;
mod unformatted;
mod walk;

use std::fmt;

use serde_json::Value;

pub(crate) use fault::Step;
pub(crate) use found::path;
pub(super) use pattern::is_readable;
pub(crate) use unformatted::{reach, unformatted};

/// One place where a value is not what its schema wants.
///
/// Printed, it is one line for the model: `` `days`: expected an integer from 1 to 7, got 9 ``.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// Where: `days`, `stops[2].city`, `prices["odd key"]`; empty for the whole value.
    pub path: String,
    /// What sort of rule is broken.
    pub kind: MismatchKind,
    /// What the schema wants, in words.
    pub expected: String,
    /// What came, cut to a readable length; empty where nothing came.
    pub found: String,
    /// The spelling that was probably meant, where one is near.
    pub suggestion: Option<String>,
}

/// The sort of rule that a value breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MismatchKind {
    /// A required member isn't there.
    Missing,
    /// A member that the schema doesn't know.
    Unknown,
    /// Another type, or another shape than all of those allowed.
    Type,
    /// An array where none may stand.
    Array,
    /// Not among the listed values.
    Choice,
    /// A number out of bounds.
    Range,
    /// Not a multiple of the number wanted.
    Multiple,
    /// A text too short or too long.
    Length,
    /// A text that its pattern doesn't match.
    Pattern,
    /// A text in another format than its type reads.
    Format,
    /// An array with too few or too many items.
    Items,
    /// An array with an item twice.
    Unique,
    /// An array with too few or too many items of a certain sort.
    Contains,
    /// An object with too few or too many members.
    Properties,
    /// A member's name breaks the rule for names.
    Name,
    /// A value that the schema rules out.
    Excluded,
    /// A value where none may stand.
    Forbidden,
    /// A value that fits several shapes of which it may fit only one.
    Ambiguous,
    /// Too large or too deeply nested to be checked.
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

/// Walks `value` against `schema` (JSON Schema 2020-12); an empty list means that it is valid.
///
/// At most 20 mismatches are listed. Where a value fits none of several branches, those of the
/// branch that it evidently means are.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::schema::Schema;
///
/// let schema = Schema::from(json!({
///     "type": "object",
///     "properties": {"days": {"type": "integer", "minimum": 1, "maximum": 7}},
///     "required": ["days"],
/// }));
/// assert!(schema.check(&json!({"days": 3})).is_empty());
///
/// let mismatches = schema.check(&json!({"days": 9}));
/// assert_eq!(
///     mismatches[0].to_string(),
///     "`days`: expected an integer from 1 to 7, got 9",
/// );
/// ```
#[must_use]
pub(super) fn check(schema: &Value, value: &Value) -> Vec<Mismatch> {
    let mut listed: Vec<Mismatch> = Vec::new();
    let describe = describe::Describe::new(schema);
    for fault in walk::Walk::run(schema, value) {
        let mismatch = report::mismatch(&fault, &describe);
        // Two branches of an `allOf` may ask for the same.
        if !listed.contains(&mismatch) {
            listed.push(mismatch);
        }
    }
    listed
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod wording;
