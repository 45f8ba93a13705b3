//! The parser: a position in the damaged text, the open containers, and the fixes so far.
//!
//! The files of the grammar use these methods alone. A position is a byte of the text.

use std::ops::Range;

use super::Recovered;
use super::RecoveryError;
use super::RecoveryMode;
use super::builder::Builder;
use super::check_fix;
use super::containers::{ContainerKind, Containers};
use super::schema_keys::Subschemas;
use super::source::{QuoteStyle, SourceText};
use crate::{Fix, FixKind, ParseErrorKind, fix::sort_by_position};

/// The fuel for lookaheads, in steps per byte.
const LOOKAHEAD_PER_BYTE: usize = 8;

/// The value before the current position, if it matters for what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreviousValue {
    Number,
    /// A string that ended only because a bare key seems to follow.
    WeakString,
    Other,
}

/// The state of the recovery parser.
pub(super) struct Parser<'t, 's, B: Builder> {
    source: SourceText<'t>,
    at: usize,
    mode: RecoveryMode<'s>,
    containers: Containers<'s, B>,
    fixes: Vec<Fix>,
    truncated: bool,
    previous: PreviousValue,
    /// The steps that lookaheads may still take.
    fuel: usize,
    /// The results of [`last_closed_quote`](Self::last_closed_quote) and
    /// [`ends_with_brace`](Self::ends_with_brace).
    last_closed_quote: Option<usize>,
    ends_with_brace: Option<bool>,
}

impl<'t, 's, B: Builder> Parser<'t, 's, B> {
    pub(super) fn new(source: SourceText<'t>, at: usize, mode: RecoveryMode<'s>) -> Self {
        Self {
            source,
            at,
            mode,
            containers: Containers::new(),
            fixes: Vec::new(),
            truncated: false,
            previous: PreviousValue::Other,
            fuel: LOOKAHEAD_PER_BYTE * (source.end() - at.min(source.end())),
            last_closed_quote: None,
            ends_with_brace: None,
        }
    }

    /// Returns the root value with its fixes.
    pub(super) fn finish(mut self) -> Result<Recovered<B::Value>, RecoveryError> {
        let Some(value) = self.containers.into_root() else {
            return Err(RecoveryError::new(ParseErrorKind::NoValue, self.at, "there is no value"));
        };
        // The fixes of a member may be recorded before those of its container.
        sort_by_position(&mut self.fixes);
        Ok(Recovered { value, end: self.at, fixes: self.fixes, truncated: self.truncated })
    }

    #[inline]
    pub(super) const fn source(&self) -> SourceText<'t> {
        self.source
    }

    #[inline]
    pub(super) const fn mode(&self) -> &RecoveryMode<'s> {
        &self.mode
    }

    #[inline]
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// The sign at the position; `a` for anything else, `None` at the end.
    #[inline]
    pub(super) fn peek(&self) -> Option<(u8, usize)> {
        let sign = self.source.sign(self.at);
        sign.or_else(|| (self.at < self.source.end()).then_some((b'a', 0)))
    }

    #[inline]
    pub(super) fn peek_byte(&self) -> Option<u8> {
        self.source.byte(self.at)
    }

    /// The style and the length of the quote at the position.
    #[inline]
    pub(super) fn peek_quote(&self) -> Option<(QuoteStyle, usize)> {
        self.source.quote(self.at)
    }

    /// Returns the quote at the position, or the error that a string is missing.
    pub(super) fn expect_quote(&self) -> Result<(QuoteStyle, usize), RecoveryError> {
        self.peek_quote().ok_or_else(|| self.error("expected a string"))
    }

    /// Moves past the next `len` bytes.
    #[inline]
    pub(super) const fn bump(&mut self, len: usize) {
        self.at += len;
    }

    #[inline]
    pub(super) const fn bump_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Moves past a sign, which may be full-width.
    #[inline]
    pub(super) fn bump_sign(&mut self, len: usize) -> Result<(), RecoveryError> {
        if len > 1 {
            return self.bump_with_fix(FixKind::Punctuation, len);
        }
        self.bump(len);
        Ok(())
    }

    /// Moves past the next `len` bytes, and records them as a fix.
    #[inline]
    pub(super) fn bump_with_fix(&mut self, kind: FixKind, len: usize) -> Result<(), RecoveryError> {
        let start = self.at;
        self.bump(len);
        self.record_fix(kind, start..self.at)
    }

    /// Moves past `byte`, and returns whether it was there.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek_byte() == Some(byte);
        self.bump(usize::from(is_next));
        is_next
    }

    #[inline]
    pub(super) fn record_fix(
        &mut self,
        kind: FixKind,
        span: Range<usize>,
    ) -> Result<(), RecoveryError> {
        let fix = Fix::new(kind, span);
        check_fix(&self.mode.options, &fix, self.fixes.len())?;
        self.fixes.push(fix);
        Ok(())
    }

    /// Records that something is missing at the position.
    pub(super) fn record_missing(&mut self, kind: FixKind) -> Result<(), RecoveryError> {
        self.record_fix(kind, self.at..self.at)
    }

    /// Records that the text ends before the value does.
    pub(super) const fn set_truncated(&mut self) {
        self.truncated = true;
    }

    /// The error of syntax at the position.
    pub(super) fn error(&self, reason: &'static str) -> RecoveryError {
        RecoveryError::syntax(self.at, reason)
    }

    #[inline]
    pub(super) const fn containers(&self) -> &Containers<'s, B> {
        &self.containers
    }

    #[inline]
    pub(super) const fn containers_mut(&mut self) -> &mut Containers<'s, B> {
        &mut self.containers
    }

    /// The subschemas of the value that begins at the position.
    pub(super) fn next_subschemas(&self) -> Subschemas<'s> {
        self.containers.next_subschemas(&self.mode.keys)
    }

    /// The kind of the innermost container.
    #[inline]
    pub(super) fn kind(&self) -> Option<ContainerKind> {
        self.containers.kind()
    }

    #[inline]
    pub(super) const fn previous(&self) -> PreviousValue {
        self.previous
    }

    #[inline]
    pub(super) const fn set_previous(&mut self, previous: PreviousValue) {
        self.previous = previous;
    }

    #[inline]
    pub(super) const fn fuel(&self) -> usize {
        self.fuel
    }

    /// Uses fuel for `steps` of a lookahead.
    #[inline]
    pub(super) const fn use_fuel(&mut self, steps: usize) {
        self.fuel = self.fuel.saturating_sub(steps);
    }

    /// Uses fuel for a lookahead from one position to another.
    #[inline]
    pub(super) const fn use_fuel_between(&mut self, from: usize, to: usize) {
        self.use_fuel(to.saturating_sub(from) + 1);
    }

    /// Returns whether the text ends with a brace; cached, because many brackets may ask.
    pub(super) fn ends_with_brace(&mut self) -> bool {
        let source = self.source;
        *self.ends_with_brace.get_or_insert_with(|| source.rest(0).trim_end().ends_with('}'))
    }

    /// The position of the last quote that is followed by a closing bracket; cached.
    pub(super) fn last_closed_quote(&mut self) -> usize {
        if let Some(position) = self.last_closed_quote {
            return position;
        }
        let text = self.source.rest(0);
        let mut position = 0;
        let mut was_closer = false;
        for (at, c) in text.char_indices().rev() {
            match c {
                '}' | ']' => was_closer = true,
                '"' | '\'' | '”' | '’' if was_closer => {
                    position = at;
                    break;
                }
                c if c.is_whitespace() => {}
                _ => was_closer = false,
            }
        }
        self.use_fuel_between(0, text.len());
        self.last_closed_quote = Some(position);
        position
    }
}
