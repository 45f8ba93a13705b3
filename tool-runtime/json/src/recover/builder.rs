//! Builders of the recovery parser: a value at once, or a tree from which a schema can choose.

use std::{collections::HashMap, ops::Range};

use serde_json::{Map, Number, Value};

use crate::{
    integers::contains_float,
    tree::{Member, Node, Tree},
};

/// Receives the elements that the parser reads.
pub(crate) trait Builder {
    type Value;
    type Members: Default;

    fn literal(literal: Option<bool>, span: Range<usize>) -> Self::Value;
    /// Returns `None` if the number is too large.
    fn number(source: &str, json: &str, span: Range<usize>) -> Option<Self::Value>;
    fn string(text: String, is_unquoted: bool, span: Range<usize>) -> Self::Value;
    fn array(items: Vec<Self::Value>, span: Range<usize>) -> Self::Value;
    fn object(members: Self::Members, span: Range<usize>) -> Self::Value;
    /// Inserts a member. If the key exists, the new value replaces the old one, and the result is
    /// whether the two are equal.
    fn insert(
        members: &mut Self::Members,
        key: String,
        key_span: Range<usize>,
        value: Self::Value,
    ) -> Option<bool>;
    fn is_empty(members: &Self::Members) -> bool;
}

/// Builds a [`Value`].
pub(crate) struct ValueBuilder;

impl Builder for ValueBuilder {
    type Value = Value;
    type Members = Map<String, Value>;

    fn literal(literal: Option<bool>, _: Range<usize>) -> Value {
        literal.map_or(Value::Null, Value::Bool)
    }

    fn number(_: &str, json: &str, _: Range<usize>) -> Option<Value> {
        number(json).map(Value::Number)
    }

    fn string(text: String, _: bool, _: Range<usize>) -> Value {
        Value::String(text)
    }

    fn array(items: Vec<Value>, _: Range<usize>) -> Value {
        Value::Array(items)
    }

    fn object(members: Self::Members, _: Range<usize>) -> Value {
        Value::Object(members)
    }

    fn insert(
        members: &mut Self::Members,
        key: String,
        _: Range<usize>,
        value: Value,
    ) -> Option<bool> {
        use serde_json::map::Entry;
        match members.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(value);
                None
            }
            Entry::Occupied(mut entry) => {
                // Equal floats may have been written with different digits.
                let old = entry.insert(value);
                Some(old == *entry.get() && !contains_float(&old))
            }
        }
    }

    fn is_empty(members: &Self::Members) -> bool {
        members.is_empty()
    }
}

/// Parses a number; short integers, which most numbers are, need no second parser.
fn number(json: &str) -> Option<Number> {
    let digits = json.strip_prefix('-').unwrap_or(json);
    if digits.len() < 19 && digits.bytes().all(|byte| byte.is_ascii_digit()) && json != "-0" {
        return json.parse::<i64>().ok().map(|int| match u64::try_from(int) {
            Ok(int) => int.into(),
            Err(_) => int.into(),
        });
    }
    json.parse().ok()
}

/// Builds a [`Node`].
pub(crate) struct NodeBuilder;

/// The members of an object node, with the index of each key.
#[derive(Default)]
pub(crate) struct NodeMembers {
    members: Vec<Member>,
    indexes: HashMap<String, usize>,
}

impl Builder for NodeBuilder {
    type Value = Node;
    type Members = NodeMembers;

    fn literal(literal: Option<bool>, span: Range<usize>) -> Node {
        Node { tree: literal.map_or(Tree::Null, Tree::Bool), span }
    }

    fn number(source: &str, json: &str, span: Range<usize>) -> Option<Node> {
        json.parse::<Number>().ok()?;
        Some(Node { tree: Tree::Number { source: source.into(), json: json.into() }, span })
    }

    fn string(text: String, is_unquoted: bool, span: Range<usize>) -> Node {
        Node { tree: Tree::String { text, is_unquoted }, span }
    }

    fn array(items: Vec<Node>, span: Range<usize>) -> Node {
        Node { tree: Tree::Array(items), span }
    }

    fn object(members: NodeMembers, span: Range<usize>) -> Node {
        Node { tree: Tree::Object(members.members), span }
    }

    fn insert(
        members: &mut NodeMembers,
        key: String,
        key_span: Range<usize>,
        value: Node,
    ) -> Option<bool> {
        let index = members.indexes.get(&key).and_then(|&index| members.members.get_mut(index));
        if let Some(member) = index {
            let is_same = is_same(&member.value, &value);
            *member = Member { key, key_span, value };
            return Some(is_same);
        }
        members.indexes.insert(key.clone(), members.members.len());
        members.members.push(Member { key, key_span, value });
        None
    }

    fn is_empty(members: &NodeMembers) -> bool {
        members.members.is_empty()
    }
}

/// Compares two trees, ignoring spans. The parser limits the depth, so recursion is bounded.
fn is_same(left: &Node, right: &Node) -> bool {
    match (&left.tree, &right.tree) {
        (Tree::Array(left), Tree::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (Tree::Object(left), Tree::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| {
                    left.key == right.key && is_same(&left.value, &right.value)
                })
        }
        (left, right) => left == right,
    }
}
