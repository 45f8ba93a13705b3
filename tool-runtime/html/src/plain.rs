//! Reduces HTML to its text without a tree, in one pass over its tokens.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use crate::hidden::HidingStyles;
use crate::long_tags::shorten_tags;

/// Elements whose content is not text.
const SKIPPED: [&str; 3] = ["script", "style", "template"];

/// Elements without content.
const VOID: [&str; 13] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
    "wbr",
];

/// Elements within a line.
const INLINE: [&str; 16] = [
    "a", "abbr", "b", "cite", "code", "em", "font", "i", "kbd", "mark", "small", "span", "strong",
    "sub", "sup", "u",
];

/// Returns the text of a page that a reader sees, with a line break for each element that is not
/// within a line, and whether text was left out because the page hides it.
pub(crate) fn plain_text(html: &str) -> (String, bool) {
    let html = &shorten_tags(html);
    let styles = tokenize(html, Sink::default()).styles;
    let state = tokenize(html, Sink { styles, reads_text: true, ..Sink::default() });
    (state.text.trim().to_owned(), state.has_hidden)
}

fn tokenize(html: &str, sink: Sink) -> Sink {
    let tokenizer = Tokenizer::new(TokenReader(RefCell::new(sink)), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    // The reader pauses for nothing, so that all input is read.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let mut sink = tokenizer.sink.0.into_inner();
    // The end of the page ends a style, too.
    sink.end_style();
    sink
}

/// Collects the styles of a page, or its text.
#[derive(Default)]
struct Sink {
    styles: HidingStyles,
    reads_text: bool,
    text: String,
    has_hidden: bool,
    /// The element that is left out.
    skipped: Option<Skipped>,
}

struct Skipped {
    name: String,
    /// The number of elements of the same name within it that are open.
    depth: usize,
    is_hidden: bool,
}

impl Sink {
    fn open(&mut self, tag: &Tag) {
        let name: &str = &tag.name;
        if let Some(skipped) = &mut self.skipped {
            // A paragraph ends where the next one begins.
            if skipped.name != name {
                return;
            } else if name != "p" {
                skipped.depth += 1;
                return;
            }
            self.skipped = None;
        }
        if VOID.contains(&name) {
            return self.end_line(name);
        }
        let attributes = tag.attrs.iter().map(|it| (&*it.name.local, &*it.value));
        let is_hidden = self.reads_text && self.styles.hide(name, attributes);
        let is_skipped = SKIPPED.contains(&name);
        if !is_skipped {
            self.end_line(name);
        }
        if is_hidden || is_skipped {
            self.skipped = Some(Skipped { name: name.to_owned(), depth: 0, is_hidden });
        }
    }

    fn close(&mut self, name: &str) {
        match &mut self.skipped {
            Some(skipped) if skipped.name != name => {}
            Some(skipped) if skipped.depth > 0 => skipped.depth -= 1,
            Some(_) => self.skipped = None,
            None => self.end_line(name),
        }
    }

    fn end_line(&mut self, name: &str) {
        if !INLINE.contains(&name) && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Adds text with its white space folded, or a part of a style.
    fn push(&mut self, source: &str) {
        match &self.skipped {
            Some(skipped) => {
                self.has_hidden |= skipped.is_hidden && !source.trim().is_empty();
                if skipped.name == "style" && !self.reads_text {
                    self.text.push_str(source);
                }
            }
            None if self.reads_text => {
                for word in source.split_inclusive(|c: char| c.is_whitespace()) {
                    let trimmed = word.trim_end();
                    self.text.push_str(trimmed);
                    if trimmed.len() < word.len()
                        && !self.text.ends_with([' ', '\n'])
                        && !self.text.is_empty()
                    {
                        self.text.push(' ');
                    }
                }
            }
            None => {}
        }
    }

    fn end_style(&mut self) {
        if !self.reads_text {
            self.styles.add(&std::mem::take(&mut self.text));
        }
    }
}

/// Receives the tokens of a page.
struct TokenReader(RefCell<Sink>);

impl TokenSink for TokenReader {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut sink = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => sink.push(&text),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                sink.open(&tag);
                // The content of these elements has no tags.
                return match &*tag.name {
                    "script" => TokenSinkResult::RawData(ScriptData),
                    "style" | "xmp" | "iframe" | "noembed" | "noframes" => {
                        TokenSinkResult::RawData(Rawtext)
                    }
                    "title" | "textarea" => TokenSinkResult::RawData(Rcdata),
                    "plaintext" => TokenSinkResult::Plaintext,
                    _ => TokenSinkResult::Continue,
                };
            }
            Token::TagToken(tag) => {
                sink.close(&tag.name);
                if &*tag.name == "style" {
                    sink.end_style();
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn text_has_lines_and_no_markup() {
        let html = "<title>A &amp; b</title><script>var a = '<p>';</script><h1>One</h1>\n<p>two  \
            <b>three</b> 4 < 5<br>six<!-- seven --><p title='>'>eight";
        assert_eq!(plain_text(html), ("A & b\nOne\ntwo three 4 < 5\nsix\neight".into(), false));
    }

    #[test]
    fn hidden_elements_are_left_out() {
        for (html, text) in [
            ("a<p hidden>b</p>c", "a\nc"),
            ("a<p title='>' style='opacity:0'>b</p>c", "a\nc"),
            ("a<div aria-hidden=true><div>b</div>b</div>c", "a\nc"),
            ("a<p hidden>b<p>c", "a\nc"),
            ("a<i class=x>b</i>c<style>.x{font-size:0}</style>", "ac"),
            ("a<br hidden>c<span style=display:none>b", "a\nc"),
        ] {
            assert_eq!(plain_text(html), (text.to_owned(), true), "{html}");
        }
        assert_eq!(plain_text("a<i aria-hidden=true></i>"), ("a".to_owned(), false));
    }
}
