//! Markup: the code fences, tags and special tokens that models put around a value. None of them
//! contains a JSON bracket, so markup never hides a part of a value.

/// The opening and closing tags of reasoning blocks.
pub(crate) const REASONING: [(&str, &str); 5] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
];

/// The markup at the start of a text, with its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    Fence(usize),
    Tag(usize),
    /// A complete block of reasoning.
    Reasoning(usize),
    /// Reasoning that never ends: everything up to the end of the text.
    ReasoningStart(usize),
    /// The end of reasoning that began before the text did.
    ReasoningEnd(usize),
}

impl Markup {
    /// Returns the markup that `text` begins with. Only an opening fence has a language word.
    /// `steps` grows by the bytes inspected.
    pub(super) fn at(text: &str, in_fence: bool, steps: &mut usize) -> Option<Self> {
        let markup = match text.bytes().next()? {
            b'`' | b'~' => parse_fence(text, in_fence),
            b'<' | b'[' => parse_reasoning(text).or_else(|| parse_tag(text, steps)),
            _ => None,
        }?;
        *steps += markup.len();
        Some(markup)
    }

    /// The length in bytes.
    pub(super) const fn len(self) -> usize {
        match self {
            Self::Fence(len)
            | Self::Tag(len)
            | Self::Reasoning(len)
            | Self::ReasoningStart(len)
            | Self::ReasoningEnd(len) => len,
        }
    }
}

/// Matches a run of backticks, or of at least three tildes.
fn parse_fence(text: &str, in_fence: bool) -> Option<Markup> {
    let tick = text.chars().next()?;
    let run = text.len() - text.trim_start_matches(tick).len();
    if tick == '~' && run < 3 {
        return None;
    }
    let rest = text.get(run..)?;
    let takes_word = run >= 3 && !in_fence;
    Some(Markup::Fence(if takes_word { run + language_len(rest) } else { run }))
}

/// The length of the language word that `text` begins with: a word that is not a value, followed by
/// the end of its line or by a value.
fn language_len(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let len = text.len() - text.trim_start_matches(is_word).len();
    let (word, rest) = text.split_at_checked(len).unwrap_or_default();
    let ends = rest.trim_start_matches([' ', '\t', '\r']).starts_with(['\n', '{', '[']);
    let is_language = word.starts_with(char::is_alphabetic) && !is_literal(word) && ends;
    if is_language { len } else { 0 }
}

fn parse_reasoning(text: &str) -> Option<Markup> {
    REASONING.iter().find_map(|(open, close)| {
        if text.starts_with(close) {
            return Some(Markup::ReasoningEnd(close.len()));
        }
        let inside = text.strip_prefix(open)?;
        Some(match inside.find(close) {
            Some(at) => Markup::Reasoning(open.len() + at + close.len()),
            None => Markup::ReasoningStart(text.len()),
        })
    })
}

/// Matches `<name …>`, `</name>` and `<|token|>` with either kind of bar; `[NAME]` and `[/NAME]` in
/// capitals.
fn parse_tag(text: &str, steps: &mut usize) -> Option<Markup> {
    let close = if text.starts_with('<') { '>' } else { ']' };
    let inside = text.get(1..)?;
    let stop = inside.find(['<', '>', '[', ']', '{', '}', '\n']);
    *steps += stop.unwrap_or(inside.len());
    let stop = stop?;
    let (name, rest) = inside.split_at_checked(stop)?;
    let bare = name.strip_prefix('/').unwrap_or(name);
    let is_name = if close == '>' {
        bare.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '|' | '｜'))
    } else {
        bare.starts_with(|c: char| c.is_ascii_uppercase())
            && bare.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
    };
    (is_name && rest.starts_with(close)).then_some(Markup::Tag(stop + 2))
}

/// Returns whether `word` is a literal of JSON, or Python's spelling of one.
pub(super) fn is_literal(word: &str) -> bool {
    matches!(word, "true" | "false" | "null" | "True" | "False" | "None")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, in_fence: bool) -> Option<Markup> {
        Markup::at(text, in_fence, &mut 0)
    }

    #[test]
    fn markup_length_is_exact() {
        assert_eq!(at("```json\n{}", false), Some(Markup::Fence(7)));
        assert_eq!(at("```json {", false), Some(Markup::Fence(7)));
        assert_eq!(at("```json", false), Some(Markup::Fence(3)));
        assert_eq!(at("```3\n", false), Some(Markup::Fence(3)));
        assert_eq!(at("```true\n", false), Some(Markup::Fence(3)));
        assert_eq!(at("```json \"a\"", false), Some(Markup::Fence(3)));
        assert_eq!(at("```Done", true), Some(Markup::Fence(3)));
        assert_eq!(at("`x`", false), Some(Markup::Fence(1)));
        assert_eq!(at("~~~~ json", false), Some(Markup::Fence(4)));
        assert_eq!(at("~ 3", false), None);
        assert_eq!(at("<tool_call>{}", false), Some(Markup::Tag(11)));
        assert_eq!(at("<｜tool▁sep｜>x", false), Some(Markup::Tag("<｜tool▁sep｜>".len())));
        assert_eq!(at("</s>", false), Some(Markup::Tag(4)));
        assert_eq!(at("[/TOOL_CALLS]", false), Some(Markup::Tag(13)));
        assert_eq!(at("<think>a</think>b", false), Some(Markup::Reasoning(16)));
        assert_eq!(at("<think>a", false), Some(Markup::ReasoningStart(8)));
        assert_eq!(at("</think>a", false), Some(Markup::ReasoningEnd(8)));
    }

    #[test]
    fn similar_text_is_not_markup() {
        for text in
            ["< 3", "<3>", "<a {}>", "<a\n>", "<a <b>", "<>", "[1]", "[A, B]", "[true]", "[A", "[]"]
        {
            assert_eq!(at(text, false), None, "{text}");
        }
    }
}
