//! A tree as a value and as JSON.
//!
//! Trees are as deep as the parser lets them be, so this may recurse.

use serde_json::{Map, Value};

use super::tree::{Member, Node, Tree};

impl Node {
    /// The value as serde_json holds it: of a key that comes twice, the last.
    pub(super) fn to_value(&self) -> Value {
        match &self.tree {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Number { json, .. } => serde_json::from_str(json).unwrap_or_default(),
            Tree::Text { text, .. } => Value::String(text.clone()),
            Tree::List(items) => items.iter().map(Self::to_value).collect(),
            Tree::Object(members) => {
                let pair = |member: &Member| (member.key.clone(), member.value.to_value());
                Value::Object(members.iter().map(pair).collect::<Map<_, _>>())
            }
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self.tree {
            Tree::Text { text, .. } => Value::String(text),
            Tree::List(items) => items.into_iter().map(Self::into_value).collect(),
            Tree::Object(members) => {
                let pair = |member: Member| (member.key, member.value.into_value());
                Value::Object(members.into_iter().map(pair).collect::<Map<_, _>>())
            }
            _ => self.to_value(),
        }
    }

    /// JSON without blanks, in which numbers have all their digits.
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
            Tree::Text { text, .. } => print_text(text, out),
            Tree::List(items) => {
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
                    print_text(&member.key, out);
                    out.push(':');
                    member.value.print(out);
                    before = ',';
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
        }
    }
}

fn print_text(text: &str, out: &mut String) {
    if !text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    // Printing a text can't fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}
