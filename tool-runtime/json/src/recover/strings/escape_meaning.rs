//! Decides whether a backslash that begins no JSON escape belongs to the text.
//!
//! The backslash stays where its removal could change code or a command, and is removed only in
//! prose. If the model may not have intended it, it stays and is *doubtful*: a fix that tools with
//! side effects do not accept.
//!
//! | after the backslash | is it kept? |
//! |---|---|
//! | a curly quote | removed: no language escapes it |
//! | an apostrophe between the letters of a plain word, unless a member for code holds the text or another apostrophe in it may open a quote | removed |
//! | another apostrophe | kept if the text, which is no prose, also has one without a backslash; otherwise doubtful |
//! | a backtick | kept in a command, and like an apostrophe; otherwise doubtful |
//! | `$` | kept in a command or a pattern; otherwise doubtful |
//! | a character escape of another language: `\x41`, `\u{41}`, `\0`, `\e[`, a line break | kept in a member for code; otherwise doubtful |
//! | another letter or digit: `\d`, `\alpha`, `\U` | kept |
//! | another sign: `\(`, `\.`, `\;`, `\_` | doubtful in prose, unless a member for code holds it or the text is a pattern; otherwise kept |
//!
//! The words of the member's key decide whether it holds code ([`MemberUse`]). A text is prose if
//! two words stand side by side or if it has nothing but words, and a pattern if it has an escape
//! of a letter such as `\d`. In paths, everything is kept; but what may be a relative path or lines
//! of code, `rm\nit\x41`, is doubtful.

/// The longest part of a word before and after an apostrophe that is examined, in characters.
const MAX_WORD: usize = 64;

/// Words in the keys of members that hold commands of a shell.
const SHELL_WORDS: [&str; 8] =
    ["command", "commands", "cmd", "shell", "bash", "sh", "argv", "commandline"];
/// Words in the keys of members that hold patterns or formulas.
const PATTERN_WORDS: [&str; 7] = ["regex", "regexp", "pattern", "patterns", "tex", "latex", "glob"];
/// Words in the keys of members that hold other code.
const CODE_WORDS: [&str; 7] = ["code", "script", "sql", "program", "snippet", "source", "patch"];

/// The use of the member that holds a text, by the words of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::recover) enum MemberUse {
    Shell,
    Pattern,
    Code,
    #[default]
    Other,
}

impl MemberUse {
    pub(in crate::recover) fn of_key(key: &str) -> Self {
        let mut found = Self::Other;
        for word in words_of_key(key) {
            if SHELL_WORDS.contains(&word.as_str()) {
                return Self::Shell;
            }
            if PATTERN_WORDS.contains(&word.as_str()) {
                found = Self::Pattern;
            } else if CODE_WORDS.contains(&word.as_str()) && found == Self::Other {
                found = Self::Code;
            }
        }
        found
    }
}

/// The words of a key in lower case: `shellCommand`, `shell_command` and `shell-command` have two.
pub(in crate::recover) fn words_of_key(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in key.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// The decision about a backslash: it stays or is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::recover) enum EscapeMeaning {
    Kept,
    /// Kept, although it may be unintended.
    Doubtful,
    Removed,
}

/// The findings about a text that decide about its backslashes.
pub(in crate::recover) struct EscapeContext {
    member: MemberUse,
    is_prose: bool,
    is_pattern: bool,
    has_bare_apostrophe: bool,
    has_bare_backtick: bool,
}

impl EscapeContext {
    pub(in crate::recover) fn new(raw: &str, member: MemberUse) -> Self {
        let mut context = Self {
            member,
            is_prose: is_prose(raw),
            is_pattern: false,
            has_bare_apostrophe: false,
            has_bare_backtick: false,
        };
        let (mut before, mut chars) = (' ', raw.char_indices());
        while let Some((at, c)) = chars.next() {
            let after = raw.get(at + c.len_utf8()..).unwrap_or_default();
            match c {
                '\\' => {
                    context.is_pattern |= is_pattern_escape(after);
                    before = chars.next().map_or(' ', |(_, c)| c);
                    continue;
                }
                '\'' => {
                    let is_inside =
                        before.is_alphanumeric() && after.starts_with(char::is_alphanumeric);
                    context.has_bare_apostrophe |= !is_inside;
                }
                '`' => context.has_bare_backtick = true,
                _ => {}
            }
            before = c;
        }
        context
    }

    /// Decides about the backslash between `before` and `after`, the rest of the text.
    pub(in crate::recover) fn meaning(&self, before: &str, after: &str) -> EscapeMeaning {
        use EscapeMeaning::{Doubtful, Kept, Removed};
        use MemberUse::{Other, Pattern, Shell};
        let keep_if = |is_certain| if is_certain { Kept } else { Doubtful };
        let Some(c) = after.chars().next() else { return Kept };
        let is_code = self.member != Other;
        match c {
            '“' | '”' | '„' | '‘' | '’' => Removed,
            '\'' if !is_code && !self.has_bare_apostrophe && is_in_plain_word(before, after) => {
                Removed
            }
            '\'' => keep_if(self.has_bare_apostrophe && (is_code || !self.is_prose)),
            '`' => {
                let is_deliberate = self.has_bare_backtick && !self.is_prose;
                keep_if(self.member == Shell || is_deliberate)
            }
            '$' => keep_if(matches!(self.member, Shell | Pattern) || self.is_pattern),
            _ if is_character_escape(after) => keep_if(is_code),
            c if c.is_alphanumeric() => Kept,
            _ => keep_if(is_code || self.is_pattern || !self.is_prose),
        }
    }
}

/// Returns whether `text`, which follows a backslash, begins a character escape that other
/// languages have: `\x41`, `\u{41}`, `\u12`, `\U0001F600`, `\N{BULLET}`, `\0`, `\033`, `\e[`, `\a`,
/// or a line break.
pub(in crate::recover) fn is_character_escape(text: &str) -> bool {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return false };
    let rest = chars.as_str();
    let count = |is_digit: fn(&char) -> bool| rest.chars().take(9).take_while(is_digit).count();
    let hexadecimal = count(char::is_ascii_hexdigit);
    match first {
        'x' => hexadecimal >= 2,
        'u' => {
            hexadecimal >= 4
                || hexadecimal > 0 && ends_word(rest, hexadecimal)
                || rest.starts_with('{')
        }
        'U' => hexadecimal >= 8,
        'N' => rest.starts_with('{'),
        'a' | 'v' => !rest.starts_with(char::is_alphanumeric),
        'e' => rest.starts_with('['),
        '0' => true,
        '1'..='3' => count(|c| matches!(c, '0'..='7')) >= 2,
        c => c.is_control(),
    }
}

fn ends_word(text: &str, at: usize) -> bool {
    !text.get(at..).unwrap_or_default().starts_with(char::is_alphanumeric)
}

/// Returns whether a letter follows that no language escapes, as in patterns and formulas: `\d`,
/// `\alpha`.
fn is_pattern_escape(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() && !"nrtbfu".contains(c))
        && !is_character_escape(text)
}

/// Returns whether the apostrophe at the start of `after` stands between letters, in a word that
/// has nothing else.
fn is_in_plain_word(before: &str, after: &str) -> bool {
    let inside = after.get(1..).unwrap_or_default();
    if !before.ends_with(char::is_alphabetic) || !inside.starts_with(char::is_alphabetic) {
        return false;
    }
    let is_of_word = |c: &char| !c.is_whitespace();
    let start = before.chars().rev().take_while(is_of_word).take(MAX_WORD).collect::<Vec<_>>();
    let end = after.chars().take_while(is_of_word).take(MAX_WORD);
    let word: String = start.into_iter().rev().chain(end).collect();
    // Several apostrophes may be in one word, so that only a part of a long one is examined.
    is_plain_word(&word)
}

/// Returns whether `raw` is prose: two of its words stand side by side, or it has nothing else.
fn is_prose(raw: &str) -> bool {
    let (mut was_plain, mut has_other) = (false, false);
    for word in raw.split_whitespace().filter(|word| *word != r"\&") {
        let is_plain = is_plain_word(word);
        if is_plain && was_plain {
            return true;
        }
        has_other |= !is_plain;
        was_plain = is_plain;
    }
    !has_other || !raw.contains(char::is_alphanumeric)
}

/// Returns whether `word` consists of letters and digits, apart from backslashes, from marks around
/// it, and from hyphens, ampersands and apostrophes inside.
fn is_plain_word(word: &str) -> bool {
    let word: String = word.chars().filter(|c| *c != '\\').collect();
    let inner = word
        .trim_start_matches(['(', '"', '“', '‘', '\'', '`', '*', '_', '#', '$'])
        .trim_end_matches(|c: char| ".,;:!?)\"”’'`…*_%".contains(c));
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '_' | '&');
    inner.starts_with(char::is_alphanumeric) && inner.chars().all(is_inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The meaning of the first backslash in `raw`.
    fn meaning(key: &str, raw: &str) -> EscapeMeaning {
        let (before, after) = raw.split_once('\\').unwrap();
        EscapeContext::new(raw, MemberUse::of_key(key)).meaning(before, after)
    }

    #[test]
    fn meaning_depends_on_member_and_text() {
        use EscapeMeaning::{Doubtful, Kept, Removed};
        for (key, raw, expected) in [
            // Prose.
            ("note", r"it\'s Oslo", Removed),
            ("name", r"O\'Brien", Removed),
            ("note", r"the dogs\' bones", Doubtful),
            ("note", r"\'hello\' he said", Doubtful),
            ("note", r"he said 'it\'s' twice", Doubtful),
            ("note", r"use \`foo\` here", Doubtful),
            ("note", r"it costs \$5", Doubtful),
            ("note", r"see \(1\) now", Doubtful),
            ("note", r"100\%", Doubtful),
            ("note", r"rock \& roll", Doubtful),
            ("note", r"R\&D", Doubtful),
            ("run", r"sleep.sh \& wait.sh", Kept),
            ("note", r"snake\_case and \*stars\*", Doubtful),
            ("note", r"ol\xe9 in Seville", Doubtful),
            ("note", r"a smile \u{1F600}", Doubtful),
            ("note", "first \\\n second", Doubtful),
            ("note", r"say \“hi\”", Removed),
            // Commands.
            ("command", r#"git commit -m "fix \`foo\`""#, Kept),
            ("shell_command", r"echo \$HOME", Kept),
            ("bashCommand", r"find . \( -name x \)", Kept),
            ("cmd", r"printf \x41", Kept),
            ("command", r"echo it\'s", Doubtful),
            ("command", r"echo 'it'\''s'", Kept),
            ("command", "ls \\\n -l", Kept),
            // Patterns and formulas.
            ("pattern", r"\$\d+", Kept),
            ("find", r"\d+\$", Kept),
            ("find", r"\[x\]\(y\)", Kept),
            ("regex", r"[\x00-\x1f]", Kept),
            ("tex", r"\alpha", Kept),
            ("group", r"(a)\1", Kept),
            // Other code.
            ("code", r"const s = \`hi\`", Doubtful),
            ("code", r"print(\'hi\')", Doubtful),
            ("code", r"print('don\'t')", Kept),
            ("content", r#"console.log("it\'s")"#, Doubtful),
            ("content", r"x = 'it\'s'", Kept),
            ("content", r"cost: \${x}", Doubtful),
            ("text", r"cat it\'s.txt", Doubtful),
        ] {
            assert_eq!(meaning(key, raw), expected, "{key}: {raw}");
        }
    }

    #[test]
    fn key_words_are_split_by_case_and_separators() {
        for (key, expected) in [
            ("command", MemberUse::Shell),
            ("shellCommand", MemberUse::Shell),
            ("SHELL_COMMAND", MemberUse::Shell),
            ("python-code", MemberUse::Code),
            ("codePattern", MemberUse::Pattern),
            ("commander", MemberUse::Other),
            ("decode", MemberUse::Other),
            ("", MemberUse::Other),
        ] {
            assert_eq!(MemberUse::of_key(key), expected, "{key}");
        }
    }
}
