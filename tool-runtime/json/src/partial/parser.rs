//! The incremental parser: consumes bytes, with the open containers on a stack.

use serde_json::{Map, Value};

use super::scalar::{NumberBuffer, PushResult, StringBuffer};
use crate::locate::REASONING;

/// The maximum depth that serde_json parses.
const MAX_DEPTH: usize = 127;

/// The token that the parser expects next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ParserState {
    /// A bracket that may begin the value.
    #[default]
    Search,
    /// The end of a block of reasoning.
    Reasoning(&'static str),
    /// A value, or the end of an array that has just begun.
    Value {
        is_first: bool,
    },
    /// A key, or the end of an object that has just begun.
    Key {
        is_first: bool,
    },
    InKey,
    Colon,
    /// A comma or a closing bracket.
    Next,
    InString,
    InNumber,
    /// The rest of a literal.
    Literal {
        word: &'static str,
        matched: usize,
    },
    /// Nothing: the value has ended, or the text is no longer JSON.
    Done,
}

/// An array or object that has not ended.
#[derive(Clone, Debug)]
pub(super) enum OpenContainer {
    Array(Vec<Value>),
    Object { members: Map<String, Value>, key: Option<String> },
}

impl OpenContainer {
    fn is_empty(&self) -> bool {
        match self {
            Self::Array(items) => items.is_empty(),
            Self::Object { members, key } => members.is_empty() && key.is_none(),
        }
    }
}

/// The string or number that has not ended.
#[derive(Clone, Debug)]
pub(super) enum OpenScalar {
    String(StringBuffer),
    Number(NumberBuffer),
}

/// The state of the parser between two chunks.
#[derive(Clone, Debug, Default)]
pub(super) struct IncrementalParser {
    at: usize,
    state: ParserState,
    pub(super) open: Vec<OpenContainer>,
    key: StringBuffer,
    pub(super) scalar: Option<OpenScalar>,
    pub(super) complete: Option<Value>,
}

impl IncrementalParser {
    /// Continues to the end of `text`, which begins with all the text of earlier calls. `steps`
    /// counts the work.
    pub(super) fn advance(&mut self, text: &str, steps: &mut usize) {
        while let Some(rest) = text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let before = self.at;
            self.step(text, rest);
            *steps += 1 + self.at - before;
        }
    }

    fn step(&mut self, text: &str, rest: &str) {
        match self.state {
            ParserState::InString => {
                let Some(OpenScalar::String(open)) = &mut self.scalar else { return self.stop() };
                match open.push(rest) {
                    PushResult::Consumed(bytes) => self.at += bytes,
                    PushResult::Invalid => self.stop(),
                    PushResult::Closed => {
                        self.at += 1;
                        if let Some(OpenScalar::String(text)) = self.scalar.take() {
                            self.insert(Value::String(text.into_content()));
                        }
                    }
                }
            }
            ParserState::InKey => match self.key.push(rest) {
                PushResult::Consumed(bytes) => self.at += bytes,
                PushResult::Invalid => self.stop(),
                PushResult::Closed => {
                    self.at += 1;
                    let name = std::mem::take(&mut self.key).into_content();
                    if let Some(OpenContainer::Object { key, .. }) = self.open.last_mut() {
                        *key = Some(name);
                    }
                    self.state = ParserState::Colon;
                }
            },
            _ => {
                // JSON's tokens are ASCII; other characters are skipped as a whole.
                let Some(character) = rest.chars().next() else { return };
                let byte = u8::try_from(character).unwrap_or(0xff);
                if self.process_byte(byte, text) {
                    self.at += character.len_utf8();
                }
            }
        }
    }

    /// Processes one byte outside a string; returns false if it must be processed again.
    fn process_byte(&mut self, byte: u8, text: &str) -> bool {
        let is_json_whitespace = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        match self.state {
            ParserState::Search => match byte {
                b'{' | b'[' => self.open_container(byte),
                b'>' | b']' => {
                    let text_read = text.get(..=self.at).unwrap_or_default();
                    let block = REASONING.iter().find(|(open, _)| text_read.ends_with(open));
                    if let Some((_, close)) = block {
                        self.state = ParserState::Reasoning(close);
                    }
                }
                _ => {}
            },
            ParserState::Reasoning(close) => {
                if text.get(..=self.at).is_some_and(|text_read| text_read.ends_with(close)) {
                    self.state = ParserState::Search;
                }
            }
            // A closing reasoning tag without an opening one: everything before it was reasoning.
            ParserState::Done => {
                let text_read = text.get(..=self.at).unwrap_or_default();
                if matches!(byte, b'>' | b']')
                    && REASONING.iter().any(|(_, close)| text_read.ends_with(close))
                {
                    let at = self.at;
                    *self = Self { at, ..Self::default() };
                }
            }
            ParserState::InNumber => {
                let Some(OpenScalar::Number(digits)) = &mut self.scalar else { return self.fail() };
                if digits.push(byte) {
                    return true;
                }
                let ends = is_json_whitespace || matches!(byte, b',' | b']' | b'}');
                let Some(number) = digits.complete_number().filter(|_| ends) else {
                    return self.fail();
                };
                self.scalar = None;
                self.insert(Value::Number(number));
                return false;
            }
            ParserState::Literal { word, matched } => {
                if word.as_bytes().get(matched) != Some(&byte) {
                    return self.fail();
                }
                self.state = ParserState::Literal { word, matched: matched + 1 };
                if matched + 1 == word.len() {
                    self.insert(match word {
                        "true" => Value::Bool(true),
                        "false" => Value::Bool(false),
                        _ => Value::Null,
                    });
                }
            }
            _ if is_json_whitespace => {}
            ParserState::Value { is_first } => return self.begin_value(byte, is_first),
            ParserState::Key { is_first } => match byte {
                b'"' => self.state = ParserState::InKey,
                b'}' if is_first => self.close_container(),
                _ => return self.fail(),
            },
            ParserState::Colon if byte == b':' => {
                self.state = ParserState::Value { is_first: false }
            }
            ParserState::Next => match (self.open.last(), byte) {
                (Some(OpenContainer::Array(_)), b',') => {
                    self.state = ParserState::Value { is_first: false }
                }
                (Some(OpenContainer::Object { .. }), b',') => {
                    self.state = ParserState::Key { is_first: false }
                }
                (Some(OpenContainer::Array(_)), b']')
                | (Some(OpenContainer::Object { .. }), b'}') => self.close_container(),
                _ => return self.fail(),
            },
            _ => return self.fail(),
        }
        true
    }

    fn begin_value(&mut self, byte: u8, is_first: bool) -> bool {
        match byte {
            b'{' | b'[' if self.open.len() < MAX_DEPTH => self.open_container(byte),
            b'{' | b'[' => {
                self.state = ParserState::Done;
                return false;
            }
            b']' if is_first => self.close_container(),
            b'"' => {
                self.scalar = Some(OpenScalar::String(StringBuffer::default()));
                self.state = ParserState::InString;
            }
            b'-' | b'0'..=b'9' => {
                self.scalar = Some(OpenScalar::Number(NumberBuffer::new()));
                self.state = ParserState::InNumber;
                return false;
            }
            b't' => self.state = ParserState::Literal { word: "true", matched: 1 },
            b'f' => self.state = ParserState::Literal { word: "false", matched: 1 },
            b'n' => self.state = ParserState::Literal { word: "null", matched: 1 },
            _ => return self.fail(),
        }
        true
    }

    fn open_container(&mut self, bracket: u8) {
        if bracket == b'[' {
            self.open.push(OpenContainer::Array(Vec::new()));
            self.state = ParserState::Value { is_first: true };
        } else {
            self.open.push(OpenContainer::Object { members: Map::new(), key: None });
            self.state = ParserState::Key { is_first: true };
        }
    }

    fn close_container(&mut self) {
        if let Some(open) = self.open.pop() {
            self.insert(match open {
                OpenContainer::Array(items) => Value::Array(items),
                OpenContainer::Object { members, .. } => Value::Object(members),
            });
        }
    }

    fn insert(&mut self, value: Value) {
        self.state = ParserState::Next;
        match self.open.last_mut() {
            Some(OpenContainer::Array(items)) => items.push(value),
            Some(OpenContainer::Object { members, key }) => {
                members.insert(key.take().unwrap_or_default(), value);
            }
            None => {
                self.complete = Some(value);
                self.state = ParserState::Done;
            }
        }
    }

    fn fail(&mut self) -> bool {
        self.stop();
        false
    }

    /// Stops at invalid JSON and keeps the value so far; if it is empty, the brackets were prose.
    fn stop(&mut self) {
        self.state = ParserState::Done;
        if self.open.iter().all(OpenContainer::is_empty) {
            self.open.clear();
            self.scalar = None;
            self.key = StringBuffer::default();
            self.state = ParserState::Search;
        }
    }
}
