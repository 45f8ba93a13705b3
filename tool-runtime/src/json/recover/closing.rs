//! Closing brackets: the right one, a wrong one, one too many, one too early, and none at all.

use super::{
    build::Build,
    ending::Fit,
    parser::{Kind, Parser, State},
    refusal::Refusal,
};
use crate::json::FixKind;

impl<B: Build> Parser<'_, '_, B> {
    /// A closing bracket, the right one or another.
    pub(super) fn closer(&mut self, sign: u8, len: usize) -> Result<State, Refusal> {
        let start = self.at;
        let depth = self.stack.len();
        let opened = self.stack.iter().rposition(|frame| frame.kind.closer() == sign);
        if let Some(opened) = opened {
            for _ in opened + 1..depth {
                self.fix(FixKind::MissingCloser, start..start)?;
                self.close()?;
            }
            self.take(len)?;
            if opened == 0 && self.is_premature(start) {
                self.fix(FixKind::ExtraCloser, start..self.at)?;
                return Ok(State::Comma);
            }
            return self.close();
        }
        let after = self.source.skip_blanks(start + len);
        let next = self.source.sign(after).map(|(sign, _)| sign);
        let closes_top = next.is_some() && next == self.kind().map(Kind::closer);
        if closes_top || depth == 1 && next.is_some() {
            self.fix(FixKind::ExtraCloser, start..start + len)?;
            self.at += len;
            return Ok(State::Comma);
        }
        let twice = self.source.before(start).is_some_and(|before| before == char::from(sign));
        if twice && next == Some(b',') {
            return Err(Refusal::syntax(start, "this bracket closes nothing"));
        }
        self.fix(FixKind::WrongCloser, start..start + len)?;
        self.at += len;
        self.close()
    }

    /// Whether the object that the bracket at `start` closes goes on behind it: a comma, a quoted
    /// key and a colon follow. If an object within was closed before, it may be that one's bracket
    /// that came too early; then the text is refused later, as a value with more behind it.
    fn is_premature(&mut self, start: usize) -> bool {
        if self.mode.in_prose || self.mode.is_sound || self.kind() != Some(Kind::Object) {
            return false;
        }
        let (count, last) = self.closed;
        let is_sole = count == 0 || count == 1 && self.source.skip_blanks(last) == start;
        let after = self.source.skip_blanks(self.at);
        is_sole
            && self.source.byte(after) == Some(b',')
            && self.ends_with_brace()
            && self.member_fits(after + 1) >= Fit::Strong
    }

    /// Looked up once: there may be many blanks, and many brackets that ask.
    fn ends_with_brace(&mut self) -> bool {
        let source = self.source;
        *self.ends_with_brace.get_or_insert_with(|| source.rest(0).trim_end().ends_with('}'))
    }

    /// Ends the innermost container and puts it where it belongs.
    pub(super) fn close(&mut self) -> Result<State, Refusal> {
        let Some(frame) = self.stack.pop() else { return Ok(State::Done) };
        let span = frame.start..self.at;
        let in_object = self.kind() == Some(Kind::Object);
        let value = match frame.kind {
            Kind::Object => {
                if in_object {
                    self.closed = (self.closed.0 + 1, self.at);
                }
                B::object(frame.members, span)
            }
            Kind::List => B::list(frame.items, span),
            Kind::Set => {
                self.fix(FixKind::Tuple, span.clone())?;
                B::list(frame.items, span)
            }
            Kind::Tuple => {
                self.fix(FixKind::Tuple, span.clone())?;
                let mut items = frame.items;
                match items.pop() {
                    // Round brackets around one thing are no list.
                    Some(item) if items.is_empty() && frame.comma.is_none() => item,
                    Some(item) => {
                        items.push(item);
                        B::list(items, span)
                    }
                    None => B::list(items, span),
                }
            }
        };
        self.last_is_number = false;
        self.place(value)
    }

    /// The text ends; so does all that is open.
    pub(super) fn close_all(&mut self) -> Result<State, Refusal> {
        if self.stack.is_empty() {
            return Ok(State::Done);
        }
        self.truncated = true;
        if let Some(set) = self.stack.iter().find(|frame| frame.kind == Kind::Set) {
            return Err(Refusal::syntax(set.start, "expected a key in quotes and `:`"));
        }
        while !self.stack.is_empty() {
            let end = self.source.end();
            self.fix(FixKind::MissingCloser, end..end)?;
            self.close()?;
        }
        Ok(State::Done)
    }
}
