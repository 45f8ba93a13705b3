//! A value with its original spelling, from which a schema can still choose a reading.

use std::ops::Range;

/// A value and its span.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) tree: Tree,
    /// The byte range in the text that the value was parsed from.
    pub(super) span: Range<usize>,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Null,
    Bool(bool),
    Number {
        /// The original spelling: `1.10`, `+5`, `1_000`, `02139`.
        source: String,
        /// The number in JSON syntax.
        json: String,
    },
    String {
        text: String,
        /// Whether the text had no quotes.
        is_unquoted: bool,
    },
    Array(Vec<Node>),
    /// The members; keys may occur twice.
    Object(Vec<Member>),
}

/// A member of an object node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) value: Node,
}

impl Node {
    /// Moves the node and everything in it by `by` bytes.
    pub(super) fn move_by(&mut self, by: usize) {
        let moved = |span: &mut Range<usize>| *span = span.start + by..span.end + by;
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            moved(&mut node.span);
            match &mut node.tree {
                Tree::Array(items) => open.extend(items),
                Tree::Object(members) => open.extend(members.iter_mut().map(|member| {
                    moved(&mut member.key_span);
                    &mut member.value
                })),
                _ => {}
            }
        }
    }

    /// Sets the span of the node and of everything in it, because a string contains it.
    pub(super) fn set_span(&mut self, span: &Range<usize>) {
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            node.span = span.clone();
            match &mut node.tree {
                Tree::Array(items) => open.extend(items),
                Tree::Object(members) => open.extend(members.iter_mut().map(|member| {
                    member.key_span = span.clone();
                    &mut member.value
                })),
                _ => {}
            }
        }
    }
}
