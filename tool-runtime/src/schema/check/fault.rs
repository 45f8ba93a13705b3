//! A fault as the walk notes it, cheap to drop again; worded in `report` if it is kept.

use serde_json::{Map, Value};

/// One step into a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

#[derive(Debug)]
pub(super) struct Fault<'s, 'v> {
    pub(super) path: Vec<Step<'v>>,
    pub(super) rule: Rule<'s, 'v>,
    pub(super) value: &'v Value,
}

/// The broken rule, with what its wording needs.
#[derive(Debug)]
pub(super) enum Rule<'s, 'v> {
    Missing {
        name: &'s str,
        wanted: Vec<&'s Value>,
        because: Option<&'s str>,
    },
    Unknown {
        known: Vec<&'s str>,
        patterns: Vec<&'s str>,
    },
    /// None of these schemas: by type, or by choice.
    Unlike(Vec<&'s Value>),
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
    /// True when it is about the value at this depth, rather than about one inside it.
    pub(super) fn is_at(&self, depth: usize) -> bool {
        match self.rule {
            Rule::Unknown { .. } => self.path.len() == depth + 1,
            _ => self.path.len() == depth,
        }
    }
}
