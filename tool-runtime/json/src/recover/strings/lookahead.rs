//! Rates whether the text after a quote fits the end of a string.
//!
//! A quote ends a string only if JSON could continue after it: with a colon if the string is a key;
//! otherwise with closing brackets in matching order, the end of the text, or a comma and the start
//! of the next element. All other quotes are part of the string.
//!
//! **Fuel.** A lookahead extends at most to the second quote after its own, and no quote is rated
//! twice, so all lookaheads together are linear in the text. They are still counted, because
//! comments contain quotes.

use crate::recover::builder::Builder;
use crate::recover::containers::ContainerKind;
use crate::recover::parser::Parser;
use crate::recover::schema_keys::SchemaKeys;
use crate::recover::tokens::literals::begins_literal;

/// The plausibility that a string or element ends or begins at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::recover) enum Plausibility {
    No,
    /// A possible reading, but prose could continue like this as well.
    Weak,
    Strong,
    /// A comma and a key that the schema knows follow.
    KnownKey,
}

impl Plausibility {
    /// Returns this plausibility if the condition holds, otherwise `No`.
    pub(in crate::recover) const fn only_if(self, holds: bool) -> Self {
        if holds { self } else { Self::No }
    }
}

impl<B: Builder> Parser<'_, '_, B> {
    /// Rates the end of a key before `at`, the position after a quote.
    pub(in crate::recover) fn key_end_plausibility(&mut self, at: usize) -> Plausibility {
        if self.source().byte(at) == Some(b':') {
            return Plausibility::Strong;
        }
        let next = self.skip_trivia_ahead(at);
        let Some((sign, _)) = self.source().sign(next) else {
            return if next >= self.source().end() {
                Plausibility::Strong
            } else {
                self.missing_colon_plausibility(at, next)
            };
        };
        match sign {
            b':' | b'=' => Plausibility::Strong,
            b',' | b'}' => Plausibility::Strong.only_if(self.containers().has_no_members()),
            b'{' | b'[' | b'0'..=b'9' | b'-' if next > at => Plausibility::Weak,
            b'a'..=b'z' | b'A'..=b'Z'
                if next > at && self.value_plausibility(next) == Plausibility::Strong =>
            {
                Plausibility::Weak
            }
            _ => self.missing_colon_plausibility(at, next),
        }
    }

    /// Rates a key and a string without a colon between them.
    fn missing_colon_plausibility(&mut self, at: usize, next: usize) -> Plausibility {
        Plausibility::Weak.only_if(next > at && self.source().quote(next).is_some())
    }

    /// Rates the end of a value before `at`, the position after a quote.
    pub(in crate::recover) fn value_end_plausibility(&mut self, mut at: usize) -> Plausibility {
        let is_sign = matches!(self.source().byte(at), Some(b',' | b'}' | b']'));
        if !is_sign && self.next_concatenated(at).is_some() {
            return Plausibility::Strong;
        }
        let first = at;
        let mut depth = self.containers().depth();
        loop {
            let start = at;
            at = self.skip_trivia_ahead(at);
            let Some((sign, len)) = self.source().sign(at) else {
                let is_end = at >= self.source().end();
                return if is_end {
                    Plausibility::Strong
                } else {
                    self.missing_comma_plausibility(first, at, depth)
                };
            };
            if depth == 0 {
                return self.root_end_plausibility(start, at, sign, first);
            }
            match sign {
                b'}' | b']' | b')' => {
                    match self.containers().closed_by(sign, depth) {
                        Some(opened) => depth = opened,
                        // A wrong bracket at the very end, or a superfluous one before the right
                        // one.
                        None => {
                            let after = self.skip_trivia_ahead(at + len);
                            let next = self.source().sign(after).map(|(sign, _)| sign);
                            let top = self.containers().kind_at(depth).map(ContainerKind::closer);
                            let is_end = after >= self.source().end() || next == top;
                            let continues = next == Some(b',') && depth == 1;
                            if is_end || !continues {
                                return Plausibility::Strong.only_if(is_end);
                            }
                        }
                    }
                    at += len;
                }
                b',' => {
                    return match self.containers().kind_at(depth) {
                        Some(ContainerKind::Object) => {
                            let next = self.skip_trivia_ahead(at + len);
                            let is_lost = depth < self.containers().depth()
                                && matches!(self.source().byte(next), Some(b'{' | b'['));
                            // A value without a key; it is refused at its own position.
                            if is_lost {
                                Plausibility::Weak
                            } else {
                                self.member_plausibility(at + len)
                            }
                        }
                        _ => self.item_plausibility(at + len, true),
                    };
                }
                b'.' if self.source().rest(at).starts_with("...") => return Plausibility::No,
                _ => return self.missing_comma_plausibility(first, at, depth),
            }
        }
    }

    /// Rates the text after the root value: anything may follow except the rest of this string.
    fn root_end_plausibility(
        &mut self,
        start: usize,
        at: usize,
        sign: u8,
        first: usize,
    ) -> Plausibility {
        if start == first {
            // The string is the root value.
            return Plausibility::No;
        }
        let is_new_line = self.source().slice(start..at).contains('\n');
        match sign {
            b'{' | b'[' | b'}' | b']' | b')' | b';' | b'<' | b'`' => Plausibility::Strong,
            _ if is_new_line => Plausibility::Strong,
            b',' if self.member_plausibility(at + 1) >= Plausibility::Strong => {
                Plausibility::Strong
            }
            _ if at > self.last_closed_quote() => Plausibility::Strong,
            _ => Plausibility::No,
        }
    }

    /// Rates a missing comma before the next element.
    fn missing_comma_plausibility(
        &mut self,
        first: usize,
        at: usize,
        depth: usize,
    ) -> Plausibility {
        let Some(kind) = self.containers().kind_at(depth) else {
            return Plausibility::No;
        };
        let has_blank = at > first;
        let is_quote = self.source().quote(at).is_some();
        match kind {
            ContainerKind::Object if is_quote => {
                self.member_plausibility(at).min(Plausibility::Strong)
            }
            ContainerKind::Object if has_blank => {
                self.member_plausibility(at).min(Plausibility::Weak)
            }
            ContainerKind::Object => Plausibility::No,
            _ if has_blank => self.item_plausibility(at, false).min(Plausibility::Weak),
            _ => Plausibility::No,
        }
    }

    /// Rates the start of a member at `at`.
    pub(in crate::recover) fn member_plausibility(&mut self, at: usize) -> Plausibility {
        let mut at = self.skip_trivia_ahead(at);
        while self.source().byte(at) == Some(b',') && self.fuel() > 0 {
            at = self.skip_trivia_ahead(at + 1);
        }
        let Some(byte) = self.source().byte(at) else { return Plausibility::Strong };
        let start = at;
        match self.source().sign(at).map_or(byte, |(sign, _)| sign) {
            b'}' | b']' => return Plausibility::Strong,
            b'.' => {
                let is_ellipsis = self.source().rest(at).starts_with("...");
                return Plausibility::Strong.only_if(is_ellipsis);
            }
            _ => {}
        }
        let Some((key_end, colon)) = self.key_ahead(at) else {
            return self.colonless_member_plausibility(at);
        };
        let key = self.source().slice(start..key_end);
        let is_quoted = self.source().quote(start).is_some();
        let value = self.value_plausibility(colon);
        let subschemas = self.containers().subschemas();
        let known = subschemas.filter(|subschemas| !subschemas.is_empty()).and_then(|subschemas| {
            let bare = key.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
            SchemaKeys::has_key(subschemas, bare)
        });
        match known {
            Some(true) if is_quoted => Plausibility::KnownKey,
            Some(true) => Plausibility::Strong,
            Some(false) => Plausibility::Weak,
            None if is_quoted => value,
            None => value.min(Plausibility::Weak),
        }
    }

    /// Rates the start of a value at `at`; words may be anything.
    pub(in crate::recover) fn value_plausibility(&mut self, at: usize) -> Plausibility {
        let at = self.skip_trivia_ahead(at);
        let Some((sign, _)) = self.source().sign(at) else {
            let is_value = at >= self.source().end() || self.source().quote(at).is_some();
            return if is_value { Plausibility::Strong } else { Plausibility::Weak };
        };
        let rest = self.source().rest(at);
        match sign {
            b't' | b'f' | b'n' if self.source().literal(at).is_some() => Plausibility::Strong,
            b'"' | b'\'' | b'`' | b'{' | b'[' | b'0'..=b'9' | b'-' | b'+' | b'.' => {
                Plausibility::Strong
            }
            _ if begins_literal(rest) => Plausibility::Strong,
            _ => Plausibility::Weak,
        }
    }

    /// Rates the start of an item at `at`.
    fn item_plausibility(&mut self, at: usize, has_comma: bool) -> Plausibility {
        let mut at = self.skip_trivia_ahead(at);
        while has_comma && self.source().byte(at) == Some(b',') && self.fuel() > 0 {
            at = self.skip_trivia_ahead(at + 1);
        }
        if at >= self.source().end() || self.source().quote(at).is_some() {
            return Plausibility::Strong;
        }
        // The end of that string is not examined: it may depend on the next item, and so on.
        if self.prefix_before_quote(at).is_some() {
            return Plausibility::Strong;
        }
        let sign = self.source().sign(at).map(|(sign, _)| sign);
        if matches!(sign, Some(b'{' | b'[' | b'(' | b'}' | b']' | b')')) {
            return Plausibility::Strong;
        }
        // A number, or words up to the end of the item.
        let rest = self.source().rest(at);
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
            || begins_literal(rest);
        let ends = |c: char| matches!(c, ',' | ']' | ')' | '\n' | '"' | '，' | '“' | '”');
        let len =
            rest.find(|c: char| ends(c) || is_number && c.is_whitespace()).unwrap_or(rest.len());
        self.use_fuel_between(at, at + len);
        let after = if is_number { self.skip_trivia_ahead(at + len) } else { at + len };
        let is_end = after >= self.source().end();
        let fits =
            is_end || matches!(self.source().sign(after), Some((b',' | b']' | b')' | b'\n', _)));
        match (fits, is_number, has_comma) {
            _ if has_comma && self.is_half_quoted(at, at + len) => Plausibility::Strong,
            (true, true, _) => Plausibility::Strong,
            (true, false, true) => Plausibility::Weak,
            (false, true, _) if has_comma || len > 0 => {
                // `[1 2 3]`
                let next = self.source().byte(after);
                Plausibility::Weak.only_if(next.is_some_and(|byte| byte.is_ascii_digit()))
            }
            _ => Plausibility::No,
        }
    }

    /// Returns whether the item between `at` and `end` lacks only its opening quote: `b", "c"`.
    fn is_half_quoted(&mut self, at: usize, end: usize) -> bool {
        let word = self.source().slice(at..end);
        let Some((_, len)) = self.source().quote(end) else { return false };
        let after = self.skip_trivia_ahead(end + len);
        word.starts_with(char::is_alphanumeric)
            && word.ends_with(char::is_alphanumeric)
            && matches!(self.source().sign(after), Some((b',' | b']' | b')', _)))
    }
}
