//! What the inside of a string stands for.

use super::source::Family;

/// What was found wrong with the escapes of a string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// A backslash that escapes nothing.
    pub(super) has_bad: bool,
    /// A backslash before a quote of another kind than those around the string.
    pub(super) has_quote: bool,
    /// A backslash before one of the same kind, where that is not JSON's.
    has_own_quote: bool,
    /// The string ends inside an escape, which is left out.
    pub(super) is_cut: bool,
}

/// Decodes `raw`, which stands in quotes of this kind. A backslash that escapes nothing is kept, but
/// one before a quote goes: it belongs there if that quote could end the string.
///
/// Where an escape is none to JSON, some others of that string are none either: in a path,
/// `C:\new\temp\Users`, all but a doubled backslash and a quote; in a formula, the commands of TeX
/// that begin as an escape does, `\alpha \times \nu`; and a backspace or form feed nowhere.
pub(super) fn decode(raw: &str, family: Family, is_cut: bool) -> Decoded {
    let plain = decode_as(raw, family, is_cut, false, false);
    let is_all = is_path(raw) || is_relative(raw);
    let is_odd = plain.has_bad || plain.has_quote || plain.has_own_quote;
    if is_odd { decode_as(raw, family, is_cut, is_all, true) } else { plain }
}

/// Commands of TeX, where another may be a line break, a tab or a carriage return and a word.
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

/// Whether `text`, which is behind a backslash, begins with a command of TeX.
fn is_command(text: &str) -> bool {
    let len = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.get(..len).is_some_and(|word| COMMANDS.contains(&word))
}

/// Whether an escape that is none is a command of several letters, as in TeX and not in a pattern.
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

/// `src\new\Util.rs`: names and single backslashes, and nothing else.
fn is_relative(raw: &str) -> bool {
    let raw =
        ["..\\", ".\\", "~\\"].iter().find_map(|start| raw.strip_prefix(start)).unwrap_or(raw);
    let is_name = |name: &str| {
        name.len() > 1 && name.chars().all(|c| c.is_alphanumeric() || "_-.%".contains(c))
    };
    raw.split('\\').all(is_name)
}

/// Whether a path begins at the end of `before`: `cd C:` and then a backslash.
fn begins_path(before: &str) -> bool {
    let mut chars = before.chars().rev();
    chars.next() == Some(':')
        && chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.next().is_none_or(|c| !c.is_alphanumeric())
}

pub(super) fn is_path(raw: &str) -> bool {
    let mut chars = raw.chars();
    matches!(
        (chars.next(), chars.next(), chars.next()),
        (Some('a'..='z' | 'A'..='Z'), Some(':'), Some('\\'))
    ) || raw.starts_with(r"\\") && !raw.starts_with(r"\\\")
}

fn decode_as(raw: &str, family: Family, is_cut: bool, is_path: bool, is_bad: bool) -> Decoded {
    let mut out = Decoded { text: String::with_capacity(raw.len()), ..Decoded::default() };
    let is_formula = is_bad && !is_path && is_formula(raw);
    let (mut rest, mut in_path) = (raw, is_path);
    // The host of `\\host\share`, where nothing else is escaped.
    if is_path
        && let Some(host) = raw.strip_prefix("\\\\")
        && is_relative(host.trim_end_matches('\\'))
    {
        out.text.push_str("\\\\");
        rest = host;
    }
    while let Some((before, after)) = rest.split_once('\\') {
        out.text.push_str(before);
        let goes_on = in_path && !before.contains(char::is_whitespace);
        in_path = is_path || goes_on || is_bad && begins_path(before);
        let Some(c) = after.chars().next() else {
            // The text ends here, or the quote that does end the string was taken for escaped.
            out.is_cut = is_cut;
            out.has_bad |= !is_cut;
            out.text.push_str(if is_cut { "" } else { "\\" });
            return out;
        };
        let mut len = c.len_utf8();
        let is_kept = in_path || is_formula && is_command(after);
        match c {
            '"' | '\\' | '/' => out.text.push(c),
            '\'' | '`' | '“' | '”' | '„' | '‘' | '’' => {
                let is_own = Family::of(c).is_some_and(|quote| family.closes(quote));
                out.has_own_quote |= is_own;
                out.has_quote |= !is_own;
                out.text.push(c);
            }
            'n' if !is_kept => out.text.push('\n'),
            't' if !is_kept => out.text.push('\t'),
            'r' if !is_kept => out.text.push('\r'),
            'b' if !is_bad => out.text.push('\u{8}'),
            'f' if !is_bad => out.text.push('\u{c}'),
            'u' if !in_path => match unicode(after) {
                Unicode::Char(c, taken) => {
                    out.text.push(c);
                    len = taken;
                }
                Unicode::Cut if is_cut => {
                    out.is_cut = true;
                    return out;
                }
                Unicode::Cut | Unicode::None => {
                    out.has_bad = true;
                    out.text.push_str("\\u");
                }
            },
            c => {
                out.has_bad = true;
                out.text.push('\\');
                out.text.push(c);
            }
        }
        rest = after.get(len..).unwrap_or_default();
    }
    out.text.push_str(rest);
    out
}

enum Unicode {
    /// A character, and how many bytes it takes from `u` on.
    Char(char, usize),
    /// It may go on behind the end.
    Cut,
    None,
}

/// `text` begins with `u`.
fn unicode(text: &str) -> Unicode {
    let unit = |at: usize| {
        let digits = text.get(at..at + 4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        u32::from_str_radix(digits, 16).ok()
    };
    let is_cut = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        rest.len() < 4 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let Some(first) = unit(1) else {
        return if is_cut(1) { Unicode::Cut } else { Unicode::None };
    };
    if let Some(c) = char::from_u32(first) {
        return Unicode::Char(c, 5);
    }
    if !(0xD800..0xDC00).contains(&first) {
        return Unicode::None;
    }
    let rest = text.get(5..).unwrap_or_default();
    if matches!(rest, "" | "\\") || rest.starts_with("\\u") && is_cut(7) {
        return Unicode::Cut;
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
    fn escapes() {
        for (raw, text, has_bad) in [
            (r#"a\"b\\c\/d\n\t\u00e5"#, "a\"b\\c/d\n\tå", false),
            (r"\ud83d\ude00", "😀", false),
            (r"\ud83d", r"\ud83d", true),
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
            (r"\u12", r"\u12", true),
            (r"\uzzzz", r"\uzzzz", true),
        ] {
            let decoded = decode(raw, Family::Double, false);
            assert_eq!((decoded.text.as_str(), decoded.has_bad), (text, has_bad), "{raw}");
        }
    }

    #[test]
    fn a_backslash_belongs_before_a_quote_that_could_end_the_string() {
        for (raw, family, has_quote) in [
            (r"it\'s", Family::Single, false),
            (r"it\'s", Family::Double, true),
            (r"it\'s", Family::Backtick, false),
            (r"it\`s", Family::Single, true),
            (r"it\’s", Family::WideSingle, false),
            (r"it\’s", Family::WideDouble, true),
        ] {
            let decoded = decode(raw, family, false);
            assert_eq!(decoded.text, raw.replace('\\', ""), "{raw}");
            assert_eq!((decoded.has_bad, decoded.has_quote), (false, has_quote), "{raw}");
        }
    }

    #[test]
    fn half_an_escape_at_the_end_goes() {
        for raw in [r"a\", r"a\u", r"a\u12", r"a\ud83d", r"a\ud83d\", r"a\ud83d\ude"] {
            let decoded = decode(raw, Family::Double, true);
            assert_eq!((decoded.text.as_str(), decoded.is_cut), ("a", true), "{raw}");
        }
    }
}
