//! The pass over the text: cuts it into parts and notes what could be the value.

use std::ops::Range;

use serde_json::Value;

use super::{
    FixKind,
    around::Around,
    coerce::Roots,
    found::Found,
    mark::{Mark, is_blank, is_odd_blank},
    piece::{Piece, scalar_len},
};

/// A stretch of the text and why it goes; `None` if it may be the value.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Option<FixKind>,
    /// It is brackets and all that is in them.
    pub(super) is_piece: bool,
    pub(super) span: Range<usize>,
}

impl Part {
    const fn new(kind: FixKind, span: Range<usize>) -> Self {
        Self { kind: Some(kind), is_piece: false, span }
    }
}

/// What the pass has seen; at its end, all that there is to judge by.
pub(super) struct Scan<'t, 's> {
    text: &'t str,
    wanted: Roots,
    steps: &'s mut usize,
    at: usize,
    in_fence: bool,
    pub(super) parts: Vec<Part>,
    /// No prose and no value so far.
    marks_only: bool,
    /// The first candidate of a wanted type.
    pub(super) found: Option<Found>,
    /// A value that counts only if all the other parts are marks.
    pub(super) alone: Option<Found>,
    pub(super) candidates: Vec<Range<usize>>,
    pub(super) ambiguous: bool,
    /// The first damage and where it is.
    pub(super) damage: Option<(usize, Damage)>,
}

/// How it shows that a value is not whole.
#[derive(Debug)]
pub(super) enum Damage {
    /// What serde_json says of a piece.
    Piece(serde_json::Error),
    /// What the brackets and the text around them say.
    Sign(&'static str),
}

impl<'t, 's> Scan<'t, 's> {
    /// Passes over `text`; `steps` counts the work.
    pub(super) fn new(text: &'t str, wanted: Roots, steps: &'s mut usize) -> Self {
        let mut scan = Self {
            text,
            wanted,
            steps,
            at: 0,
            in_fence: false,
            parts: Vec::new(),
            marks_only: true,
            found: None,
            alone: None,
            candidates: Vec::new(),
            ambiguous: false,
            damage: None,
        };
        scan.run();
        scan
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn run(&mut self) {
        while let Some(c) = self.rest().chars().next() {
            *self.steps += c.len_utf8();
            if let Some(mark) = Mark::at(self.rest(), self.in_fence, self.steps) {
                self.mark(mark);
                continue;
            }
            match c {
                '{' | '[' => self.piece(),
                '}' | ']' => {
                    self.damaged(Damage::Sign("this bracket closes nothing"));
                    self.cut(FixKind::Prose, 1);
                }
                '\u{feff}' if self.at == 0 => self.cut(FixKind::Bom, c.len_utf8()),
                '"' | '-' | '0'..='9' | 't' | 'f' | 'n' if self.marks_only => self.scalar(),
                c if is_blank(c) => self.at += 1,
                c if is_odd_blank(c) => self.cut(FixKind::Blank, c.len_utf8()),
                c => self.cut(FixKind::Prose, c.len_utf8()),
            }
        }
    }

    fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Fence(len) => {
                self.in_fence = !self.in_fence;
                self.cut(FixKind::Fence, len);
            }
            Mark::Tag(len) => self.cut(FixKind::Tag, len),
            Mark::Reasoning(len) => self.cut(FixKind::Reasoning, len),
            Mark::ReasoningStart(len) => {
                self.damaged(Damage::Sign("the reasoning that begins here never ends"));
                self.cut(FixKind::Reasoning, len);
            }
            Mark::ReasoningEnd(len) => {
                self.parts.retain(|part| part.kind == Some(FixKind::Bom));
                let start = self.parts.last().map_or(0, |bom| bom.span.end);
                self.at += len;
                self.parts.push(Part::new(FixKind::Reasoning, start..self.at));
                self.candidates.clear();
                (self.found, self.alone, self.damage) = (None, None, None);
                (self.in_fence, self.marks_only, self.ambiguous) = (false, true, false);
            }
        }
    }

    /// Passes the next `len` bytes, which are no part of the value.
    fn cut(&mut self, kind: FixKind, len: usize) {
        let span = self.at..self.at + len;
        self.at = span.end;
        self.marks_only &= kind != FixKind::Prose;
        match self.parts.last_mut() {
            Some(last) if last.kind == Some(kind) && !last.is_piece => last.span.end = span.end,
            _ => self.parts.push(Part::new(kind, span)),
        }
    }

    /// Passes a piece that is not the value.
    fn cut_piece(&mut self, len: usize) {
        let span = self.at..self.at + len;
        self.at = span.end;
        self.marks_only = false;
        self.parts.push(Part { kind: Some(FixKind::Prose), is_piece: true, span });
    }

    /// Gives back the end of the prose before, from `from` at the earliest: it is part of
    /// something else. Returns where that begins.
    fn uncut(&mut self, from: usize) -> usize {
        let is_prose = |last: &mut Part| last.kind == Some(FixKind::Prose) && !last.is_piece;
        let Some(last) = self.parts.pop_if(is_prose) else {
            return self.at;
        };
        let from = from.max(last.span.start);
        if last.span.start < from {
            self.parts.push(Part::new(FixKind::Prose, last.span.start..from));
        }
        from
    }

    fn damaged(&mut self, damage: Damage) {
        self.damage.get_or_insert((self.at, damage));
    }

    fn piece(&mut self) {
        let rest = self.rest();
        let Some(piece) = Piece::at(rest) else {
            *self.steps += 2 * rest.len();
            self.damaged(match serde_json::from_str::<Value>(rest) {
                Err(error) => Damage::Piece(error),
                Ok(_) => Damage::Sign("these brackets do not match"),
            });
            return self.cut(FixKind::Prose, rest.len());
        };
        let len = piece.text.len();
        *self.steps += len * if piece.escaped { 5 } else { 2 };
        match piece.read() {
            Ok((value, json)) => return self.candidate(piece, value, json),
            Err(_) if piece.is_placeholder() => {}
            Err(_) if piece.escaped => {
                self.damaged(Damage::Sign("without its escapes this is no JSON either"))
            }
            Err(error) => self.damaged(Damage::Piece(error)),
        }
        self.cut_piece(len);
    }

    fn candidate(&mut self, piece: Piece<'_>, value: Value, json: String) {
        let mut span = self.at..self.at + piece.text.len();
        let around = Around::new(self.text, &span);
        *self.steps += around.steps();
        let in_prose = self.parts.last().is_some_and(|last| last.kind == Some(FixKind::Prose));
        let quoted = piece.escaped && in_prose && around.is_quoted();
        let counts = self.wanted.allows(&value);
        if !counts && !self.marks_only {
            return self.cut_piece(piece.text.len());
        }
        let call = around.call();
        if quoted {
            // The quotes belong to the escaped text.
            span = self.uncut(span.start - 1)..span.end + 1;
        } else if let Some((name, _)) = &call {
            *self.steps += name.len();
            let start = self.uncut(name.start);
            self.parts.push(Part::new(FixKind::Call, start..name.end));
        }
        self.value(Found { value, json, span, escaped: piece.escaped }, counts);
        if let Some((_, end)) = call {
            self.at = end.start;
            self.cut(FixKind::Call, end.len());
        }
    }

    fn scalar(&mut self) {
        let rest = self.rest();
        let len = scalar_len(rest);
        *self.steps += len.map_or(rest.len(), |len| 2 * len);
        let json = len.and_then(|len| rest.get(..len)).unwrap_or_default().to_owned();
        match serde_json::from_str(&json) {
            Ok(value) => {
                let span = self.at..self.at + json.len();
                self.value(Found { value, json, span, escaped: false }, false);
            }
            Err(_) => self.cut(FixKind::Prose, 1),
        }
    }

    fn value(&mut self, found: Found, counts: bool) {
        self.at = found.span.end;
        self.marks_only = false;
        let span = found.span.clone();
        let mut kind = None;
        if counts {
            self.candidates.push(span.clone());
            match &self.found {
                None => self.found = Some(found),
                Some(first) if first.is_same(&found) => kind = Some(FixKind::Repeat),
                Some(_) => self.ambiguous = true,
            }
        } else {
            self.alone = Some(found);
        }
        self.parts.push(Part { kind, is_piece: false, span });
    }
}
