//! Cuts the text around a value into tokens: words, signs, quotes, tags.

use std::ops::Range;

use super::{markup::is_literal, scan::Segment};
use crate::{FixKind, whitespace::is_json_whitespace};

/// A token of the text around the values, or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) span: Range<usize>,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
    Word(&'t str),
    /// A number or a literal.
    Scalar,
    /// A quote of any kind, or a string between two quotes.
    Quote,
    Sign(char),
    /// One or more line breaks.
    Break,
    /// The value, or a repetition of it.
    Value,
    /// Another bracketed text.
    Bracketed,
    /// An opening tag, `<name rest>`.
    OpenTag(&'t str, &'t str),
    /// A closing tag, `</name>`.
    CloseTag(&'t str),
}

impl<'t> Token<'t> {
    /// Tokenizes the segments around `value`. Fences, non-JSON whitespace and reasoning are
    /// skipped.
    pub(super) fn tokenize(text: &'t str, segments: &[Segment], value: &Range<usize>) -> Vec<Self> {
        let mut lexer = Lexer { text, tokens: Vec::new(), has_value: false };
        let mut at = 0;
        for segment in segments {
            let (span, slice) = (segment.span.clone(), text.get(segment.span.clone()));
            let slice = slice.unwrap_or_default();
            if text.get(at..span.start).is_some_and(|between| between.contains('\n')) {
                lexer.push(TokenKind::Break, at..span.start);
            }
            at = span.end;
            match segment.kind {
                Some(FixKind::Repeat) => lexer.push(TokenKind::Value, span),
                None if span == *value => lexer.push(TokenKind::Value, span),
                None if slice.starts_with('"') => lexer.push(TokenKind::Quote, span),
                None if !slice.starts_with(['{', '[']) => lexer.push(TokenKind::Scalar, span),
                None => lexer.push(TokenKind::Bracketed, span),
                Some(FixKind::Prose) if segment.is_bracketed => {
                    lexer.push(TokenKind::Bracketed, span)
                }
                Some(FixKind::Prose | FixKind::Call) => lexer.tokenize_prose(span),
                Some(FixKind::Tag) => lexer.tokenize_tags(span),
                Some(_) => {}
            }
        }
        lexer.tokens
    }

    /// Returns whether `next` follows directly.
    pub(super) fn touches(&self, next: &Self) -> bool {
        self.span.end == next.span.start
    }
}

/// The end of a message header, which names the recipient: `to=functions.search`.
const HEADER_END: &str = "<|message|>";

/// The tokens of a text around its values.
pub(super) struct SurroundingTokens<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: Vec<Token<'t>>,
}

impl<'t> SurroundingTokens<'t> {
    pub(super) fn kind(&self, at: Option<usize>) -> Option<TokenKind<'t>> {
        Some(self.tokens.get(at?)?.kind)
    }

    /// The token before `at`, and whether it is on the same line.
    pub(super) fn before(&self, at: usize) -> (Option<usize>, bool) {
        let last = at.checked_sub(1);
        match self.kind(last) {
            Some(TokenKind::Break) => (at.checked_sub(2), false),
            _ => (last, true),
        }
    }

    pub(super) fn after(&self, at: usize) -> (usize, bool) {
        match self.kind(Some(at + 1)) {
            Some(TokenKind::Break) => (at + 2, false),
            _ => (at + 1, true),
        }
    }

    pub(super) fn touch(&self, first: usize, second: usize) -> bool {
        let tokens = self.tokens.get(first).zip(self.tokens.get(second));
        tokens.is_some_and(|(first, second)| first.touches(second))
    }

    pub(super) fn token_text(&self, at: usize) -> Option<&str> {
        self.tokens.get(at).and_then(|token| self.text.get(token.span.clone()))
    }
}

/// Collects the tokens of the segments.
struct Lexer<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    has_value: bool,
}

impl<'t> Lexer<'t> {
    fn push(&mut self, kind: TokenKind<'t>, span: Range<usize>) {
        let repeats_break = kind == TokenKind::Break && self.last() == Some(TokenKind::Break);
        self.has_value |= kind == TokenKind::Value;
        if !repeats_break {
            self.tokens.push(Token { kind, span });
        }
    }

    fn last(&self) -> Option<TokenKind<'t>> {
        self.tokens.last().map(|last| last.kind)
    }

    fn tokenize_prose(&mut self, span: Range<usize>) {
        let mut at = span.start;
        while let Some(rest) = self.text.get(at..span.end)
            && let Some(first) = rest.chars().next()
        {
            let len = token_len(rest, first);
            let word = rest.get(..len).unwrap_or_default();
            let after = rest.get(len..).unwrap_or_default();
            let kind = match first {
                '\n' => Some(TokenKind::Break),
                c if is_json_whitespace(c) => None,
                c if is_quote(c) => Some(TokenKind::Quote),
                c if c.is_ascii_digit() => Some(TokenKind::Scalar),
                c if is_letter(c) && is_literal(word) => Some(TokenKind::Scalar),
                c if is_letter(c) => Some(TokenKind::Word(word)),
                '*' if len > 1 || self.is_emphasis(after) => None,
                c => Some(TokenKind::Sign(to_ascii(c))),
            };
            if let Some(kind) = kind {
                self.push(kind, at..at + len);
            }
            at += len;
        }
    }

    /// Returns whether the asterisk before `after` is emphasis, `*word*:`, not a multiplication.
    fn is_emphasis(&self, after: &str) -> bool {
        let closes = matches!(self.last(), Some(TokenKind::Word(_) | TokenKind::Sign(':')));
        after.starts_with(is_letter) || closes && !after.starts_with(['{', '['])
    }

    fn tokenize_tags(&mut self, span: Range<usize>) {
        let mut at = span.start;
        for tag in self.text.get(span).unwrap_or_default().split_inclusive('>') {
            let (start, end) = (at, at + tag.len());
            at = end;
            if tag.ends_with(HEADER_END) && !self.has_value {
                self.tokens.clear();
            }
            let Some(inside) = tag.trim_start_matches(is_json_whitespace).strip_prefix('<') else {
                continue;
            };
            let inside = inside.trim_end_matches('>');
            let (inside, closes) = match inside.strip_prefix('/') {
                Some(inside) => (inside, true),
                None => (inside, false),
            };
            let is_name = |c: char| is_letter(c) || c.is_ascii_digit() || "-:.".contains(c);
            let len = inside.find(|c| !is_name(c)).unwrap_or(inside.len());
            if let Some((name, rest)) = inside.split_at_checked(len)
                && !name.is_empty()
            {
                let name = name.rsplit(':').next().unwrap_or(name);
                let kind =
                    if closes { TokenKind::CloseTag(name) } else { TokenKind::OpenTag(name, rest) };
                self.push(kind, start..end);
            }
        }
    }
}

/// The length of the token at the start of `text`.
fn token_len(text: &str, first: char) -> usize {
    let mut len = first.len_utf8();
    let is_number = first.is_ascii_digit();
    if !is_number && !is_letter(first) {
        return match first {
            '*' => text.len() - text.trim_start_matches('*').len(),
            _ => len,
        };
    }
    let mut rest = text.chars().skip(1).peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let is_followed_by = |ok: fn(char) -> bool| next.is_some_and(ok);
        let continues = match c {
            '.' => is_number && is_followed_by(|c| c.is_ascii_digit()),
            '-' => !is_number && is_followed_by(char::is_alphanumeric),
            '\'' | '’' => !is_number && is_followed_by(char::is_alphabetic),
            c => is_letter(c) || c.is_numeric(),
        };
        if !continues {
            break;
        }
        len += c.len_utf8();
    }
    len
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !c.is_ascii_digit() || c == '_'
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '”' | '„' | '‘' | '’' | '‚' | '«' | '»' | '「' | '」')
}

/// Maps full-width signs to their ASCII equivalents.
const fn to_ascii(sign: char) -> char {
    match sign {
        '：' => ':',
        '，' | '、' => ',',
        '；' => ';',
        '＝' => '=',
        '（' => '(',
        '）' => ')',
        sign => sign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind<'_>> {
        let segment =
            Segment { kind: Some(FixKind::Prose), is_bracketed: false, span: 0..text.len() };
        let tokens = Token::tokenize(text, &[segment], &(0..0));
        tokens.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn prose_is_split_into_tokens() {
        use TokenKind::*;
        assert_eq!(
            kinds("it's max-2_a\n\n1.5."),
            [Word("it's"), Word("max-2_a"), Break, Scalar, Sign('.')]
        );
        assert_eq!(
            kinds("f（true， \"å\""),
            [Word("f"), Sign('('), Scalar, Sign(','), Quote, Word("å"), Quote]
        );
    }

    #[test]
    fn emphasis_is_skipped_but_multiplication_is_a_sign() {
        use TokenKind::*;
        assert_eq!(
            kinds("**a b:** *c*: 2 * 3"),
            [Word("a"), Word("b"), Sign(':'), Word("c"), Sign(':'), Scalar, Sign('*'), Scalar]
        );
    }
}
