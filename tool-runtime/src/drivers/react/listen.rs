//! A decision while it is being said: what the model thinks, its answer, the arguments of its call.

use super::super::Listener;
use super::super::text::{Formats, Offered, TextStream};
use super::decision::{ANSWERS, ARGS, THOUGHT};
use crate::json::Partial;
use crate::models::{ChatRequest, Delta, Deltas};

/// Follows the members of the first object of a reply.
#[derive(Debug)]
pub(super) struct Decided<'o> {
    /// Parts what the model thinks aloud from what it decides.
    stream: TextStream<'o>,
    offered: Offered<'o>,
    /// The reply without that.
    text: String,
    /// What was read.
    at: usize,
    place: Place,
    key: String,
    /// The value of `type` or `tool`.
    word: String,
    tool: Option<&'o str>,
    /// The string that is under way, in a list.
    value: Partial,
    told: usize,
    tells_answer: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the object.
    Outside,
    /// Between members.
    Between,
    Key,
    /// Behind a key.
    Colon,
    Value(Value),
    Done,
}

/// How deep in a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Value {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl<'o> Decided<'o> {
    pub(super) fn new(request: ChatRequest<'o>, is_answered_apart: bool) -> Self {
        let tells_answer = !is_answered_apart && request.options.output.is_none();
        Self {
            stream: TextStream::new(Formats::thinking(), Offered::new(&[])),
            offered: Offered::new(request.tools),
            text: String::new(),
            at: 0,
            place: Place::Outside,
            key: String::new(),
            word: String::new(),
            tool: None,
            value: list(),
            told: 0,
            tells_answer,
        }
    }

    fn read_on(&mut self, tell: &mut Deltas<'_>) {
        let text = std::mem::take(&mut self.text);
        let mut from = self.at;
        for (at, c) in text.get(self.at..).unwrap_or_default().char_indices() {
            let at = self.at + at;
            let was_value = matches!(self.place, Place::Value(_));
            self.step(c);
            let is_value = matches!(self.place, Place::Value(_));
            if was_value && !is_value {
                // The bracket or comma behind it is none of a value; its own closer is.
                let ends = c == '"' || matches!(c, '}' | ']') && self.place == Place::Between;
                let end = if ends { at + c.len_utf8() } else { at };
                self.piece(text.get(from..end).unwrap_or_default(), tell);
                self.end_value(tell);
            } else if is_value && !was_value {
                from = at + c.len_utf8();
            }
        }
        self.at = text.len();
        if matches!(self.place, Place::Value(_)) {
            self.piece(text.get(from..).unwrap_or_default(), tell);
        }
        self.text = text;
    }

    fn step(&mut self, c: char) {
        self.place = match self.place {
            Place::Outside if c == '{' => Place::Between,
            Place::Between if c == '"' => {
                self.key.clear();
                Place::Key
            }
            Place::Between if c == '}' => Place::Done,
            Place::Key if c == '"' => Place::Colon,
            Place::Key => {
                self.key.push(c);
                Place::Key
            }
            Place::Colon if c == ':' => Place::Value(Value::default()),
            Place::Value(value) => value.step(c),
            place => place,
        };
    }

    /// More of the value of the member that is under way.
    fn piece(&mut self, piece: &str, tell: &mut Deltas<'_>) {
        let key = self.key.as_str();
        if ARGS.contains(&key) {
            let piece = if self.told == 0 { piece.trim_start() } else { piece };
            if self.tool.is_some() && !piece.is_empty() {
                self.told += piece.len();
                tell(Delta::Arguments { place: 0, text: piece });
            }
        } else if THOUGHT.contains(&key) || ANSWERS.contains(&key) && self.tells_answer {
            self.value.push(piece);
            let said = self.value.value();
            let said = said.and_then(|list| list.item(0)?.as_str()).unwrap_or_default();
            if let Some(more) = said.get(self.told..).filter(|more| !more.is_empty()) {
                self.told = said.len();
                tell(match THOUGHT.contains(&key) {
                    true => Delta::Reasoning(more),
                    false => Delta::Text(more),
                });
            }
        } else {
            self.word.push_str(piece);
        }
    }

    fn end_value(&mut self, tell: &mut Deltas<'_>) {
        if self.key == "tool" {
            self.tool = self
                .offered
                .find(self.word.trim().trim_matches('"'))
                .map(|tool| tool.name.as_str());
            if let Some(name) = self.tool {
                tell(Delta::Call { place: 0, name });
            }
        }
        self.word.clear();
        self.value = list();
        self.told = 0;
    }
}

/// A string is shown while it comes where it is part of something.
fn list() -> Partial {
    let mut list = Partial::new();
    list.push("[");
    list
}

impl Value {
    fn step(mut self, c: char) -> Place {
        if self.is_text {
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                '"' => self.is_text = false,
                _ => {}
            }
            let is_over = !self.is_text && self.depth == 0;
            return if is_over { Place::Between } else { Place::Value(self) };
        }
        match c {
            '"' => self.is_text = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' if self.depth == 0 => return Place::Done,
            '}' | ']' => self.depth -= 1,
            ',' if self.depth == 0 => return Place::Between,
            c if c.is_whitespace() => return Place::Value(self),
            _ => {}
        }
        let is_over = self.depth == 0 && matches!(c, '}' | ']');
        if is_over { Place::Between } else { Place::Value(self) }
    }
}

impl Listener for Decided<'_> {
    fn hear(&mut self, delta: Delta<'_>, tell: &mut Deltas<'_>) {
        let Delta::Text(piece) = delta else { return tell(delta) };
        let shown = self.stream.push(piece);
        if shown.is_taken_back {
            (self.text, self.at, self.place) = (String::new(), 0, Place::Outside);
            (self.word, self.tool, self.value, self.told) = (String::new(), None, list(), 0);
        }
        if !shown.reasoning.is_empty() {
            tell(Delta::Reasoning(shown.reasoning));
        }
        self.text.push_str(shown.text);
        if self.place != Place::Done {
            self.read_on(tell);
        }
    }
}
