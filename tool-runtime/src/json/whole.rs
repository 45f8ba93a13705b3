//! Is a value the whole of what was meant, or only a part of something larger?
//!
//! What the text loses by damage is its outermost brackets, and what is left then has the look of a
//! value in prose. So a value counts only where nothing around it could make it a part:
//!
//! - **Beside it** no other value, no comma (unless a sentence follows it), no operator, no colon
//!   after it, and nothing that takes a part of it: `[`, `(`, `.name`.
//! - **Around it** no open call, except one whose only argument it is.
//! - **Anywhere** no key: a quoted word and `:` or `=`; a word and `=`; a word that stands alone
//!   before `:`, where it is written small or on the line of the value; a tag that names a member.
//! - **Before it** one label at most, and then no word after the value, and no other label anywhere:
//!   `Options: {…}`. One on the line above, `Here:`, bears words on the lines below; one that says that
//!   all of it comes, `Answer: {…} is it`, bears words, and labels below it and of its kind. Several words
//!   and a colon are prose.
//! - **Around it** an element that has no text beside it in elements of its own: not `<a>x</a><b>{…}</b>`.

use std::ops::Range;

use super::{
    recover::Keys,
    scan::Part,
    token::{Kind, Token},
};

pub(super) const MEMBER: &str = "this value is a member of something that is not there";
const SECOND: &str = "this value is not the only one";
const ARGUMENT: &str = "this value is not the only argument of the call";
const NESTED: &str = "this value stands in a call within another: send it without calls";
const SIBLING: &str = "this value is one element among others that hold text";

/// What the elements around the value at `value` say is called.
///
/// # Errors
/// Where and how it shows that it is a part of something larger.
pub(super) fn callees(
    text: &str,
    parts: &[Part],
    value: &Range<usize>,
    keys: &Keys<'_>,
) -> Result<Vec<String>, (usize, &'static str)> {
    let around = Surroundings { text, tokens: Token::all(text, parts, value) };
    let is_value = |(_, token): &(usize, &Token<'_>)| token.kind == Kind::Value;
    let values = || around.tokens.iter().enumerate().filter(is_value);
    let part = values()
        .find_map(|(at, token)| Some((token.span.start, around.beside(at)?)))
        .or_else(|| around.call())
        .or_else(|| around.names(value.start, keys))
        .or_else(|| around.has_sibling().then_some((value.start, SIBLING)));
    part.map_or_else(|| Ok(around.callees()), Err)
}

pub(super) struct Surroundings<'t> {
    text: &'t str,
    pub(super) tokens: Vec<Token<'t>>,
}

impl<'t> Surroundings<'t> {
    pub(super) fn kind(&self, at: Option<usize>) -> Option<Kind<'t>> {
        Some(self.tokens.get(at?)?.kind)
    }

    /// The token before, and whether it is on the same line.
    pub(super) fn before(&self, at: usize) -> (Option<usize>, bool) {
        let last = at.checked_sub(1);
        match self.kind(last) {
            Some(Kind::Break) => (at.checked_sub(2), false),
            _ => (last, true),
        }
    }

    pub(super) fn after(&self, at: usize) -> (usize, bool) {
        match self.kind(Some(at + 1)) {
            Some(Kind::Break) => (at + 2, false),
            _ => (at + 1, true),
        }
    }

    pub(super) fn touch(&self, first: usize, second: usize) -> bool {
        let both = self.tokens.get(first).zip(self.tokens.get(second));
        both.is_some_and(|(first, second)| first.touches(second))
    }

    fn starts_with(&self, at: usize, what: &[char]) -> bool {
        let rest = self.tokens.get(at).and_then(|token| self.text.get(token.span.start..));
        rest.is_some_and(|rest| rest.starts_with(what))
    }

    /// The first and last token of the value at `at`: the quotes that touch it on both sides
    /// belong to it. Not straight double ones, which would have to be escaped within.
    fn quoted(&self, at: usize) -> (usize, usize) {
        let first = at.saturating_sub(1);
        let is_quote = |quote: usize, touches: bool| {
            touches
                && self.kind(Some(quote)) == Some(Kind::Quote)
                && !self.starts_with(quote, &['"'])
        };
        let both =
            is_quote(first, self.touch(first, at)) && is_quote(at + 1, self.touch(at, at + 1));
        if both { (first, at + 1) } else { (at, at) }
    }

    /// What stands right before or after the value at `at` and makes it a part.
    fn beside(&self, at: usize) -> Option<&'static str> {
        let (first, last) = self.quoted(at);
        let (before, on_line) = self.before(first);
        let starts_line = before.is_none_or(|before| !self.before(before).1);
        match self.kind(before) {
            Some(Kind::Scalar | Kind::Quote) => return Some(SECOND),
            Some(Kind::Sign(',')) => return Some(MEMBER),
            Some(Kind::Piece) if first > 0 && self.touch(first - 1, first) => return Some(SECOND),
            Some(Kind::Sign(c)) if on_line && !starts_line && is_operator(c) => {
                return Some(SECOND);
            }
            Some(Kind::Word(_) | Kind::Sign(')')) if self.is_subscript(at) => return Some(MEMBER),
            _ => {}
        }
        let (after, on_line) = self.after(last);
        let touches = self.touch(last, after);
        let touching_next = self.touch(after, after + 1);
        match self.kind(Some(after))? {
            Kind::Scalar | Kind::Quote => Some(SECOND),
            Kind::Sign('-')
                if touching_next && self.kind(Some(after + 1)) == Some(Kind::Scalar) =>
            {
                Some(SECOND)
            }
            Kind::Sign(',') if !self.is_sentence(after + 1) => Some(MEMBER),
            Kind::Sign(':' | '=') => Some(MEMBER),
            Kind::Sign(c) if on_line && is_operator(c) => Some(SECOND),
            // The same once more is no other.
            Kind::Value if touches && self.said(after) == self.said(at) => None,
            Kind::Value | Kind::Piece | Kind::Sign('(') if touches => Some(SECOND),
            Kind::Sign('.') if touches && touching_next => {
                matches!(self.kind(Some(after + 1)), Some(Kind::Word(_))).then_some(MEMBER)
            }
            _ => None,
        }
    }

    fn said(&self, at: usize) -> Option<&str> {
        self.tokens.get(at).and_then(|token| self.text.get(token.span.clone()))
    }

    /// `name[…]`; but `name[{…}]` is how some models call.
    fn is_subscript(&self, at: usize) -> bool {
        let list = self.said(at).and_then(|text| text.strip_prefix('['));
        at > 0
            && self.touch(at - 1, at)
            && list.is_some_and(|list| !list.trim_start().starts_with('{'))
    }

    /// Two words, or one and the end of a sentence.
    fn is_sentence(&self, at: usize) -> bool {
        let at = if self.kind(Some(at)) == Some(Kind::Break) { at + 1 } else { at };
        matches!(self.kind(Some(at)), Some(Kind::Word(_)))
            && match self.kind(Some(at + 1)) {
                Some(Kind::Word(_)) => true,
                Some(Kind::Sign('.' | '!' | '?')) => !self.touch(at + 1, at + 2),
                _ => false,
            }
    }

    /// The first value in a call that it isn't the only argument of, or in a call within another.
    fn call(&self) -> Option<(usize, &'static str)> {
        let (mut open, mut calls) = (Vec::new(), 0_usize);
        for (at, token) in self.tokens.iter().enumerate() {
            match token.kind {
                Kind::Sign('(') => {
                    let callee = at.checked_sub(1).filter(|&callee| self.touch(callee, at));
                    let is_call = matches!(
                        self.kind(callee),
                        Some(Kind::Word(_) | Kind::Piece | Kind::Sign(')'))
                    );
                    open.push(is_call);
                    calls += usize::from(is_call);
                }
                Kind::Sign(')') => calls -= usize::from(open.pop().unwrap_or(false)),
                Kind::Value if calls > 0 => {
                    let (first, last) = self.quoted(at);
                    let alone = self.kind(self.before(first).0) == Some(Kind::Sign('('))
                        && self.kind(Some(self.after(last).0)) == Some(Kind::Sign(')'));
                    if open.last() != Some(&true) || !alone {
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
