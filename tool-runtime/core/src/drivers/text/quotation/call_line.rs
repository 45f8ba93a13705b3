//! The line on which a call stands. A call that begins in the middle of an open sentence, or that
//! the line continues, may be quoted: `**<call>**`, `x = <call>`, `Should I run <call>?`.
//!
//! The rules examine punctuation and letter case alone, so they hold in all languages.

use crate::drivers::text::NoMatch;
use crate::drivers::text::grammar::first_line;
use crate::drivers::text::quotation::lead_in_words::LEAD_IN_WORDS;

/// Signs that end a sentence.
const SENTENCE_ENDS: [char; 9] = ['.', '!', '?', '…', '。', '！', '？', ':', '：'];
/// Signs that may follow the end of a sentence.
const CLOSERS: [char; 9] = ['"', '\'', ')', '”', '’', '»', '*', '_', '`'];
/// Signs that annotate what precedes them: `<call> # wrong`, `<call> (an example)`.
const ANNOTATIONS: &str = "(#/%=;:,?|&+*_~^-–—←→⇐⇒}])>…";
/// Words that servers leave of the next message when they remove its special tokens.
const ROLES: [&str; 4] = ["user", "system", "tool", "model"];
/// Beginnings of the next call, and of a message without its special tokens.
const NEXT_CALLS: [&str; 7] = [
    "assistant",
    "functools[",
    "function call<|",
    "commentary to=",
    "analysis to=",
    "to=functions",
    "call:",
];
/// The length of the shortest word with a full stop in it that is no abbreviation, in bytes.
const MAX_ABBREVIATION_LEN: usize = 6;
/// The longest text after a call that is examined, in bytes.
const MAX_AFTER_LEN: usize = 64;
/// The longest word after a call that is compared with the roles, in bytes.
const MAX_WORD_LEN: usize = 16;

/// Returns true if `line`, which precedes a call, is an open sentence, or no sentence at all.
pub(crate) fn is_open(line: &str) -> bool {
    let line = line.trim();
    let text = line.trim_end_matches(CLOSERS);
    let Some(last) = text.chars().next_back().or_else(|| line.chars().next_back()) else {
        return false;
    };
    if !line.contains(char::is_alphabetic) {
        return !is_smiley(line);
    }
    let last_word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_arrow = line.ends_with("->") && !line.ends_with("-->");
    let is_tag = last == '>' && line.contains('<') && !is_arrow;
    // `i.e.` ends no sentence.
    let word = last_word.strip_suffix('.').unwrap_or_default();
    let is_abbreviation = word.contains('.') && word.len() < MAX_ABBREVIATION_LEN;
    let is_closed = SENTENCE_ENDS.contains(&last) && !is_abbreviation
        || is_tag
        || is_pictograph(last)
        || is_smiley(last_word)
        || is_smiley(line.rsplit(char::is_whitespace).next().unwrap_or_default())
        || LEAD_IN_WORDS.contains(&last_word.trim_end_matches(',').to_lowercase().as_str());
    !is_closed
}

/// Returns true for `:(` and the like.
fn is_smiley(word: &str) -> bool {
    let mut chars = word.chars();
    matches!(chars.next(), Some(':' | ';' | '=' | '8'))
        && word.len() <= 3
        && chars.next_back().is_some_and(|c| "()DPp/|".contains(c))
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}' | '\u{fe0f}')
}

/// Returns true if the line of a call continues after it, in `text`, as the same sentence or with a
/// note about the call.
pub(crate) fn continues(text: &str, is_complete: bool) -> Result<bool, NoMatch> {
    let (line, _) = first_line(text, MAX_AFTER_LEN);
    let is_whole = is_complete || line.len() < text.len();
    let rest = line.trim_start_matches([' ', '\t', '\r', '\u{a0}', '\u{3000}']);
    // Calls may be in a list.
    let next = rest.trim_start_matches([',', ';', ' ']);
    if !is_whole && (next.chars().count() < 2 || NEXT_CALLS.iter().any(|it| it.starts_with(rest))) {
        return Err(NoMatch::Incomplete);
    }
    let is_markup = next.starts_with(['<', '[', '{', '`'])
        && !next.starts_with("<-")
        && !next.starts_with("[/");
    if is_markup || NEXT_CALLS.iter().any(|start| rest.starts_with(start)) {
        return Ok(false);
    }
    let Some(first) = rest.chars().next() else { return Ok(false) };
    if first.is_lowercase() {
        return is_word_of_sentence(rest, is_whole);
    }
    let is_adjacent = rest.len() == line.len();
    Ok(first == '<'
        || ANNOTATIONS.contains(first)
        || is_adjacent && (is_closing_mark(first) || first == '['))
}

/// Returns true if a line directly above a call begins a block of code or quoted text:
/// `\begin{verbatim}`, `[code]`, `#+BEGIN_SRC`, `example: |`, `cat <<EOF`.
pub(crate) fn begins_block(line: &str) -> bool {
    let line = line.trim();
    let is_fence = line.starts_with("```") || line.starts_with("~~~");
    let has_words = line.contains(char::is_alphabetic);
    has_words
        && !is_fence
        && (line.starts_with(['[', '{', '\\', '@', '=', '!', '|', '%'])
            || ["#+", ".. ", "BEGIN ", "-----BEGIN"].iter().any(|start| line.starts_with(start))
            || line.ends_with(['|', '{', '[', '=', '\\'])
            || line.ends_with("::")
            || line.contains("<<"))
}

/// Returns true if a call stands between two lines of the same signs, which are around a block:
/// `----`. The first is directly above the call, and `text` follows it.
pub(crate) fn is_between_rules(line: &str, text: &str, is_complete: bool) -> Result<bool, NoMatch> {
    let line = line.trim();
    let is_sign = |c: char| c.is_ascii_punctuation() && !matches!(c, '`' | '.');
    let is_rule = line.len() > 2 && line.chars().all(|c| is_sign(c) || c == '.' && line.len() > 3);
    if !is_rule {
        return Ok(false);
    }
    let rest = text.trim_start();
    let max_len = line.len() + MAX_AFTER_LEN;
    let (next, is_ended) = first_line(rest, max_len);
    if !is_complete && !is_ended && rest.len() < max_len {
        return Err(NoMatch::Incomplete);
    }
    Ok((is_ended || next.len() == rest.len()) && next.trim() == line)
}

/// Returns true for a mark that closes what was opened before the call.
fn is_closing_mark(c: char) -> bool {
    matches!(c, '"' | '\'' | '”' | '’' | '“' | '‘' | '»' | '›' | '」' | '』' | '】' | '》' | '）')
        || matches!(c, '´' | '′' | '″' | '＂' | '〉' | '］' | '｝' | '〕')
}

/// Returns true unless the first word of `rest` is a role.
fn is_word_of_sentence(rest: &str, is_whole: bool) -> Result<bool, NoMatch> {
    let end = rest.find(|c: char| !c.is_alphabetic());
    let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    if end.is_none() && !is_whole && word.len() < MAX_WORD_LEN {
        return Err(NoMatch::Incomplete);
    }
    Ok(!ROLES.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::{NoMatch, begins_block, continues, is_between_rules, is_open};

    #[test]
    fn sentence_before_a_call_is_open_until_it_ends() {
        for line in [
            "Write ",
            "x = ",
            "**",
            "- ",
            "a -> ",
            "[",
            "See https://x.io // ",
            "$ ",
            "✅ ",
            "Should I run ",
            "请写",
            "1,2,",
            "I ran",
            "INFO ",
            "so, i.e. ",
            "d.h. ",
        ] {
            assert!(is_open(line), "{line}");
        }
        for line in [
            "",
            "Fine. ",
            "So ",
            "One moment! 😊 ",
            "\"Fine.\" ",
            "**Done.** ",
            "Now, ",
            "Sorry :( ",
            "好的。",
            "So: ",
            "<b>Now</b> ",
            "A 5\" pipe, so ",
            "(Fine.) ",
            "<!-- so --> ",
            "See example.com. ",
        ] {
            assert!(!is_open(line), "{line}");
        }
    }

    #[test]
    fn line_continues_after_a_call_with_a_sentence_or_a_note() {
        for after in [
            "**",
            "_",
            "~~",
            "]",
            "](x)",
            "}",
            ")",
            "\"",
            "?",
            "|",
            ", which",
            " and it failed",
            " (example)",
            " <- wrong",
            " ← wrong",
            " # so",
            " // so",
            " - an example",
            " = form",
            ": so",
            " in Zukunft",
            "[/quote]",
            "】",
            "'",
        ] {
            assert_eq!(continues(after, true), Ok(true), "{after}");
        }
        for after in [
            "",
            "\n",
            " \nso",
            ".",
            ". And",
            " I wrote it.",
            "<b>",
            "```",
            " [TOOL_CALLS]",
            " {",
            "assistant\nsays",
            "user",
            " 😊",
            " 好的",
            "I wrote it.",
            " \"Quoted\" text",
        ] {
            assert_eq!(continues(after, true), Ok(false), "{after}");
        }
    }

    #[test]
    fn decision_waits_for_the_rest_of_the_line() {
        for after in ["", " ", "(", " (", "assis", " is", "func"] {
            assert_eq!(continues(after, false), Err(NoMatch::Incomplete), "{after}");
        }
        for (after, expected) in [("\n", false), ("**", true), (" is ", true), ("user ", false)] {
            assert_eq!(continues(after, false), Ok(expected), "{after}");
        }
    }

    #[test]
    fn block_begins_on_the_line_above() {
        for line in [
            "#+BEGIN_SRC xml",
            "\\begin{verbatim}",
            "[code]",
            "{code}",
            "=begin",
            "BEGIN QUOTE",
            "-----BEGIN MESSAGE-----",
            "cat <<'EOF' > x",
            "example: |",
            "!!! note",
            "The form is::",
            ".. code-block:: xml",
            "x = {",
        ] {
            assert!(begins_block(line), "{line}");
        }
        for line in [
            "",
            "Fine.",
            "One moment",
            "- second",
            "```",
            "```rust",
            "**Now**",
            "/* so */",
            "----",
            "`x` and `y`",
            "<b>Now</b>",
            "I'll write it:",
            "A 24\" screen",
        ] {
            assert!(!begins_block(line), "{line}");
        }
    }

    #[test]
    fn rules_above_and_below_a_call_are_a_block() {
        for (line, after, expected) in [
            ("----", "\n----\nShall I?", Ok(true)),
            ("....", "\n....", Ok(true)),
            ("***", "\n\n***", Ok(true)),
            ("---", "\nShall I?", Ok(false)),
            ("...", "\n...", Ok(false)),
            ("```", "\n```", Ok(false)),
            ("", "\n", Ok(false)),
            ("Fine.", "\nFine.", Ok(false)),
        ] {
            assert_eq!(is_between_rules(line, after, true), expected, "{line} {after}");
        }
        assert_eq!(is_between_rules("---", "\n--", false), Err(NoMatch::Incomplete));
        assert_eq!(is_between_rules("---", "\n---\n", false), Ok(true));
    }
}
