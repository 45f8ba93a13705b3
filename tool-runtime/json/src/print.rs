//! Converts a tree to a value or to JSON text.
//!
//! The parser limits the depth of trees, so recursion is bounded.

use serde_json::{Map, Value};

use super::tree::{Member, Node, Tree};

impl Node {
    /// Converts the tree to a serde_json value; of a duplicate key the last value wins.
    pub(super) fn to_value(&self) -> Value {
        match &self.tree {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Number { json, .. } => serde_json::from_str(json).unwrap_or_default(),
            Tree::String { text, .. } => Value::String(text.clone()),
            Tree::Array(items) => items.iter().map(Self::to_value).collect(),
            Tree::Object(members) => {
                let pair = |member: &Member| (member.key.clone(), member.value.to_value());
                Value::Object(members.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self.tree {
            Tree::String { text, .. } => Value::String(text),
            Tree::Array(items) => items.into_iter().map(Self::into_value).collect(),
            Tree::Object(members) => {
                let pair = |member: Member| (member.key, member.value.into_value());
                Value::Object(members.into_iter().map(pair).collect::<Map<_, _>>())
            }
            _ => self.to_value(),
        }
    }

    /// Serializes the tree as JSON without whitespace; numbers keep all their digits.
    pub(super) fn to_json(&self) -> String {
        let mut out = String::new();
        self.print(&mut out);
        out
    }

    fn print(&self, out: &mut String) {
        match &self.tree {
            Tree::Null => out.push_str("null"),
            Tree::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Tree::Number { json, .. } => out.push_str(json),
            Tree::String { text, .. } => print_string(text, out),
            Tree::Array(items) => {
                let mut before = '[';
                for item in items {
                    out.push(before);
                    item.print(out);
                    before = ',';
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Tree::Object(members) => {
                let mut before = '{';
                for member in members {
                    out.push(before);
                    print_string(&member.key, out);
                    out.push(':');
                    member.value.print(out);
                    before = ',';
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
        }
    }
}

fn print_string(text: &str, out: &mut String) {
    if !text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    // Serializing a string cannot fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}
