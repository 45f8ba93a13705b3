//! The tree of a text that is JSON already.
//!
//! serde_json keeps numbers as values, not as they were written, so this reads the text once more.
//! It checks nothing: the text is one that serde_json has accepted, and its depth limit holds.

use std::ops::Range;

use super::tree::{Member, Node, Tree};

/// Reads `json`, which serde_json accepts; `None` if it isn't JSON after all. Spans are moved by
/// `shift`.
pub(super) fn read_sound(json: &str, shift: usize) -> Option<Node> {
    let mut tokens = Tokens { json, at: 0, shift };
    let mut open: Vec<Open> = Vec::new();
    loop {
        let start = tokens.next()?;
        let mut node = match json.as_bytes().get(start)? {
            byte @ (b'[' | b'{') => {
                tokens.at = start + 1;
                let tree =
                    if *byte == b'[' { Tree::List(Vec::new()) } else { Tree::Object(Vec::new()) };
                open.push(Open { tree, start, key: None });
                if !tokens.closes()? {
                    open.last_mut()?.expect_key(&mut tokens)?;
                    continue;
                }
                open.pop()?.close(&tokens)
            }
            b'"' => {
                let (text, span) = tokens.text(start)?;
                Node { tree: Tree::Text { text, is_bare: false }, span }
            }
            _ => tokens.scalar(start)?,
        };
        // What is read goes into what is open, as long as that ends with it.
        loop {
            let Some(parent) = open.last_mut() else {
                return tokens.next().is_none().then_some(node);
            };
            parent.push(node)?;
            if !tokens.closes()? {
                tokens.skip_comma()?;
                parent.expect_key(&mut tokens)?;
                break;
            }
            node = open.pop()?.close(&tokens);
        }
    }
}

/// A list or object that has not ended yet.
struct Open {
    tree: Tree,
    start: usize,
    key: Option<(String, Range<usize>)>,
}

impl Open {
    fn expect_key(&mut self, tokens: &mut Tokens<'_>) -> Option<()> {
        if matches!(self.tree, Tree::Object(_)) {
            let start = tokens.next()?;
            self.key = Some(tokens.text(start)?);
            tokens.at = tokens.next()? + 1;
        }
        Some(())
    }

    fn push(&mut self, value: Node) -> Option<()> {
        match &mut self.tree {
            Tree::List(items) => items.push(value),
            Tree::Object(members) => {
                let (key, key_span) = self.key.take()?;
                members.push(Member { key, key_span, value });
            }
            _ => return None,
        }
        Some(())
    }

    fn close(self, tokens: &Tokens<'_>) -> Node {
        Node { tree: self.tree, span: tokens.span(self.start..tokens.at) }
    }
}

struct Tokens<'t> {
    json: &'t str,
    at: usize,
    shift: usize,
}

impl Tokens<'_> {
    fn span(&self, span: Range<usize>) -> Range<usize> {
        span.start + self.shift..span.end + self.shift
    }

    /// Where the next token begins.
    fn next(&self) -> Option<usize> {
        let rest = self.json.as_bytes().get(self.at..)?;
        let blanks = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        Some(self.at + blanks)
    }

    /// Goes past a closing bracket if there is one next.
    fn closes(&mut self) -> Option<bool> {
        let next = self.next()?;
        let closes = matches!(self.json.as_bytes().get(next)?, b']' | b'}');
        self.at = if closes { next + 1 } else { next };
        Some(closes)
    }

    fn skip_comma(&mut self) -> Option<()> {
        self.at = self.next()? + 1;
        Some(())
    }

    fn text(&mut self, start: usize) -> Option<(String, Range<usize>)> {
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

    fn scalar(&mut self, start: usize) -> Option<Node> {
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
    fn the_tree_says_what_serde_json_says() {
        for json in [
            "null",
            " true ",
            "[]",
            "{ }",
            "[[], {}, [1, [2.50]], {\"a\": {\"b\": [\"\\\"]\", \"\\\\\"]}}]",
            "{\"a\":1,\"b\":[true,false,null],\"å\\u00e5\":\"😀\\ud83d\\ude00\"}\n",
            "-1.5e+3",
        ] {
            let node = read_sound(json, 0).unwrap();
            assert_eq!(node.to_value(), serde_json::from_str::<Value>(json).unwrap(), "{json}");
            assert_eq!(json.get(node.span).unwrap(), json.trim(), "{json}");
        }
    }

    #[test]
    fn spans_and_digits_are_those_of_the_text() {
        let json = "{\"a\": [1.10, 340282366920938463463374607431768211455]}";
        let Tree::Object(members) = read_sound(json, 5).unwrap().tree else { panic!() };
        assert_eq!(members[0].key_span, 6..9);
        let Tree::List(items) = &members[0].value.tree else { panic!() };
        assert_eq!(items[0].span, 12..16);
        let json = |item: &Node| item.to_json();
        assert_eq!(json(&items[0]), "1.10");
        assert_eq!(json(&items[1]), "340282366920938463463374607431768211455");
    }

    #[test]
    fn what_is_no_json_gives_nothing() {
        for text in ["", "[", "[1", "{\"a\"", "{\"a\":", "\"a", "\"a\\", "[1]]", "{} {}"] {
            assert_eq!(read_sound(text, 0), None, "{text}");
        }
    }
}
