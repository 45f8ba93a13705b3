//! The machine: one byte after the other, with what is open on a stack.

use serde_json::{Map, Value};

use super::{
    number::Digits,
    text::{Step, Text},
};
use crate::json::mark::REASONING;

/// As deep as serde_json goes.
const MAX_DEPTH: usize = 127;

/// What may come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// A bracket that may begin the value.
    #[default]
    Search,
    /// The end of a block of reasoning.
    Reasoning(&'static str),
    /// A value, or the end of the list that has just begun.
    Value {
        is_first: bool,
    },
    /// A key, or the end of the object that has just begun.
    Key {
        is_first: bool,
    },
    InKey,
    Colon,
    /// A comma or a closer.
    Next,
    InText,
    InNumber,
    /// The rest of a literal.
    Literal {
        word: &'static str,
        seen: usize,
    },
    /// Nothing any more: the value has ended, or its JSON has.
    Over,
}

/// A list or object that has not ended.
#[derive(Clone, Debug)]
pub(super) enum Open {
    List(Vec<Value>),
    Object { members: Map<String, Value>, key: Option<String> },
}

impl Open {
    fn is_untouched(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Object { members, key } => members.is_empty() && key.is_none(),
        }
    }
}

/// The string or number that has not ended.
#[derive(Clone, Debug)]
pub(super) enum Scalar {
    Text(Text),
    Number(Digits),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    at: usize,
    state: State,
    pub(super) open: Vec<Open>,
    key: Text,
    pub(super) scalar: Option<Scalar>,
    pub(super) whole: Option<Value>,
}

impl Reader {
    /// Goes on to the end of `text`, which begins with all that was read before. `steps` counts the
    /// work.
    pub(super) fn read(&mut self, text: &str, steps: &mut usize) {
        while let Some(rest) = text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let before = self.at;
            self.step(text, rest);
            *steps += 1 + self.at - before;
        }
    }

    fn step(&mut self, text: &str, rest: &str) {
        match self.state {
            State::InText => {
                let Some(Scalar::Text(open)) = &mut self.scalar else { return self.stop() };
                match open.push(rest) {
                    Step::Took(bytes) => self.at += bytes,
                    Step::Damage => self.stop(),
                    Step::Ended => {
                        self.at += 1;
                        if let Some(Scalar::Text(text)) = self.scalar.take() {
                            self.put(Value::String(text.into_content()));
                        }
                    }
                }
            }
            State::InKey => match self.key.push(rest) {
                Step::Took(bytes) => self.at += bytes,
                Step::Damage => self.stop(),
                Step::Ended => {
                    self.at += 1;
                    let name = std::mem::take(&mut self.key).into_content();
                    if let Some(Open::Object { key, .. }) = self.open.last_mut() {
                        *key = Some(name);
                    }
                    self.state = State::Colon;
                }
            },
            _ => {
                // Brackets and the like are of one byte; others are passed byte by byte, too.
                let Some(character) = rest.chars().next() else { return };
                let byte = u8::try_from(character).unwrap_or(0xff);
                if self.takes(byte, text) {
                    self.at += character.len_utf8();
                }
            }
        }
    }

    /// What one byte outside a string does; false where it is to be looked at again.
    fn takes(&mut self, byte: u8, text: &str) -> bool {
        let is_blank = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        match self.state {
            State::Search => match byte {
                b'{' | b'[' => self.begin(byte),
                b'>' | b']' => {
                    let seen = text.get(..=self.at).unwrap_or_default();
                    let block = REASONING.iter().find(|(open, _)| seen.ends_with(open));
                    if let Some((_, close)) = block {
                        self.state = State::Reasoning(close);
                    }
                }
                _ => {}
            },
            State::Reasoning(close) => {
                if text.get(..=self.at).is_some_and(|seen| seen.ends_with(close)) {
                    self.state = State::Search;
                }
            }
            // Where reasoning ends but never began, all up to there was reasoning.
            State::Over => {
                let seen = text.get(..=self.at).unwrap_or_default();
                if matches!(byte, b'>' | b']')
                    && REASONING.iter().any(|(_, close)| seen.ends_with(close))
                {
                    let at = self.at;
                    *self = Self { at, ..Self::default() };
                }
            }
            State::InNumber => {
                let Some(Scalar::Number(digits)) = &mut self.scalar else { return self.damage() };
                if digits.push(byte) {
                    return true;
                }
                let ends = is_blank || matches!(byte, b',' | b']' | b'}');
                let Some(number) = digits.end().filter(|_| ends) else { return self.damage() };
                self.scalar = None;
                self.put(Value::Number(number));
                return false;
            }
            State::Literal { word, seen } => {
                if word.as_bytes().get(seen) != Some(&byte) {
                    return self.damage();
                }
                self.state = State::Literal { word, seen: seen + 1 };
                if seen + 1 == word.len() {
                    self.put(match word {
                        "true" => Value::Bool(true),
                        "false" => Value::Bool(false),
                        _ => Value::Null,
                    });
                }
            }
            _ if is_blank => {}
            State::Value { is_first } => return self.value(byte, is_first),
            State::Key { is_first } => match byte {
                b'"' => self.state = State::InKey,
                b'}' if is_first => self.close(),
                _ => return self.damage(),
            },
            State::Colon if byte == b':' => self.state = State::Value { is_first: false },
            State::Next => match (self.open.last(), byte) {
                (Some(Open::List(_)), b',') => self.state = State::Value { is_first: false },
                (Some(Open::Object { .. }), b',') => self.state = State::Key { is_first: false },
                (Some(Open::List(_)), b']') | (Some(Open::Object { .. }), b'}') => self.close(),
                _ => return self.damage(),
            },
            _ => return self.damage(),
        }
        true
    }

    fn value(&mut self, byte: u8, is_first: bool) -> bool {
        match byte {
            b'{' | b'[' if self.open.len() < MAX_DEPTH => self.begin(byte),
            b'{' | b'[' => {
                self.state = State::Over;
                return false;
            }
            b']' if is_first => self.close(),
            b'"' => {
                self.scalar = Some(Scalar::Text(Text::default()));
                self.state = State::InText;
            }
            b'-' | b'0'..=b'9' => {
                self.scalar = Some(Scalar::Number(Digits::new()));
                self.state = State::InNumber;
                return false;
            }
            b't' => self.state = State::Literal { word: "true", seen: 1 },
            b'f' => self.state = State::Literal { word: "false", seen: 1 },
            b'n' => self.state = State::Literal { word: "null", seen: 1 },
            _ => return self.damage(),
        }
        true
    }

    fn begin(&mut self, bracket: u8) {
        if bracket == b'[' {
            self.open.push(Open::List(Vec::new()));
            self.state = State::Value { is_first: true };
        } else {
            self.open.push(Open::Object { members: Map::new(), key: None });
            self.state = State::Key { is_first: true };
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.pop() {
            self.put(match open {
                Open::List(items) => Value::Array(items),
                Open::Object { members, .. } => Value::Object(members),
            });
        }
    }

    fn put(&mut self, value: Value) {
        self.state = State::Next;
        match self.open.last_mut() {
            Some(Open::List(items)) => items.push(value),
            Some(Open::Object { members, key }) => {
                members.insert(key.take().unwrap_or_default(), value);
            }
            None => {
                self.whole = Some(value);
                self.state = State::Over;
            }
        }
    }

    fn damage(&mut self) -> bool {
        self.stop();
        false
    }

    /// This is no JSON: what was read stays. If there is nothing yet the brackets were prose.
    fn stop(&mut self) {
        self.state = State::Over;
        if self.open.iter().all(Open::is_untouched) {
            self.open.clear();
            self.scalar = None;
            self.key = Text::default();
            self.state = State::Search;
        }
    }
}
