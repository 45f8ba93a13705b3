//! The parser: one pass forward, with the open containers on a stack of its own.

use std::ops::Range;

use super::{
    build::Build,
    ending::Fit,
    keys::{Keys, Parts},
    refusal::Refusal,
    source::Source,
};
use crate::json::{Fix, FixKind, Options, UnreadableKind};

/// How the parser is to read.
#[derive(Clone, Copy, Debug)]
pub(in crate::json) struct Mode<'s> {
    pub(in crate::json) options: Options,
    pub(in crate::json) keys: Keys<'s>,
    /// Words stand before the value, so what looks like one may be a brace in a sentence.
    pub(in crate::json) in_prose: bool,
    /// The text is JSON, and of a key that comes twice the last counts.
    pub(in crate::json) is_sound: bool,
}

/// What was read, and up to where.
#[derive(Debug)]
pub(in crate::json) struct Recovered<V> {
    pub(in crate::json) value: V,
    pub(in crate::json) end: usize,
    pub(in crate::json) fixes: Vec<Fix>,
    /// The text ended before the value did.
    pub(in crate::json) truncated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    List,
    Tuple,
    /// A list in braces.
    Set,
}

impl Kind {
    pub(super) const fn closer(self) -> u8 {
        match self {
            Self::Object | Self::Set => b'}',
            Self::List => b']',
            Self::Tuple => b')',
        }
    }
}

/// An open container.
pub(super) struct Frame<'s, B: Build> {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) items: Vec<B::Value>,
    pub(super) members: B::Members,
    pub(super) key: Option<(String, Range<usize>)>,
    /// The comma behind the last member, until the next one begins.
    pub(super) comma: Option<usize>,
    pub(super) parts: Parts<'s>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A key or an item.
    Element,
    Colon,
    Value,
    Comma,
    Done,
}

pub(super) struct Parser<'t, 's, B: Build> {
    pub(super) source: Source<'t>,
    pub(super) at: usize,
    pub(super) mode: Mode<'s>,
    pub(super) stack: Vec<Frame<'s, B>>,
    root: Option<B::Value>,
    fixes: Vec<Fix>,
    pub(super) truncated: bool,
    /// Where a string ended only because a bare key seems to follow.
    pub(super) weak_end: Option<usize>,
    /// What the look-aheads may still look at.
    pub(super) fuel: usize,
    /// Objects in objects that were closed so far, and where the last was.
    pub(super) closed: (usize, usize),
    /// Where the last quote with a bracket behind it is.
    pub(super) last_tail: Option<usize>,
    /// Whether the last of the text, but for blanks, is a brace.
    pub(super) ends_with_brace: Option<bool>,
    pub(super) last_is_number: bool,
}

impl<'t, 's, B: Build> Parser<'t, 's, B> {
    pub(super) fn new(source: Source<'t>, at: usize, mode: Mode<'s>) -> Self {
        Self {
            source,
            at,
            mode,
            stack: Vec::new(),
            root: None,
            fixes: Vec::new(),
            truncated: false,
            weak_end: None,
            fuel: super::LOOKS_PER_BYTE * (source.end() - at.min(source.end())),
            closed: (0, 0),
            last_tail: None,
            ends_with_brace: None,
            last_is_number: false,
        }
    }

    /// Reads all of the value; `steps` grows by the looks ahead.
    pub(super) fn run(
        mut self,
        state: State,
        steps: &mut usize,
    ) -> Result<Recovered<B::Value>, Refusal> {
        let fuel = self.fuel;
        let read = self.read(state);
        *steps += fuel - self.fuel;
        read?;
        let Some(value) = self.root else {
            return Err(Refusal::new(UnreadableKind::NoValue, self.at, "there is no value"));
        };
        // A member's fixes may be told before those of what it is in.
        self.fixes.sort_by_key(|fix| fix.span.start);
        Ok(Recovered { value, end: self.at, fixes: self.fixes, truncated: self.truncated })
    }

    fn read(&mut self, mut state: State) -> Result<(), Refusal> {
        while state != State::Done {
            self.skip()?;
            state = match state {
                State::Element => self.element()?,
                State::Colon => self.colon()?,
                State::Value => self.member_value()?,
                State::Comma | State::Done => self.comma()?,
            };
        }
        Ok(())
    }

    pub(super) fn fix(&mut self, kind: FixKind, span: Range<usize>) -> Result<(), Refusal> {
        let fix = Fix::new(kind, span);
        super::allow(&self.mode.options, &fix, self.fixes.len())?;
        self.fixes.push(fix);
        Ok(())
    }

    pub(super) fn kind(&self) -> Option<Kind> {
        self.stack.last().map(|frame| frame.kind)
    }

    /// The sign at the place, or `None` at the end.
    pub(super) fn sign(&self) -> Option<(u8, usize)> {
        let sign = self.source.sign(self.at);
        sign.or_else(|| (self.at < self.source.end()).then_some((b'a', 0)))
    }

    /// Passes a sign, which may be a wide one.
    pub(super) fn take(&mut self, len: usize) -> Result<(), Refusal> {
        let start = self.at;
        self.at += len;
        if len > 1 { self.fix(FixKind::Punctuation, start..self.at) } else { Ok(()) }
    }

    fn element(&mut self) -> Result<State, Refusal> {
        let Some((sign, len)) = self.sign() else {
            if let Some(comma) = self.stack.last().and_then(|frame| frame.comma) {
                self.fix(FixKind::CutList, comma..self.at)?;
            }
            return self.close_all();
        };
        match sign {
            b',' => {
                self.fix(FixKind::Comma, self.at..self.at + len)?;
                self.at += len;
                Ok(State::Element)
            }
            b'}' | b']' | b')' => {
                // Behind one item of a tuple the comma makes it a tuple.
                let stray = |frame: &mut Frame<'s, B>| {
                    if frame.kind == Kind::Tuple { None } else { frame.comma.take() }
                };
                if let Some(comma) = self.stack.last_mut().and_then(stray) {
                    let len = self.source.sign(comma).map_or(1, |(_, len)| len);
                    self.fix(FixKind::Comma, comma..comma + len)?;
                }
                self.closer(sign, len)
            }
            _ if self.is_ellipsis() => Err(self.ellipsis()),
            _ if self.kind() == Some(Kind::Object) => {
                let (key, span) = self.key()?;
                if let Some(frame) = self.stack.last_mut() {
                    frame.key = Some((key, span));
                    frame.comma = None;
                }
                Ok(State::Colon)
            }
            _ => {
                if let Some(frame) = self.stack.last_mut() {
                    frame.comma = None;
                }
                self.value()
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

    pub(super) fn ellipsis(&self) -> Refusal {
        let what = "something is left out here: write it in full, without an ellipsis";
        Refusal::new(UnreadableKind::Elided, self.at, what)
    }

    fn colon(&mut self) -> Result<State, Refusal> {
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
                self.take(len)?;
                // `"a":: 1`, but not the name of a symbol.
                if self.source.byte(self.at) == Some(b':')
                    && self.value_begins(self.at + 1) == Fit::Strong
                {
                    self.fix(FixKind::Colon, self.at..self.at + 1)?;
                    self.at += 1;
                }
                Ok(State::Value)
            }
            b'=' => {
                let start = self.at;
                self.at += len;
                if self.source.byte(self.at) == Some(b'>') {
                    self.at += 1;
                }
                self.fix(FixKind::Equals, start..self.at)?;
                Ok(State::Value)
            }
            b',' if self.stack.last().is_some_and(is_set) => {
                if let Some(frame) = self.stack.last_mut()
                    && let Some((key, span)) = frame.key.take()
                {
                    frame.kind = Kind::Set;
                    frame.items.push(B::text(key, false, span));
                }
                Ok(State::Comma)
            }
            b'{' | b'[' | b'0'..=b'9' | b'-' => self.missing_colon(),
            b'a'..=b'z' | b'A'..=b'Z' if self.value_begins(self.at) == Fit::Strong => {
                self.missing_colon()
            }
            _ if self.source.quote(self.at).is_some() => self.missing_colon(),
            _ => Err(Refusal::syntax(self.at, "expected `:` and a value behind this key")),
        }
    }

    fn missing_colon(&mut self) -> Result<State, Refusal> {
        self.fix(FixKind::MissingColon, self.at..self.at)?;
        Ok(State::Value)
    }

    /// The text ends inside a key or before its value.
    fn drop_member(&mut self) -> Result<State, Refusal> {
        if let Some((_, span)) = self.stack.last_mut().and_then(|frame| frame.key.take()) {
            self.fix(FixKind::CutMember, span.start..self.source.end())?;
        }
        self.close_all()
    }

    fn member_value(&mut self) -> Result<State, Refusal> {
        match self.sign() {
            None if self.stack.is_empty() => {
                Err(Refusal::new(UnreadableKind::NoValue, self.at, "there is no value"))
            }
            None => self.drop_member(),
            Some((b',' | b'}' | b']' | b')', _)) => Err(Refusal::syntax(
                self.at,
                "this key has no value: write one, or leave out the key",
            )),
            _ if self.is_ellipsis() => Err(self.ellipsis()),
            _ => self.value(),
        }
    }

    fn comma(&mut self) -> Result<State, Refusal> {
        let Some((sign, len)) = self.sign() else {
            return self.close_all();
        };
        let Some(kind) = self.kind() else { return Ok(State::Done) };
        match sign {
            b',' => {
                let at = self.at;
                self.take(len)?;
                if let Some(frame) = self.stack.last_mut() {
                    frame.comma = Some(at);
                }
                return Ok(State::Element);
            }
            b'}' | b']' | b')' => return self.closer(sign, len),
            b';' if self.is_separator(self.at + len) => {
                let at = self.at;
                self.at += len;
                self.fix(FixKind::Semicolon, at..self.at)?;
                return Ok(State::Element);
            }
            b'+' | b'-' | b'*' | b'/' | b'%' | b'^' if self.last_is_number => {
                return Err(Refusal::new(
                    UnreadableKind::Number,
                    self.at,
                    "this is a calculation: write its result, or put text into quotes",
                ));
            }
            _ if self.is_ellipsis() => return Err(self.ellipsis()),
            b'{' if kind == Kind::Object => {
                // `[{"i": 1 {"i": 2}]`
                let in_list = self.stack.iter().rev().nth(1).is_some_and(|f| f.kind == Kind::List);
                if !in_list {
                    return Err(Refusal::syntax(self.at, "expected `,` or `}`"));
                }
                self.fix(FixKind::MissingCloser, self.at..self.at)?;
                self.close()?;
            }
            b'{' | b'[' | b'(' if kind == Kind::Object => {
                return Err(Refusal::syntax(self.at, "expected `,` or `}`"));
            }
            b'{' | b'[' | b'0'..=b'9' | b'-' | b'.' | b'+' => {}
            _ if self.source.quote(self.at).is_some() => {}
            _ if self.last_is_number && kind != Kind::Object && !self.begins_member(self.at) => {
                return Err(Refusal::syntax(self.at, "expected `,` or `]`"));
            }
            _ if self.source.char(self.at).is_some_and(|c| c.is_alphanumeric() || c == '_') => {}
            _ => return Err(Refusal::syntax(self.at, "expected `,` or a closing bracket")),
        }
        self.fix(FixKind::MissingComma, self.at..self.at)?;
        Ok(State::Element)
    }

    /// Puts a value where it belongs.
    pub(super) fn place(&mut self, value: B::Value) -> Result<State, Refusal> {
        let Some(frame) = self.stack.last_mut() else {
            self.root = Some(value);
            return Ok(State::Done);
        };
        let Some((key, span)) = frame.key.take() else {
            frame.items.push(value);
            return Ok(State::Comma);
        };
        match B::insert(&mut frame.members, key, span.clone(), value) {
            Some(_) if self.mode.is_sound => {}
            None => {}
            Some(true) => self.fix(FixKind::RepeatedMember, span.start..self.at)?,
            Some(false) => {
                let what = "this key came before, with another value: send it once";
                return Err(Refusal::new(UnreadableKind::Conflict, span.start, what));
            }
        }
        Ok(State::Comma)
    }

    /// What the schema says of the value that begins here.
    pub(super) fn parts(&self) -> Parts<'s> {
        match self.stack.last() {
            None => self.mode.keys.root(),
            Some(Frame { key: Some((key, _)), parts, .. }) => self.mode.keys.member(parts, key),
            Some(frame) => self.mode.keys.item(&frame.parts),
        }
    }

    fn open(&mut self, kind: Kind, len: usize) -> Result<State, Refusal> {
        let limit = self.mode.options.depth();
        if self.stack.len() >= limit {
            return Err(Refusal::too_deep(self.at, limit));
        }
        let parts = self.parts();
        let start = self.at;
        self.take(len)?;
        self.stack.push(Frame {
            kind,
            start,
            items: Vec::new(),
            members: B::Members::default(),
            key: None,
            comma: None,
            parts,
        });
        Ok(State::Element)
    }

    /// Reads what begins here: a container is opened, all else is read to its end.
    fn value(&mut self) -> Result<State, Refusal> {
        self.last_is_number = false;
        if let Some(len) = self.constructor() {
            self.fix(FixKind::Call, self.at..self.at + len)?;
            self.at += len;
        }
        let Some((sign, len)) = self.sign() else { return self.close_all() };
        let kind = match sign {
            b'{' => Some(Kind::Object),
            b'[' => Some(Kind::List),
            b'(' => Some(Kind::Tuple),
            _ => None,
        };
        if let Some(kind) = kind {
            self.weak_end = None;
            return self.open(kind, len);
        }
        let value = if self.source.quote(self.at).is_some() {
            self.weak_end = None;
            self.strings()?
        } else {
            let value = self.bare()?;
            self.weak_end = None;
            value
        };
        self.place(value)
    }

    /// A string, and those that are added to it with a plus sign.
    fn strings(&mut self) -> Result<B::Value, Refusal> {
        let start = self.at;
        let (mut text, _) = self.string(false)?;
        let end = self.at;
        while let Some(next) = self.concatenated(self.at) {
            self.at = next;
            text.push_str(&self.string(false)?.0);
        }
        if self.at > end {
            self.fix(FixKind::Concatenation, start..self.at)?;
        }
        Ok(B::text(text, false, start..self.at))
    }
}
