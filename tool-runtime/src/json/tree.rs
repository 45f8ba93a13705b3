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

impl Node {
    /// Puts it, and all in it, `by` bytes further on.
    pub(super) fn move_by(&mut self, by: usize) {
        let moved = |span: &mut Range<usize>| *span = span.start + by..span.end + by;
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            moved(&mut node.span);
            match &mut node.tree {
                Tree::List(items) => open.extend(items),
                Tree::Object(members) => open.extend(members.iter_mut().map(|member| {
                    moved(&mut member.key_span);
                    &mut member.value
                })),
                _ => {}
            }
        }
    }

    /// Puts it, and all in it, at `span`: what a string holds stands where the string does.
    pub(super) fn place_at(&mut self, span: &Range<usize>) {
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            node.span = span.clone();
            match &mut node.tree {
                Tree::List(items) => open.extend(items),
                Tree::Object(members) => open.extend(members.iter_mut().map(|member| {
                    member.key_span = span.clone();
                    &mut member.value
                })),
                _ => {}
            }
        }
    }
}
