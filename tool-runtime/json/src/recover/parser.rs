//! The recovery parser: one forward pass, with the open containers on a stack.

use std::ops::Range;

use super::{
    builder::Builder,
    error::RecoveryError,
    schema_keys::{SchemaKeys, Subschemas},
    source::SourceText,
};
use crate::{Fix, FixKind, Options, ParseErrorKind};

/// The limits and the context of a recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecoveryMode<'s> {
    pub(crate) options: Options,
    pub(crate) keys: SchemaKeys<'s>,
    /// Whether words precede the value, so that a brace may be part of a sentence.
    pub(crate) in_prose: bool,
}

/// A recovered value, and the position after it.
#[derive(Debug)]
pub(crate) struct Recovered<V> {
    pub(crate) value: V,
    pub(crate) end: usize,
    pub(crate) fixes: Vec<Fix>,
    /// Whether the text ended before the value did.
    pub(crate) truncated: bool,
}

/// The kind of an open container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContainerKind {
    Object,
    Array,
    Tuple,
    /// An array in braces.
    Set,
}

impl ContainerKind {
    pub(super) const fn closer(self) -> u8 {
        match self {
            Self::Object | Self::Set => b'}',
            Self::Array => b']',
            Self::Tuple => b')',
        }
    }
}

/// An open container.
pub(super) struct Frame<'s, B: Builder> {
    pub(super) kind: ContainerKind,
    pub(super) start: usize,
    pub(super) items: Vec<B::Value>,
    pub(super) members: B::Members,
    pub(super) key: Option<(String, Range<usize>)>,
    /// The position of the comma after the last element, until the next one begins.
    pub(super) comma: Option<usize>,
    pub(super) subschemas: Subschemas<'s>,
}

/// The token that the parser expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecoveryState {
    /// A key or an item.
    Element,
    Colon,
    Value,
    Comma,
    Done,
}

/// The plausibility that a string or element ends or begins at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plausibility {
    No,
    /// A possible reading, but prose could continue like this as well.
    Weak,
    Strong,
    /// A comma and a key that the schema knows follow.
    KnownKey,
}

/// The state of the recovery parser.
pub(super) struct RecoveryParser<'t, 's, B: Builder> {
    pub(super) source: SourceText<'t>,
    pub(super) at: usize,
    pub(super) mode: RecoveryMode<'s>,
    pub(super) stack: Vec<Frame<'s, B>>,
    root: Option<B::Value>,
    fixes: Vec<Fix>,
    pub(super) truncated: bool,
    /// The position where a string ended only because a bare key seems to follow.
    pub(super) weak_string_end: Option<usize>,
    /// The steps that lookaheads may still take.
    pub(super) fuel: usize,
    /// The number of closed objects inside objects, and the position of the last one.
    pub(super) closed_objects: (usize, usize),
    /// The position of the last quote that is followed by a closing bracket; cached.
    pub(super) last_closed_quote: Option<usize>,
    /// Whether the text ends with a brace, ignoring whitespace; cached.
    pub(super) ends_with_brace: Option<bool>,
    pub(super) last_is_number: bool,
}

impl<'t, 's, B: Builder> RecoveryParser<'t, 's, B> {
    pub(super) fn new(source: SourceText<'t>, at: usize, mode: RecoveryMode<'s>) -> Self {
        Self {
            source,
            at,
            mode,
            stack: Vec::new(),
            root: None,
            fixes: Vec::new(),
            truncated: false,
            weak_string_end: None,
            fuel: super::LOOKAHEAD_PER_BYTE * (source.end() - at.min(source.end())),
            closed_objects: (0, 0),
            last_closed_quote: None,
            ends_with_brace: None,
            last_is_number: false,
        }
    }

    /// Parses the value; `steps` grows by the lookaheads.
    pub(super) fn run(
        mut self,
        state: RecoveryState,
        steps: &mut usize,
    ) -> Result<Recovered<B::Value>, RecoveryError> {
        let fuel = self.fuel;
        let read = self.run_states(state);
        *steps += fuel - self.fuel;
        read?;
        let Some(value) = self.root else {
            return Err(RecoveryError::new(ParseErrorKind::NoValue, self.at, "there is no value"));
        };
        // The fixes of a member may be recorded before those of its container.
        self.fixes.sort_by_key(|fix| fix.span.start);
        Ok(Recovered { value, end: self.at, fixes: self.fixes, truncated: self.truncated })
    }

    fn run_states(&mut self, mut state: RecoveryState) -> Result<(), RecoveryError> {
        while state != RecoveryState::Done {
            self.skip_trivia()?;
            state = match state {
                RecoveryState::Element => self.read_element()?,
                RecoveryState::Colon => self.read_colon()?,
                RecoveryState::Value => self.read_member_value()?,
                RecoveryState::Comma | RecoveryState::Done => self.read_comma()?,
            };
        }
        Ok(())
    }

    pub(super) fn record_fix(
        &mut self,
        kind: FixKind,
        span: Range<usize>,
    ) -> Result<(), RecoveryError> {
        let fix = Fix::new(kind, span);
        super::check_fix(&self.mode.options, &fix, self.fixes.len())?;
        self.fixes.push(fix);
        Ok(())
    }

    pub(super) fn kind(&self) -> Option<ContainerKind> {
        self.stack.last().map(|frame| frame.kind)
    }

    /// The sign at the current position; `a` for anything else, `None` at the end.
    pub(super) fn sign(&self) -> Option<(u8, usize)> {
        let sign = self.source.sign(self.at);
        sign.or_else(|| (self.at < self.source.end()).then_some((b'a', 0)))
    }

    /// Skips a sign, which may be full-width.
    pub(super) fn take_sign(&mut self, len: usize) -> Result<(), RecoveryError> {
        let start = self.at;
        self.at += len;
        if len > 1 { self.record_fix(FixKind::Punctuation, start..self.at) } else { Ok(()) }
    }

    fn read_element(&mut self) -> Result<RecoveryState, RecoveryError> {
        let Some((sign, len)) = self.sign() else {
            if let Some(comma) = self.stack.last().and_then(|frame| frame.comma) {
                self.record_fix(FixKind::TruncatedList, comma..self.at)?;
            }
            return self.close_all();
        };
        match sign {
            b',' => {
                self.record_fix(FixKind::Comma, self.at..self.at + len)?;
                self.at += len;
                Ok(RecoveryState::Element)
            }
            b'}' | b']' | b')' => {
                // The comma after the only item of a tuple makes it a tuple.
                let stray = |frame: &mut Frame<'s, B>| {
                    if frame.kind == ContainerKind::Tuple { None } else { frame.comma.take() }
                };
                if let Some(comma) = self.stack.last_mut().and_then(stray) {
                    let len = self.source.sign(comma).map_or(1, |(_, len)| len);
                    self.record_fix(FixKind::Comma, comma..comma + len)?;
                }
                self.close_with(sign, len)
            }
            _ if self.is_ellipsis() => Err(self.ellipsis_error()),
            _ if self.kind() == Some(ContainerKind::Object) => {
                let (key, span) = self.read_key()?;
                if let Some(frame) = self.stack.last_mut() {
                    frame.key = Some((key, span));
                    frame.comma = None;
                }
                Ok(RecoveryState::Colon)
            }
            _ => {
                if let Some(frame) = self.stack.last_mut() {
                    frame.comma = None;
                }
                self.read_value()
            }
        }
    }

    pub(super) fn is_ellipsis(&self) -> bool {
        match self.source.byte(self.at) {
            Some(b'.') => self.source.rest_bytes(self.at).starts_with(b"..."),
            Some(0xE2) => self.source.char(self.at) == Some('…'),
            _ => false,
        }
    }

    pub(super) fn ellipsis_error(&self) -> RecoveryError {
        let reason = "something is left out here: write it in full, without an ellipsis";
        RecoveryError::new(ParseErrorKind::Elided, self.at, reason)
    }

    fn read_colon(&mut self) -> Result<RecoveryState, RecoveryError> {
        let Some((sign, len)) = self.sign() else {
            return self.drop_member();
        };
        let is_set = |frame: &Frame<'s, B>| {
            B::is_empty(&frame.members)
                && frame
                    .key
                    .as_ref()
                    .is_some_and(|(_, span)| self.source.quote(span.start).is_some())
        };
        match sign {
            b':' => {
                self.take_sign(len)?;
                // A second colon is stray in `"a":: 1`, but not in a path such as `Foo::bar`.
                if self.source.byte(self.at) == Some(b':')
                    && self.value_plausibility(self.at + 1) == Plausibility::Strong
                {
                    self.record_fix(FixKind::Colon, self.at..self.at + 1)?;
                    self.at += 1;
                }
                Ok(RecoveryState::Value)
            }
            b'=' => {
                let start = self.at;
                self.at += len;
                if self.source.byte(self.at) == Some(b'>') {
                    self.at += 1;
                }
                self.record_fix(FixKind::Equals, start..self.at)?;
                Ok(RecoveryState::Value)
            }
            b',' if self.stack.last().is_some_and(is_set) => {
                if let Some(frame) = self.stack.last_mut()
                    && let Some((key, span)) = frame.key.take()
                {
                    frame.kind = ContainerKind::Set;
                    frame.items.push(B::string(key, false, span));
                }
                Ok(RecoveryState::Comma)
            }
            b'{' | b'[' | b'0'..=b'9' | b'-' => self.insert_colon(),
            b'a'..=b'z' | b'A'..=b'Z'
                if self.value_plausibility(self.at) == Plausibility::Strong =>
            {
                self.insert_colon()
            }
            _ if self.source.quote(self.at).is_some() => self.insert_colon(),
            _ => Err(RecoveryError::syntax(self.at, "expected `:` and a value behind this key")),
        }
    }

    fn insert_colon(&mut self) -> Result<RecoveryState, RecoveryError> {
        self.record_fix(FixKind::MissingColon, self.at..self.at)?;
        Ok(RecoveryState::Value)
    }

    /// Drops the member inside whose key, or before whose value, the text ends.
    fn drop_member(&mut self) -> Result<RecoveryState, RecoveryError> {
        if let Some((_, span)) = self.stack.last_mut().and_then(|frame| frame.key.take()) {
            self.record_fix(FixKind::TruncatedMember, span.start..self.source.end())?;
        }
        self.close_all()
    }

    fn read_member_value(&mut self) -> Result<RecoveryState, RecoveryError> {
        match self.sign() {
            None if self.stack.is_empty() => {
                Err(RecoveryError::new(ParseErrorKind::NoValue, self.at, "there is no value"))
            }
            None => self.drop_member(),
            Some((b',' | b'}' | b']' | b')', _)) => Err(RecoveryError::syntax(
                self.at,
                "this key has no value: write one, or leave out the key",
            )),
            _ if self.is_ellipsis() => Err(self.ellipsis_error()),
            _ => self.read_value(),
        }
    }

    fn read_comma(&mut self) -> Result<RecoveryState, RecoveryError> {
        let Some((sign, len)) = self.sign() else {
            return self.close_all();
        };
        let Some(kind) = self.kind() else { return Ok(RecoveryState::Done) };
        match sign {
            b',' => {
                let at = self.at;
                self.take_sign(len)?;
                if let Some(frame) = self.stack.last_mut() {
                    frame.comma = Some(at);
                }
                return Ok(RecoveryState::Element);
            }
            b'}' | b']' | b')' => return self.close_with(sign, len),
            b';' if self.is_comma_semicolon(self.at + len) => {
                let at = self.at;
                self.at += len;
                self.record_fix(FixKind::Semicolon, at..self.at)?;
                return Ok(RecoveryState::Element);
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'^' if self.last_is_number => {
                return Err(RecoveryError::new(
                    ParseErrorKind::Number,
                    self.at,
                    "this is a calculation: write its result, or put text into quotes",
                ));
            }
            _ if self.is_ellipsis() => return Err(self.ellipsis_error()),
            b'{' if kind == ContainerKind::Object => {
                // `[{"i": 1 {"i": 2}]`
                let in_list =
                    self.stack.iter().rev().nth(1).is_some_and(|f| f.kind == ContainerKind::Array);
                if !in_list {
                    return Err(RecoveryError::syntax(self.at, "expected `,` or `}`"));
                }
                self.record_fix(FixKind::MissingCloser, self.at..self.at)?;
                self.close_top()?;
            }
            b'{' | b'[' | b'(' if kind == ContainerKind::Object => {
                return Err(RecoveryError::syntax(self.at, "expected `,` or `}`"));
            }
            b'{' | b'[' | b'0'..=b'9' | b'-' | b'.' | b'+' => {}
            _ if self.source.quote(self.at).is_some() => {}
            _ if self.last_is_number
                && kind != ContainerKind::Object
                && !self.begins_member(self.at) =>
            {
                return Err(RecoveryError::syntax(self.at, "expected `,` or `]`"));
            }
            _ if self.source.char(self.at).is_some_and(|c| c.is_alphanumeric() || c == '_') => {}
            _ => return Err(RecoveryError::syntax(self.at, "expected `,` or a closing bracket")),
        }
        self.record_fix(FixKind::MissingComma, self.at..self.at)?;
        Ok(RecoveryState::Element)
    }

    /// Inserts a value into its container.
    pub(super) fn insert_value(&mut self, value: B::Value) -> Result<RecoveryState, RecoveryError> {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(value);
            return Ok(RecoveryState::Done);
        };
        let Some((key, span)) = frame.key.take() else {
            frame.items.push(value);
            return Ok(RecoveryState::Comma);
        };
        match B::insert(&mut frame.members, key, span.clone(), value) {
            None => {}
            Some(true) => self.record_fix(FixKind::RepeatedMember, span.start..self.at)?,
            Some(false) => {
                let reason = "this key came before, with another value: send it once";
                return Err(RecoveryError::new(ParseErrorKind::Conflict, span.start, reason));
            }
        }
        Ok(RecoveryState::Comma)
    }

    /// The subschemas of the value that begins here.
    pub(super) fn subschemas(&self) -> Subschemas<'s> {
        match self.stack.last() {
            None => self.mode.keys.root(),
            Some(Frame { key: Some((key, _)), subschemas, .. }) => {
                self.mode.keys.member(subschemas, key)
            }
            Some(frame) => self.mode.keys.item(&frame.subschemas),
        }
    }

    fn open_container(
        &mut self,
        kind: ContainerKind,
        len: usize,
    ) -> Result<RecoveryState, RecoveryError> {
        let limit = self.mode.options.depth();
        if self.stack.len() >= limit {
            return Err(RecoveryError::too_deep(self.at, limit));
        }
        let subschemas = self.subschemas();
        let start = self.at;
        self.take_sign(len)?;
        self.stack.push(Frame {
            kind,
            start,
            items: Vec::new(),
            members: B::Members::default(),
            key: None,
            comma: None,
            subschemas,
        });
        Ok(RecoveryState::Element)
    }

    /// Opens the container that begins here, or reads the complete scalar.
    fn read_value(&mut self) -> Result<RecoveryState, RecoveryError> {
        self.last_is_number = false;
        if let Some(len) = self.constructor_len() {
            self.record_fix(FixKind::Call, self.at..self.at + len)?;
            self.at += len;
        }
        let Some((sign, len)) = self.sign() else { return self.close_all() };
        let kind = match sign {
            b'{' => Some(ContainerKind::Object),
            b'[' => Some(ContainerKind::Array),
            b'(' => Some(ContainerKind::Tuple),
            _ => None,
        };
        if let Some(kind) = kind {
            self.weak_string_end = None;
            return self.open_container(kind, len);
        }
        let value = if self.source.quote(self.at).is_some() {
            self.weak_string_end = None;
            self.read_strings()?
        } else {
            let value = self.read_unquoted()?;
            self.weak_string_end = None;
            value
        };
        self.insert_value(value)
    }

    /// Reads a string, and the strings concatenated to it with plus signs.
    fn read_strings(&mut self) -> Result<B::Value, RecoveryError> {
        let start = self.at;
        let (mut text, _) = self.read_string(false)?;
        let end = self.at;
        while let Some(next) = self.next_concatenated(self.at) {
            self.at = next;
            text.push_str(&self.read_string(false)?.0);
        }
        if self.at > end {
            self.record_fix(FixKind::Concatenation, start..self.at)?;
        }
        Ok(B::string(text, false, start..self.at))
    }
}
