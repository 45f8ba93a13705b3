//! A tree as JSON text, in which the numbers have all their digits.

use serde_json::Value;

use crate::json::tree::{Node, Tree};

/// The JSON of `node`. Trees are as deep as the parser lets them be, so recursion is bounded.
pub(in crate::json) fn print(node: &Node) -> String {
    let mut out = String::new();
    node_to(&mut out, node);
    out
}

fn node_to(out: &mut String, node: &Node) {
    match &node.tree {
        Tree::Null => out.push_str("null"),
        Tree::Bool(true) => out.push_str("true"),
        Tree::Bool(false) => out.push_str("false"),
        Tree::Number { json, .. } => out.push_str(json),
        Tree::Text { text, .. } => text_to(out, text),
        Tree::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                node_to(out, item);
            }
            out.push(']');
        }
        Tree::Object(members) => {
            out.push('{');
            for (at, member) in members.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                text_to(out, &member.key);
                out.push(':');
                node_to(out, &member.value);
            }
            out.push('}');
        }
    }
}

fn text_to(out: &mut String, text: &str) {
    out.push_str(&Value::from(text).to_string());
}
