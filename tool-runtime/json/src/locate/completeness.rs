//! Checks that a value is complete, not a part of something larger.
//!
//! Damage often removes the outermost brackets, and the remaining value looks like a value in
//! prose. So a value counts only if nothing around it could make it a part:
//!
//! - **Beside it** no other value, no comma (unless a sentence follows it), no operator, no colon
//!   after it, and nothing that accesses a part of it: `[`, `(`, `.name`.
//! - **Around it** no open call, except one whose only argument it is.
//! - **Anywhere** no key: a quoted word before `:` or `=`; a word before `=`; a single word before
//!   `:` that is lower case or on the line of the value; a tag that names a member.
//! - **Before it** at most one label, `Options: {…}`, then no word after the value and no other
//!   label anywhere. A label on the line above, `Here:`, allows words on the lines below. A label
//!   that announces a complete value, `Answer: {…} is it`, allows words, and labels below the value
//!   and of its kind. Several words and a colon are prose.
//! - **Around it** no element next to elements that hold text: not `<a>x</a><b>{…}</b>`.

use std::ops::Range;

use super::{
    labels::MEMBER,
    scan::Segment,
    token::{SurroundingTokens, Token, TokenKind},
};
use crate::recover::SchemaKeys;

const SECOND: &str = "this value is not the only one";
const ARGUMENT: &str = "this value is not the only argument of the call";
const NESTED: &str = "this value is in a nested call: send it without calls";
const SIBLING: &str = "this value is one element among others that hold text";

/// Checks the text around the value at `value`, and returns the tools that its elements name.
///
/// # Errors
/// Returns the position and the reason if the value may be a part of something larger.
pub(super) fn check_complete(
    text: &str,
    segments: &[Segment],
    value: &Range<usize>,
    keys: &SchemaKeys<'_>,
) -> Result<Vec<String>, (usize, &'static str)> {
    let surroundings = SurroundingTokens { text, tokens: Token::tokenize(text, segments, value) };
    let is_value = |(_, token): &(usize, &Token<'_>)| token.kind == TokenKind::Value;
    let values = || surroundings.tokens.iter().enumerate().filter(is_value);
    let part = values()
        .find_map(|(at, token)| Some((token.span.start, surroundings.reason_to_reject(at)?)))
        .or_else(|| surroundings.find_call_conflict())
        .or_else(|| surroundings.find_owner(value.start, keys))
        .or_else(|| surroundings.has_sibling().then_some((value.start, SIBLING)));
    part.map_or_else(|| Ok(surroundings.callees()), Err)
}

impl SurroundingTokens<'_> {
    fn starts_with(&self, at: usize, signs: &[char]) -> bool {
        let rest = self.tokens.get(at).and_then(|token| self.text.get(token.span.start..));
        rest.is_some_and(|rest| rest.starts_with(signs))
    }

    /// The first and last token of the value at `at`, including quotes that touch it on both sides.
    /// Straight double quotes are excluded: they would have to be escaped inside the value.
    fn quoted(&self, at: usize) -> (usize, usize) {
        let first = at.saturating_sub(1);
        let is_quote = |quote: usize, touches: bool| {
            touches
                && self.kind(Some(quote)) == Some(TokenKind::Quote)
                && !self.starts_with(quote, &['"'])
        };
        let is_quoted =
            is_quote(first, self.touch(first, at)) && is_quote(at + 1, self.touch(at, at + 1));
        if is_quoted { (first, at + 1) } else { (at, at) }
    }

    /// Returns why the text right before or after the value at `at` makes it a part.
    fn reason_to_reject(&self, at: usize) -> Option<&'static str> {
        let (first, last) = self.quoted(at);
        let (before, on_line) = self.before(first);
        let starts_line = before.is_none_or(|before| !self.before(before).1);
        match self.kind(before) {
            Some(TokenKind::Scalar | TokenKind::Quote) => return Some(SECOND),
            Some(TokenKind::Sign(',')) => return Some(MEMBER),
            Some(TokenKind::Bracketed) if first > 0 && self.touch(first - 1, first) => {
                return Some(SECOND);
            }
            Some(TokenKind::Sign(c)) if on_line && !starts_line && is_operator(c) => {
                return Some(SECOND);
            }
            Some(TokenKind::Word(_) | TokenKind::Sign(')')) if self.is_subscript(at) => {
                return Some(MEMBER);
            }
            _ => {}
        }
        let (after, on_line) = self.after(last);
        let touches = self.touch(last, after);
        let touching_next = self.touch(after, after + 1);
        match self.kind(Some(after))? {
            TokenKind::Scalar | TokenKind::Quote => Some(SECOND),
            TokenKind::Sign('-')
                if touching_next && self.kind(Some(after + 1)) == Some(TokenKind::Scalar) =>
            {
                Some(SECOND)
            }
            TokenKind::Sign(',') if !self.is_sentence(after + 1) => Some(MEMBER),
            TokenKind::Sign(':' | '=') => Some(MEMBER),
            TokenKind::Sign(c) if on_line && is_operator(c) => Some(SECOND),
            // A repetition of the same value is not another value.
            TokenKind::Value if touches && self.token_text(after) == self.token_text(at) => None,
            TokenKind::Value | TokenKind::Bracketed | TokenKind::Sign('(') if touches => {
                Some(SECOND)
            }
            TokenKind::Sign('.') if touches && touching_next => {
                matches!(self.kind(Some(after + 1)), Some(TokenKind::Word(_))).then_some(MEMBER)
            }
            _ => None,
        }
    }

    /// Returns whether the value is a subscript, `name[…]`; some models write calls as `name[{…}]`.
    fn is_subscript(&self, at: usize) -> bool {
        let list = self.token_text(at).and_then(|text| text.strip_prefix('['));
        at > 0
            && self.touch(at - 1, at)
            && list.is_some_and(|list| !list.trim_start().starts_with('{'))
    }

    /// Returns whether two words begin at `at`, or one word that ends a sentence.
    fn is_sentence(&self, at: usize) -> bool {
        let at = if self.kind(Some(at)) == Some(TokenKind::Break) { at + 1 } else { at };
        matches!(self.kind(Some(at)), Some(TokenKind::Word(_)))
            && match self.kind(Some(at + 1)) {
                Some(TokenKind::Word(_)) => true,
                Some(TokenKind::Sign('.' | '!' | '?')) => !self.touch(at + 1, at + 2),
                _ => false,
            }
    }

    /// Finds the first value that is not the only argument of its call, or is in a nested call.
    fn find_call_conflict(&self) -> Option<(usize, &'static str)> {
        let (mut open, mut calls) = (Vec::new(), 0_usize);
        for (at, token) in self.tokens.iter().enumerate() {
            match token.kind {
                TokenKind::Sign('(') => {
                    let callee = at.checked_sub(1).filter(|&callee| self.touch(callee, at));
                    let is_call = matches!(
                        self.kind(callee),
                        Some(TokenKind::Word(_) | TokenKind::Bracketed | TokenKind::Sign(')'))
                    );
                    open.push(is_call);
                    calls += usize::from(is_call);
                }
                TokenKind::Sign(')') => calls -= usize::from(open.pop().unwrap_or(false)),
                TokenKind::Value if calls > 0 => {
                    let (first, last) = self.quoted(at);
                    let is_argument = self.kind(self.before(first).0) == Some(TokenKind::Sign('('))
                        && self.kind(Some(self.after(last).0)) == Some(TokenKind::Sign(')'));
                    if open.last() != Some(&true) || !is_argument {
                        return Some((token.span.start, ARGUMENT));
                    }
                    if calls > 1 {
                        return Some((token.span.start, NESTED));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

const fn is_operator(sign: char) -> bool {
    matches!(sign, '+' | '*' | '/' | '%' | '|' | '&' | '^' | '<' | '>')
}
