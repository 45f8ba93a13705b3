//! What the parser builds: a value at once, or a tree from which a schema may still choose.

use std::{collections::HashMap, ops::Range};

use serde_json::{Map, Number, Value};

use crate::json::{
    number::has_float,
    tree::{Member, Node, Tree},
};

/// Receives what the text spells.
pub(in crate::json) trait Build {
    type Value;
    type Members: Default;

    fn literal(literal: Option<bool>, span: Range<usize>) -> Self::Value;
    /// `None` where the number is too large.
    fn number(source: &str, json: &str, span: Range<usize>) -> Option<Self::Value>;
    fn text(text: String, is_bare: bool, span: Range<usize>) -> Self::Value;
    fn list(items: Vec<Self::Value>, span: Range<usize>) -> Self::Value;
    fn object(members: Self::Members, span: Range<usize>) -> Self::Value;
    /// Puts a member in. If its key was there already, the new value takes the place of the old
    /// one, and the answer is whether the two are the same.
    fn insert(
        members: &mut Self::Members,
        key: String,
        key_span: Range<usize>,
        value: Self::Value,
    ) -> Option<bool>;
    fn is_empty(members: &Self::Members) -> bool;
}

/// Builds a [`Value`].
pub(in crate::json) struct Values;

impl Build for Values {
    type Value = Value;
    type Members = Map<String, Value>;

    fn literal(literal: Option<bool>, _: Range<usize>) -> Value {
        literal.map_or(Value::Null, Value::Bool)
    }

    fn number(_: &str, json: &str, _: Range<usize>) -> Option<Value> {
        number(json).map(Value::Number)
    }

    fn text(text: String, _: bool, _: Range<usize>) -> Value {
        Value::String(text)
    }

    fn list(items: Vec<Value>, _: Range<usize>) -> Value {
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
                // Floats may differ in digits that they don't hold.
                let old = entry.insert(value);
                Some(old == *entry.get() && !has_float(&old))
            }
        }
    }

    fn is_empty(members: &Self::Members) -> bool {
        members.is_empty()
    }
}

/// Most numbers are short integers, and those need no second parser.
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
pub(in crate::json) struct Nodes;

/// The members of a tree's object, and where each key is.
#[derive(Default)]
pub(in crate::json) struct TreeMembers {
    members: Vec<Member>,
    places: HashMap<String, usize>,
}

impl Build for Nodes {
    type Value = Node;
    type Members = TreeMembers;

    fn literal(literal: Option<bool>, span: Range<usize>) -> Node {
        Node { tree: literal.map_or(Tree::Null, Tree::Bool), span }
    }

    fn number(source: &str, json: &str, span: Range<usize>) -> Option<Node> {
        json.parse::<Number>().ok()?;
        Some(Node { tree: Tree::Number { source: source.into(), json: json.into() }, span })
    }

    fn text(text: String, is_bare: bool, span: Range<usize>) -> Node {
        Node { tree: Tree::Text { text, is_bare }, span }
    }

    fn list(items: Vec<Node>, span: Range<usize>) -> Node {
        Node { tree: Tree::List(items), span }
    }

    fn object(members: TreeMembers, span: Range<usize>) -> Node {
        Node { tree: Tree::Object(members.members), span }
    }

    fn insert(
        members: &mut TreeMembers,
        key: String,
        key_span: Range<usize>,
        value: Node,
    ) -> Option<bool> {
        let place = members.places.get(&key).and_then(|&place| members.members.get_mut(place));
        if let Some(member) = place {
            let is_same = is_same(&member.value, &value);
            *member = Member { key, key_span, value };
            return Some(is_same);
        }
        members.places.insert(key.clone(), members.members.len());
        members.members.push(Member { key, key_span, value });
        None
    }

    fn is_empty(members: &TreeMembers) -> bool {
        members.members.is_empty()
    }
}

/// Wherever they stand. Trees are as deep as the parser lets them be.
fn is_same(one: &Node, other: &Node) -> bool {
    match (&one.tree, &other.tree) {
        (Tree::List(one), Tree::List(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Tree::Object(one), Tree::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| one.key == other.key && is_same(&one.value, &other.value))
        }
        (one, other) => one == other,
    }
}
