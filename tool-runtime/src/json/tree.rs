//! A value as the text spelled it, so that a schema may still choose between readings.

use std::ops::Range;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) tree: Tree,
    /// Bytes of the text that it was read from.
    pub(super) span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number {
        /// As it was written: `1.10`, `+5`, `1_000`, `02139`.
        source: String,
        /// The same number as JSON writes it.
        json: String,
    },
    Text {
        text: String,
        /// Whether it had no quotes.
        is_bare: bool,
    },
    List(Vec<Node>),
    /// Keys may come twice.
    Object(Vec<Member>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) value: Node,
}
