//! The tree of a text that is valid JSON.
//!
//! serde_json keeps numbers as values, not as they were written, so this parser reads the text once
//! more. It validates nothing: serde_json has accepted the text, and its depth limit holds.

use std::ops::Range;

use super::tree::{Member, Node, Tree};

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
    use serde_json::Value;

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
