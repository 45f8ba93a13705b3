//! Decodes a decision while it is streamed: reasoning, answer, and the arguments of a call.

use super::super::driver::{StreamDecoder, emit_other};
use super::super::text::{Formats, TextStream, ToolLookup};
use super::decision::{ANSWERS, ARGS, THOUGHT};
use crate::json::Partial;
use crate::models::{ChatRequest, Delta, DeltaSink};

/// Follows the members of the first object of a reply.
#[derive(Debug)]
pub(super) struct DecisionDecoder<'o> {
    /// Separates reasoning from the decision.
    stream: TextStream<'o>,
    tools: ToolLookup<'o>,
    /// The reply without reasoning.
    text: String,
    /// The end of the part of `text` that was decoded.
    decoded: usize,
    position: DecoderState,
    key: String,
    /// The value of a member that is neither thought, arguments nor answer, such as `tool`.
    other_value: String,
    tool: Option<&'o str>,
    /// The current string value, wrapped in a list, because [`Partial`] shows an incomplete string
    /// only inside another value.
    value: Partial,
    emitted: usize,
    streams_answer: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecoderState {
    /// Before the object.
    Outside,
    /// Between members.
    Between,
    Key,
    /// After a key.
    Colon,
    Value(ValueScan),
    Done,
}

/// The nesting depth inside a value, and whether the position is in a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ValueScan {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

impl<'o> DecisionDecoder<'o> {
    pub(super) fn new(request: ChatRequest<'o>, has_answer_request: bool) -> Self {
        let streams_answer = !has_answer_request && request.options.output.is_none();
        Self {
            stream: TextStream::new(Formats::reasoning_only(), ToolLookup::new(&[])),
            tools: ToolLookup::new(request.tools),
            text: String::new(),
            decoded: 0,
            position: DecoderState::Outside,
            key: String::new(),
            other_value: String::new(),
            tool: None,
            value: open_list(),
            emitted: 0,
            streams_answer,
        }
    }

    fn decode_text(&mut self, emit: &mut DeltaSink<'_>) {
        let text = std::mem::take(&mut self.text);
        let mut start = self.decoded;
        for (at, c) in text.get(self.decoded..).unwrap_or_default().char_indices() {
            let at = self.decoded + at;
            let was_value = matches!(self.position, DecoderState::Value(_));
            self.advance(c);
            let is_value = matches!(self.position, DecoderState::Value(_));
            if was_value && !is_value {
                // A bracket or comma after a value is not part of it, but its own closing bracket
                // is.
                let is_closing =
                    c == '"' || matches!(c, '}' | ']') && self.position == DecoderState::Between;
                let end = if is_closing { at + c.len_utf8() } else { at };
                self.decode_value(text.get(start..end).unwrap_or_default(), emit);
                self.end_value(emit);
            } else if is_value && !was_value {
                start = at + c.len_utf8();
            }
        }
        self.decoded = text.len();
        if matches!(self.position, DecoderState::Value(_)) {
            self.decode_value(text.get(start..).unwrap_or_default(), emit);
        }
        self.text = text;
    }

    fn advance(&mut self, c: char) {
        self.position = match self.position {
            DecoderState::Outside if c == '{' => DecoderState::Between,
            DecoderState::Between if c == '"' => {
                self.key.clear();
                DecoderState::Key
            }
            DecoderState::Between if c == '}' => DecoderState::Done,
            DecoderState::Key if c == '"' => DecoderState::Colon,
            DecoderState::Key => {
                self.key.push(c);
                DecoderState::Key
            }
            DecoderState::Colon if c == ':' => DecoderState::Value(ValueScan::default()),
            DecoderState::Value(value) => value.next_position(c),
            position => position,
        };
    }

    /// Decodes more of the value of the current member.
    fn decode_value(&mut self, piece: &str, emit: &mut DeltaSink<'_>) {
        let key = self.key.as_str();
        if ARGS.contains(&key) {
            let piece = if self.emitted == 0 { piece.trim_start() } else { piece };
            if self.tool.is_some() && !piece.is_empty() {
                self.emitted += piece.len();
                emit(Delta::Arguments { index: 0, text: piece });
            }
        } else if THOUGHT.contains(&key) || ANSWERS.contains(&key) && self.streams_answer {
            self.value.push(piece);
            let string = self.value.value();
            let string = string.and_then(|list| list.item(0)?.as_str()).unwrap_or_default();
            if let Some(more) = string.get(self.emitted..).filter(|more| !more.is_empty()) {
                self.emitted = string.len();
                emit(if THOUGHT.contains(&key) {
                    Delta::Reasoning(more)
                } else {
                    Delta::Text(more)
                });
            }
        } else {
            self.other_value.push_str(piece);
        }
    }

    fn end_value(&mut self, emit: &mut DeltaSink<'_>) {
        if self.key == "tool" {
            self.tool = self
                .tools
                .find(self.other_value.trim().trim_matches('"'))
                .map(|tool| tool.name.as_str());
            if let Some(name) = self.tool {
                emit(Delta::Call { index: 0, id: "", name });
            }
        }
        self.other_value.clear();
        self.value = open_list();
        self.emitted = 0;
    }
}

/// Starts a list, inside which [`Partial`] shows an incomplete string.
fn open_list() -> Partial {
    let mut list = Partial::new();
    list.push("[");
    list
}

impl ValueScan {
    fn next_position(mut self, c: char) -> DecoderState {
        if self.is_text {
            match c {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                '"' => self.is_text = false,
                _ => {}
            }
            let is_over = !self.is_text && self.depth == 0;
            return if is_over { DecoderState::Between } else { DecoderState::Value(self) };
        }
        match c {
            '"' => self.is_text = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' if self.depth == 0 => return DecoderState::Done,
            '}' | ']' => self.depth -= 1,
            ',' if self.depth == 0 => return DecoderState::Between,
            c if c.is_whitespace() => return DecoderState::Value(self),
            _ => {}
        }
        let is_over = self.depth == 0 && matches!(c, '}' | ']');
        if is_over { DecoderState::Between } else { DecoderState::Value(self) }
    }
}

impl StreamDecoder for DecisionDecoder<'_> {
    fn decode(&mut self, delta: Delta<'_>, emit: &mut DeltaSink<'_>) {
        let Delta::Text(piece) = delta else { return emit_other(delta, emit) };
        let chunk = self.stream.push(piece);
        if chunk.replaces_previous {
            self.text = String::new();
            self.decoded = 0;
            self.position = DecoderState::Outside;
            (self.other_value, self.tool, self.value, self.emitted) =
                (String::new(), None, open_list(), 0);
        }
        if !chunk.reasoning.is_empty() {
            emit(Delta::Reasoning(chunk.reasoning));
        }
        self.text.push_str(chunk.text);
        if self.position != DecoderState::Done {
            self.decode_text(emit);
        }
    }
}
