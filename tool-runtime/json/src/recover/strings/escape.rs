//! Decodes the escapes of a string.

use super::escape_meaning::{EscapeContext, EscapeMeaning, MemberUse, is_character_escape};
use crate::recover::source::QuoteStyle;

/// The content of a string, and the problems with its escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::recover) struct Unescaped {
    pub(in crate::recover) text: String,
    /// A backslash is not an escape.
    pub(in crate::recover) has_invalid_escape: bool,
    /// A backslash is not an escape, and may not be part of the text.
    pub(in crate::recover) has_doubtful_escape: bool,
    /// A backslash before a quote that does not delimit the string was removed.
    pub(in crate::recover) has_foreign_quote: bool,
    /// A backslash precedes a quote that delimits the string, where JSON has no such escape.
    has_escaped_delimiter: bool,
    /// The string ends inside an escape, which is dropped.
    pub(in crate::recover) is_truncated: bool,
}

/// Decodes `raw`, the content of a string with these quotes, in a member of this use. A backslash
/// that is not an escape is kept or removed as [`escape_meaning`](super::escape_meaning) says.
///
/// If one escape of the string is invalid, others are kept as text too: in a path,
/// `C:\new\temp\Users`, all except a doubled backslash and a quote; in a formula,
/// `\alpha \times \nu`, the TeX commands that begin like an escape; backspace and form feed always.
pub(in crate::recover) fn unescape(
    raw: &str,
    style: QuoteStyle,
    is_truncated: bool,
    member: MemberUse,
) -> Unescaped {
    let plain = unescape_as(raw, style, is_truncated, None);
    if !plain.has_invalid_escape && !plain.has_escaped_delimiter {
        return plain;
    }
    let context = EscapeContext::new(raw, member);
    unescape_as(raw, style, is_truncated, Some(&context))
}

impl Unescaped {
    /// Adds `c` and the invalid backslash before it, unless that is removed.
    fn push_invalid(&mut self, c: char, meaning: Option<EscapeMeaning>) {
        match meaning {
            None | Some(EscapeMeaning::Kept) => self.has_invalid_escape = true,
            Some(EscapeMeaning::Doubtful) => self.has_doubtful_escape = true,
            Some(EscapeMeaning::Removed) => self.has_foreign_quote = true,
        }
        if meaning != Some(EscapeMeaning::Removed) {
            self.text.push('\\');
        }
        self.text.push(c);
    }
}

/// Returns whether `c` delimits strings of this style, so that it is escaped in them.
fn is_own_quote(c: char, style: QuoteStyle) -> bool {
    let is_wide = matches!(style, QuoteStyle::WideDouble | QuoteStyle::WideSingle);
    QuoteStyle::of(c).is_some_and(|quote| quote == style || is_wide && style.closes(quote))
}

/// TeX commands that begin with `\n`, `\r` or `\t`.
const COMMANDS: [&str; 34] = [
    "nabla",
    "ne",
    "neq",
    "neg",
    "nexists",
    "ni",
    "not",
    "notin",
    "nu",
    "rangle",
    "rceil",
    "rfloor",
    "rho",
    "right",
    "rightarrow",
    "rm",
    "tan",
    "tanh",
    "tau",
    "text",
    "textbf",
    "textit",
    "textrm",
    "texttt",
    "tfrac",
    "theta",
    "tilde",
    "times",
    "to",
    "top",
    "triangle",
    "tag",
    "ref",
    "root",
];

/// Returns whether `text`, which follows a backslash, begins with a TeX command.
fn is_command(text: &str) -> bool {
    let len = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.get(..len).is_some_and(|word| COMMANDS.contains(&word))
}

/// Returns whether an invalid escape is a command of several letters, as in TeX but not in a
/// pattern.
fn is_formula(raw: &str) -> bool {
    let mut rest = raw;
    while let Some((_, after)) = rest.split_once('\\') {
        let len = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let is_escape = after.starts_with(['n', 't', 'r', 'u', 'b', 'f']);
        let is_math = matches!(after.get(..len), Some("frac" | "beta" | "begin" | "bar" | "binom"));
        if len > 1 && !is_escape || is_math {
            return true;
        }
        rest = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
    }
    false
}

/// Returns whether `raw` is a relative path: only names and single backslashes, `src\new\Util.rs`.
fn is_relative(raw: &str) -> bool {
    let raw =
        ["..\\", ".\\", "~\\"].iter().find_map(|start| raw.strip_prefix(start)).unwrap_or(raw);
    let is_name = |name: &str| {
        name.len() > 1 && name.chars().all(|c| c.is_alphanumeric() || "_-.%".contains(c))
    };
    raw.split('\\').all(is_name)
}

/// Returns whether `raw`, a relative path, may be lines of code as well: `rm\nit\x41` has an escape
/// of JSON and one of another language.
fn may_be_lines(raw: &str) -> bool {
    let escapes = || raw.split('\\').skip(1);
    escapes().any(is_character_escape)
        && escapes().any(|escape| escape.starts_with(['n', 't', 'r', 'b', 'f', 'u']))
}

/// Returns whether a path begins at the end of `before`: `cd C:`, before a backslash.
fn begins_path(before: &str) -> bool {
    let mut chars = before.chars().rev();
    chars.next() == Some(':')
        && chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next().is_none_or(|c| !c.is_alphanumeric())
}

pub(in crate::recover) fn is_path(raw: &str) -> bool {
    let mut chars = raw.chars();
    matches!(
        (chars.next(), chars.next(), chars.next()),
        (Some('a'..='z' | 'A'..='Z'), Some(':'), Some('\\'))
    ) || raw.starts_with(r"\\") && !raw.starts_with(r"\\\")
}

/// Decodes `raw`; the context is given if an escape of the string is invalid.
fn unescape_as(
    raw: &str,
    style: QuoteStyle,
    is_truncated: bool,
    context: Option<&EscapeContext>,
) -> Unescaped {
    let has_invalid = context.is_some();
    let is_relative_path = has_invalid && is_relative(raw);
    let is_path = is_relative_path || has_invalid && is_path(raw);
    let mut out = Unescaped {
        text: String::with_capacity(raw.len()),
        has_doubtful_escape: is_relative_path && may_be_lines(raw),
        ..Unescaped::default()
    };
    let is_formula = has_invalid && !is_path && is_formula(raw);
    let (mut rest, mut in_path) = (raw, is_path);
    // The host of `\\host\share`, in which nothing else is escaped.
    if is_path
        && let Some(host) = raw.strip_prefix("\\\\")
        && is_relative(host.trim_end_matches('\\'))
    {
        out.text.push_str("\\\\");
        rest = host;
    }
    while let Some((before, after)) = rest.split_once('\\') {
        out.text.push_str(before);
        let path_continues = in_path && !before.contains(char::is_whitespace);
        in_path = is_path || path_continues || has_invalid && begins_path(before);
        let Some(c) = after.chars().next() else {
            // The text ends here, or the backslash precedes the quote that ends the string.
            out.is_truncated = is_truncated;
            out.has_invalid_escape |= !is_truncated;
            out.text.push_str(if is_truncated { "" } else { "\\" });
            return out;
        };
        let mut len = c.len_utf8();
        let is_literal = in_path || is_formula && is_command(after);
        match c {
            '"' | '\\' | '/' => out.text.push(c),
            '\'' | '`' | '“' | '”' | '„' | '‘' | '’' if is_own_quote(c, style) => {
                out.has_escaped_delimiter = true;
                out.text.push(c);
            }
            'n' if !is_literal => out.text.push('\n'),
            't' if !is_literal => out.text.push('\t'),
            'r' if !is_literal => out.text.push('\r'),
            'b' if !has_invalid => out.text.push('\u{8}'),
            'f' if !has_invalid => out.text.push('\u{c}'),
            'u' if !in_path => match decode_unicode(after) {
                Unicode::Char(c, char_len) => {
                    out.text.push(c);
                    len = char_len;
                }
                Unicode::Truncated if is_truncated => {
                    out.is_truncated = true;
                    return out;
                }
                Unicode::Truncated | Unicode::None => {
                    out.push_invalid(c, context.map(|context| context.meaning(before, after)));
                }
            },
            c => {
                // Names with backslashes between them, `ol\xe9`, may be something else.
                let meaning = context.filter(|_| !in_path || is_relative_path);
                out.push_invalid(c, meaning.map(|context| context.meaning(before, after)));
            }
        }
        rest = after.get(len..).unwrap_or_default();
    }
    out.text.push_str(rest);
    out
}

/// The result of decoding a Unicode escape.
enum Unicode {
    /// A character, and its length in bytes from `u` on.
    Char(char, usize),
    /// The escape may continue after the end.
    Truncated,
    None,
}

/// Decodes the Unicode escape in `text`, which begins with `u`.
fn decode_unicode(text: &str) -> Unicode {
    let unit = |at: usize| {
        let digits = text.get(at..at + 4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    };
    let is_truncated = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        rest.len() < 4 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let Some(first) = unit(1) else {
        return if is_truncated(1) { Unicode::Truncated } else { Unicode::None };
    };
    if let Some(c) = char::from_u32(first) {
        return Unicode::Char(c, 5);
    }
    if !(0xD800..0xDC00).contains(&first) {
        return Unicode::None;
    }
    let rest = text.get(5..).unwrap_or_default();
    if matches!(rest, "" | "\\") || rest.starts_with("\\u") && is_truncated(7) {
        return Unicode::Truncated;
    }
    match unit(7) {
        Some(second) if rest.starts_with("\\u") && (0xDC00..0xE000).contains(&second) => {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            char::from_u32(code).map_or(Unicode::None, |c| Unicode::Char(c, 11))
        }
        _ => Unicode::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded() {
        for (raw, text, has_invalid_escape) in [
            (r#"a\"b\\c\/d\n\t\u00e5"#, "a\"b\\c/d\n\tå", false),
            (r"\ud83d\ude00", "😀", false),
            (r"\ud83d", r"\ud83d", false),
            (r"\d+\.\w", r"\d+\.\w", true),
            (r"C:\Users\new\temp", r"C:\Users\new\temp", true),
            (r"C:\\Users\\new\temp", "C:\\Users\\new\temp", false),
            (r"C:\new\temp", "C:\new\temp", false),
            (r"\alpha \beta \frac{1}{2}", r"\alpha \beta \frac{1}{2}", true),
            (r"\d+\b", r"\d+\b", true),
            (r"\sum \theta \times \nu \neq \rho", r"\sum \theta \times \nu \neq \rho", true),
            (r"one\ntwo \d+\tthree", "one\ntwo \\d+\tthree", true),
            (r"\alpha\none", "\\alpha\none", true),
            (r".\new\test\Users", r".\new\test\Users", true),
            (r"src\new\Util.rs", r"src\new\Util.rs", true),
            (r"cd C:\Users\tim && a\nb", "cd C:\\Users\\tim && a\nb", true),
            (r"\\host\share\new", r"\\host\share\new", true),
            (r"\u12", r"\u12", false),
            (r"\uzzzz", r"\uzzzz", true),
        ] {
            let decoded = unescape(raw, QuoteStyle::Double, false, MemberUse::Other);
            assert_eq!(
                (decoded.text.as_str(), decoded.has_invalid_escape),
                (text, has_invalid_escape),
                "{raw}"
            );
        }
    }

    #[test]
    fn removed_backslash_before_foreign_quote_is_reported() {
        for (raw, style, has_foreign_quote) in [
            (r"it\'s", QuoteStyle::Single, false),
            (r"it\'s", QuoteStyle::Double, true),
            (r"it\'s", QuoteStyle::Backtick, true),
            (r"it\`s", QuoteStyle::Backtick, false),
            (r"it\’s", QuoteStyle::WideSingle, false),
            (r"it\’s", QuoteStyle::WideDouble, true),
        ] {
            let decoded = unescape(raw, style, false, MemberUse::Other);
            assert_eq!(decoded.text, raw.replace('\\', ""), "{raw}");
            assert_eq!(
                (decoded.has_invalid_escape, decoded.has_foreign_quote),
                (false, has_foreign_quote),
                "{raw}"
            );
        }
    }

    #[test]
    fn truncated_escape_is_dropped() {
        for raw in [r"a\", r"a\u", r"a\u12", r"a\ud83d", r"a\ud83d\", r"a\ud83d\ude"] {
            let decoded = unescape(raw, QuoteStyle::Double, true, MemberUse::Other);
            assert_eq!((decoded.text.as_str(), decoded.is_truncated), ("a", true), "{raw}");
        }
    }
}
