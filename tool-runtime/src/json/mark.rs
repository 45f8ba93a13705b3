//! Marks: the fences, tags and tokens that models set around a value. None of them holds a bracket
//! of JSON, so a mark never hides a part of a value.

/// Blocks whose text is the model talking to itself.
pub(super) const REASONING: [(&str, &str); 5] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
];

/// What stands at the start of a text, and how many bytes it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Fence(usize),
    Tag(usize),
    /// A whole block of reasoning.
    Reasoning(usize),
    /// Reasoning that never ends: up to the end of the text.
    ReasoningStart(usize),
    /// The end of reasoning that began before the text did.
    ReasoningEnd(usize),
}

impl Mark {
    /// The mark that `text` begins with. The language word belongs to an opening fence only.
    /// `steps` grows by the bytes looked at.
    pub(super) fn at(text: &str, in_fence: bool, steps: &mut usize) -> Option<Self> {
        let mark = match text.bytes().next()? {
            b'`' | b'~' => fence(text, in_fence),
            b'<' | b'[' => reasoning(text).or_else(|| tag(text, steps)),
            _ => None,
        }?;
        *steps += mark.len();
        Some(mark)
    }

    /// How many bytes it takes.
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

/// One backtick will do; tildes are a fence from three on.
fn fence(text: &str, in_fence: bool) -> Option<Mark> {
    let tick = text.chars().next()?;
    let run = text.len() - text.trim_start_matches(tick).len();
    if tick == '~' && run < 3 {
        return None;
    }
    let rest = text.get(run..)?;
    let takes_word = run >= 3 && !in_fence;
    Some(Mark::Fence(if takes_word { run + language(rest) } else { run }))
}

/// How long the language word is that `text` begins with: a word that is no value, with nothing
/// after it on its line, or a value.
fn language(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let len = text.len() - text.trim_start_matches(is_word).len();
    let (word, rest) = text.split_at_checked(len).unwrap_or_default();
    let ends = rest.trim_start_matches([' ', '\t', '\r']).starts_with(['\n', '{', '[']);
    let is_language = word.starts_with(char::is_alphabetic) && !is_literal(word) && ends;
    if is_language { len } else { 0 }
}

fn reasoning(text: &str) -> Option<Mark> {
    REASONING.iter().find_map(|(open, close)| {
        if text.starts_with(close) {
            return Some(Mark::ReasoningEnd(close.len()));
        }
        let inside = text.strip_prefix(open)?;
        Some(match inside.find(close) {
            Some(at) => Mark::Reasoning(open.len() + at + close.len()),
            None => Mark::ReasoningStart(text.len()),
        })
    })
}

/// `<name …>`, `</name>`, `<|token|>` with either kind of bar; `[NAME]` and `[/NAME]` in capitals.
fn tag(text: &str, steps: &mut usize) -> Option<Mark> {
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
    (is_name && rest.starts_with(close)).then_some(Mark::Tag(stop + 2))
}

/// The literals of JSON, and how Python writes them.
pub(super) fn is_literal(word: &str) -> bool {
    matches!(word, "true" | "false" | "null" | "True" | "False" | "None")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, in_fence: bool) -> Option<Mark> {
        Mark::at(text, in_fence, &mut 0)
    }

    #[test]
    fn marks_end_where_they_end() {
        assert_eq!(at("```json\n{}", false), Some(Mark::Fence(7)));
        assert_eq!(at("```json {", false), Some(Mark::Fence(7)));
        assert_eq!(at("```json", false), Some(Mark::Fence(3)));
        assert_eq!(at("```3\n", false), Some(Mark::Fence(3)));
        assert_eq!(at("```true\n", false), Some(Mark::Fence(3)));
        assert_eq!(at("```json \"a\"", false), Some(Mark::Fence(3)));
        assert_eq!(at("```Done", true), Some(Mark::Fence(3)));
        assert_eq!(at("`x`", false), Some(Mark::Fence(1)));
        assert_eq!(at("~~~~ json", false), Some(Mark::Fence(4)));
        assert_eq!(at("~ 3", false), None);
        assert_eq!(at("<tool_call>{}", false), Some(Mark::Tag(11)));
        assert_eq!(at("<｜tool▁sep｜>x", false), Some(Mark::Tag("<｜tool▁sep｜>".len())));
        assert_eq!(at("</s>", false), Some(Mark::Tag(4)));
        assert_eq!(at("[/TOOL_CALLS]", false), Some(Mark::Tag(13)));
        assert_eq!(at("<think>a</think>b", false), Some(Mark::Reasoning(16)));
        assert_eq!(at("<think>a", false), Some(Mark::ReasoningStart(8)));
        assert_eq!(at("</think>a", false), Some(Mark::ReasoningEnd(8)));
    }

    #[test]
    fn what_only_looks_like_a_mark_is_none() {
        for text in
            ["< 3", "<3>", "<a {}>", "<a\n>", "<a <b>", "<>", "[1]", "[A, B]", "[true]", "[A", "[]"]
        {
            assert_eq!(at(text, false), None, "{text}");
        }
    }
}
