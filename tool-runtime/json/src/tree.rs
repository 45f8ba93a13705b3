//! A value with its original spelling, from which a schema can still choose a reading.
//!
//! serde_json keeps numbers as values, not as they were written, so [`parse_valid_tree`] reads
//! valid text once more. It validates nothing: serde_json has accepted the text, and its depth
//! limit holds. That also bounds the recursion in which a tree is converted to a value or to JSON.

use std::ops::Range;

use serde_json::{Map, Value};

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
        self.change_spans(|span| *span = span.start + by..span.end + by);
    }

    /// Sets the span of the node and of everything in it, because a string contains it.
    pub(super) fn set_span(&mut self, span: &Range<usize>) {
        self.change_spans(|target| *target = span.clone());
    }

    fn change_spans(&mut self, change: impl Fn(&mut Range<usize>)) {
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            change(&mut node.span);
            match &mut node.tree {
                Tree::Array(items) => open.extend(items),
                Tree::Object(members) => open.extend(members.iter_mut().map(|member| {
                    change(&mut member.key_span);
                    &mut member.value
                })),
                _ => {}
            }
        }
    }

    /// Converts the tree to a serde_json value; of a duplicate key the last value wins.
    pub(super) fn to_value(&self) -> Value {
        match &self.tree {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(*value),
            Tree::Number { json, .. } => serde_json::from_str(json).unwrap_or_default(),
            Tree::String { text, .. } => Value::String(text.clone()),
            Tree::Array(items) => items.iter().map(Self::to_value).collect(),
            Tree::Object(members) => {
                let mut object = Map::new();
                object.extend(members.iter().map(|it| (it.key.clone(), it.value.to_value())));
                Value::Object(object)
            }
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self.tree {
            Tree::String { text, .. } => Value::String(text),
            Tree::Array(items) => items.into_iter().map(Self::into_value).collect(),
            Tree::Object(members) => {
                // Without the sort of `collect`, which would be compiled for this iterator alone.
                let mut object = Map::new();
                object.extend(members.into_iter().map(|it| (it.key, it.value.into_value())));
                Value::Object(object)
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

/// Parses `json`, which serde_json accepts, into a tree; spans are moved by `shift`. Returns `None`
/// if the text is not JSON after all.
pub(super) fn parse_valid_tree(json: &str, shift: usize) -> Option<Node> {
    let mut tokens = TokenCursor { json, at: 0, shift };
    let mut open: Vec<OpenNode> = Vec::new();
    loop {
        let start = tokens.next()?;
        let mut node = match json.as_bytes().get(start)? {
            byte @ (b'[' | b'{') => {
                tokens.at = start + 1;
                let tree =
                    if *byte == b'[' { Tree::Array(Vec::new()) } else { Tree::Object(Vec::new()) };
                open.push(OpenNode { tree, start, key: None });
                if !tokens.skip_closer()? {
                    open.last_mut()?.expect_key(&mut tokens)?;
                    continue;
                }
                open.pop()?.close(&tokens)
            }
            b'"' => {
                let (text, span) = tokens.parse_string(start)?;
                Node { tree: Tree::String { text, is_unquoted: false }, span }
            }
            _ => tokens.parse_scalar(start)?,
        };
        // Put the node into its parent, and close each container that ends after it.
        loop {
            let Some(parent) = open.last_mut() else {
                return tokens.next().is_none().then_some(node);
            };
            parent.push(node)?;
            if !tokens.skip_closer()? {
                tokens.skip_comma()?;
                parent.expect_key(&mut tokens)?;
                break;
            }
            node = open.pop()?.close(&tokens);
        }
    }
}

/// An array or object that has not ended yet.
struct OpenNode {
    tree: Tree,
    start: usize,
    key: Option<(String, Range<usize>)>,
}

impl OpenNode {
    fn expect_key(&mut self, tokens: &mut TokenCursor<'_>) -> Option<()> {
        if matches!(self.tree, Tree::Object(_)) {
            let start = tokens.next()?;
            self.key = Some(tokens.parse_string(start)?);
            tokens.at = tokens.next()? + 1;
        }
        Some(())
    }

    fn push(&mut self, value: Node) -> Option<()> {
        match &mut self.tree {
            Tree::Array(items) => items.push(value),
            Tree::Object(members) => {
                let (key, key_span) = self.key.take()?;
                members.push(Member { key, key_span, value });
            }
            _ => return None,
        }
        Some(())
    }

    fn close(self, tokens: &TokenCursor<'_>) -> Node {
        Node { tree: self.tree, span: tokens.span(self.start..tokens.at) }
    }
}

/// A position in valid JSON text, from which tokens are read.
struct TokenCursor<'t> {
    json: &'t str,
    at: usize,
    shift: usize,
}

impl TokenCursor<'_> {
    fn span(&self, span: Range<usize>) -> Range<usize> {
        span.start + self.shift..span.end + self.shift
    }

    /// The position of the next token.
    fn next(&self) -> Option<usize> {
        let rest = self.json.as_bytes().get(self.at..)?;
        let blanks = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        Some(self.at + blanks)
    }

    /// Skips a closing bracket, if it is the next token.
    fn skip_closer(&mut self) -> Option<bool> {
        let next = self.next()?;
        let skip_closer = matches!(self.json.as_bytes().get(next)?, b']' | b'}');
        self.at = if skip_closer { next + 1 } else { next };
        Some(skip_closer)
    }

    fn skip_comma(&mut self) -> Option<()> {
        self.at = self.next()? + 1;
        Some(())
    }

    fn parse_string(&mut self, start: usize) -> Option<(String, Range<usize>)> {
        let bytes = self.json.as_bytes();
        let mut end = start + 1;
        let mut has_escape = false;
        loop {
            match bytes.get(end)? {
                b'"' => break,
                b'\\' => {
                    has_escape = true;
                    end += 2;
                }
                _ => end += 1,
            }
        }
        self.at = end + 1;
        let text = if has_escape {
            serde_json::from_str(self.json.get(start..=end)?).ok()?
        } else {
            self.json.get(start + 1..end)?.to_owned()
        };
        Some((text, self.span(start..end + 1)))
    }

    fn parse_scalar(&mut self, start: usize) -> Option<Node> {
        let rest = self.json.get(start..)?;
        let ends = |c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace();
        let source = rest.split(ends).next()?;
        self.at = start + source.len();
        let tree = match source {
            "null" => Tree::Null,
            "true" => Tree::Bool(true),
            "false" => Tree::Bool(false),
            "" => return None,
            _ => Tree::Number { source: source.to_owned(), json: source.to_owned() },
        };
        Some(Node { tree, span: self.span(start..self.at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_equals_serde_json_value() {
        for json in [
            "null",
            " true ",
            "[]",
            "{ }",
            "[[], {}, [1, [2.50]], {\"a\": {\"b\": [\"\\\"]\", \"\\\\\"]}}]",
            "{\"a\":1,\"b\":[true,false,null],\"å\\u00e5\":\"😀\\ud83d\\ude00\"}\n",
            "-1.5e+3",
        ] {
            let node = parse_valid_tree(json, 0).unwrap();
            assert_eq!(node.to_value(), serde_json::from_str::<Value>(json).unwrap(), "{json}");
            assert_eq!(json.get(node.span).unwrap(), json.trim(), "{json}");
        }
    }

    #[test]
    fn tree_keeps_spans_and_digits() {
        let json = "{\"a\": [1.10, 340282366920938463463374607431768211455]}";
        let Tree::Object(members) = parse_valid_tree(json, 5).unwrap().tree else { panic!() };
        assert_eq!(members[0].key_span, 6..9);
        let Tree::Array(items) = &members[0].value.tree else { panic!() };
        assert_eq!(items[0].span, 12..16);
        let json = |item: &Node| item.to_json();
        assert_eq!(json(&items[0]), "1.10");
        assert_eq!(json(&items[1]), "340282366920938463463374607431768211455");
    }

    #[test]
    fn invalid_json_returns_none() {
        for text in ["", "[", "[1", "{\"a\"", "{\"a\":", "\"a", "\"a\\", "[1]]", "{} {}"] {
            assert_eq!(parse_valid_tree(text, 0), None, "{text}");
        }
    }
}
