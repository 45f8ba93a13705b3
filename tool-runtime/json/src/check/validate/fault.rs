//! Faults as the validator records them. They are cheap to discard; `report` words those that are
//! kept.

use serde_json::{Map, Value};

/// A segment of the path to a value.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum PathSegment<'v> {
    /// The key of a member.
    Key(&'v str),
    /// The index of an item.
    Index(usize),
}

#[derive(Debug)]
pub(in crate::check) struct Fault<'s, 'v> {
    pub(in crate::check) path: Vec<PathSegment<'v>>,
    pub(in crate::check) rule: ViolatedRule<'s, 'v>,
    pub(in crate::check) value: &'v Value,
}

/// The violated rule, with the data for its message.
#[derive(Debug)]
pub(in crate::check) enum ViolatedRule<'s, 'v> {
    Missing {
        name: &'s str,
        expected_schemas: Vec<&'s Value>,
        required_by: Option<&'s str>,
    },
    Unknown {
        known: Vec<&'s str>,
        patterns: Vec<&'s str>,
    },
    /// None of these schemas matches, by type or by choice.
    NoneOf(Vec<&'s Value>),
    /// The value that selects a shape is in none of these schemas.
    Tag(Vec<&'s Value>),
    Range(&'s Map<String, Value>),
    Multiple(&'s Map<String, Value>),
    Length(&'s Map<String, Value>, usize),
    Pattern(&'s str),
    Items(&'s Map<String, Value>, usize),
    NoMoreItems(usize, usize),
    Repeated(usize, usize),
    Contains(&'s Map<String, Value>, &'s Value, usize),
    Properties(&'s Map<String, Value>, usize),
    Name(&'s Value, &'v str),
    Excluded(&'s Value),
    Forbidden,
    Ambiguous(Vec<&'s Value>),
    Unchecked,
}

impl Fault<'_, '_> {
    /// Returns true if the fault concerns the value at this depth, rather than a nested one.
    pub(in crate::check) fn is_at(&self, depth: usize) -> bool {
        match self.rule {
            ViolatedRule::Unknown { .. } => self.path.len() == depth + 1,
            _ => self.path.len() == depth,
        }
    }
}
