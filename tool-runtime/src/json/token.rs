//! The text around a value as tokens: words, signs, quotes, tags.

use std::ops::Range;

use super::{FixKind, blank::is_blank, mark::is_literal, scan::Part};

/// One token of the text around the values, or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'t> {
    Word(&'t str),
    /// A number or a literal.
    Scalar,
    /// A quote of any kind, or a string between two of them.
    Quote,
    Sign(char),
    /// One line break or more.
    Break,
    /// What the text may be read as.
    Value,
    /// Other brackets, and what is in them.
    Piece,
    /// `<name rest>`.
    Open(&'t str, &'t str),
    /// `</name>`.
    Close(&'t str),
}

impl<'t> Token<'t> {
    /// Cuts up what `parts` say is around `value`. Fences, odd blanks and reasoning are no tokens.
    pub(super) fn all(text: &'t str, parts: &[Part], value: &Range<usize>) -> Vec<Self> {
        let mut lexer = Lexer { text, tokens: Vec::new(), has_value: false };
        let mut at = 0;
        for part in parts {
            let (span, within) = (part.span.clone(), text.get(part.span.clone()));
            let within = within.unwrap_or_default();
            if text.get(at..span.start).is_some_and(|between| between.contains('\n')) {
                lexer.push(Kind::Break, at..span.start);
            }
            at = span.end;
            match part.kind {
                Some(FixKind::Repeat) => lexer.push(Kind::Value, span),
                None if span == *value => lexer.push(Kind::Value, span),
                None if within.starts_with('"') => lexer.push(Kind::Quote, span),
                None if !within.starts_with(['{', '[']) => lexer.push(Kind::Scalar, span),
                None => lexer.push(Kind::Piece, span),
                Some(FixKind::Prose) if part.is_piece => lexer.push(Kind::Piece, span),
                Some(FixKind::Prose | FixKind::Call) => lexer.prose(span),
                Some(FixKind::Tag) => lexer.tags(span),
                Some(_) => {}
            }
        }
        lexer.tokens
    }

    /// Whether there is nothing between this and `next`.
    pub(super) fn touches(&self, next: &Self) -> bool {
        self.span.end == next.span.start
    }
}

/// Before it stands to whom the message goes, as `to=functions.search`.
const HEADER_END: &str = "<|message|>";

struct Lexer<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    has_value: bool,
}

impl<'t> Lexer<'t> {
    fn push(&mut self, kind: Kind<'t>, span: Range<usize>) {
        let again = kind == Kind::Break && self.last() == Some(Kind::Break);
        self.has_value |= kind == Kind::Value;
        if !again {
            self.tokens.push(Token { kind, span });
        }
    }

    fn last(&self) -> Option<Kind<'t>> {
        self.tokens.last().map(|last| last.kind)
    }

    fn prose(&mut self, span: Range<usize>) {
        let mut at = span.start;
        while let Some(rest) = self.text.get(at..span.end)
            && let Some(first) = rest.chars().next()
        {
            let len = run(rest, first);
            let word = rest.get(..len).unwrap_or_default();
            let after = rest.get(len..).unwrap_or_default();
            let kind = match first {
                '\n' => Some(Kind::Break),
                c if is_blank(c) => None,
                c if is_quote(c) => Some(Kind::Quote),
                c if c.is_ascii_digit() => Some(Kind::Scalar),
                c if is_letter(c) && is_literal(word) => Some(Kind::Scalar),
                c if is_letter(c) => Some(Kind::Word(word)),
                '*' if len > 1 || self.is_emphasis(after) => None,
                c => Some(Kind::Sign(narrow(c))),
            };
            if let Some(kind) = kind {
                self.push(kind, at..at + len);
            }
            at += len;
        }
    }

    /// Whether the asterisk before `after` is that of `*word*:`, not one between two values.
    fn is_emphasis(&self, after: &str) -> bool {
        let closes = matches!(self.last(), Some(Kind::Word(_) | Kind::Sign(':')));
        after.starts_with(is_letter) || closes && !after.starts_with(['{', '['])
    }

    fn tags(&mut self, span: Range<usize>) {
        let mut at = span.start;
        for tag in self.text.get(span).unwrap_or_default().split_inclusive('>') {
            let (start, end) = (at, at + tag.len());
            at = end;
            if tag.ends_with(HEADER_END) && !self.has_value {
                self.tokens.clear();
            }
            let Some(inside) = tag.trim_start_matches(is_blank).strip_prefix('<') else {
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
                let kind = if closes { Kind::Close(name) } else { Kind::Open(name, rest) };
                self.push(kind, start..end);
            }
        }
    }
}

/// How long the token is that `text` begins with.
fn run(text: &str, first: char) -> usize {
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
        let goes_on = |ok: fn(char) -> bool| next.is_some_and(ok);
        let in_it = match c {
            '.' => is_number && goes_on(|c| c.is_ascii_digit()),
            '-' => !is_number && goes_on(char::is_alphanumeric),
            '\'' | '’' => !is_number && goes_on(char::is_alphabetic),
            c => is_letter(c) || c.is_numeric(),
        };
        if !in_it {
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

/// Wide signs are the same signs.
const fn narrow(sign: char) -> char {
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

    fn kinds(text: &str) -> Vec<Kind<'_>> {
        let part = Part { kind: Some(FixKind::Prose), is_piece: false, span: 0..text.len() };
        let tokens = Token::all(text, &[part], &(0..0));
        tokens.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn words_numbers_and_signs() {
        use Kind::*;
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
    fn emphasis_is_nothing_and_a_product_is() {
        use Kind::*;
        assert_eq!(
            kinds("**a b:** *c*: 2 * 3"),
            [Word("a"), Word("b"), Sign(':'), Word("c"), Sign(':'), Scalar, Sign('*'), Scalar]
        );
    }
}
