//! What the inside of a string stands for.

/// What was found wrong with the escapes of a string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// A backslash that escapes nothing.
    pub(super) has_bad: bool,
    /// The string ends inside an escape, which is left out.
    pub(super) is_cut: bool,
}

/// Decodes `raw`. A backslash that escapes nothing is kept, but one before a quote goes.
///
/// In a path, `C:\new\temp\Users`, nothing is an escape but a doubled backslash and a quote. It
/// is taken for one where it begins as paths do and holds an escape that is none; there, a
/// backspace or form feed before a letter is no escape either: `\beta`, `\frac`.
pub(super) fn decode(raw: &str, is_cut: bool) -> Decoded {
    let plain = decode_as(raw, is_cut, false, false);
    if plain.has_bad { decode_as(raw, is_cut, is_path(raw), true) } else { plain }
}

pub(super) fn is_path(raw: &str) -> bool {
    let mut chars = raw.chars();
    matches!(
        (chars.next(), chars.next(), chars.next()),
        (Some('a'..='z' | 'A'..='Z'), Some(':'), Some('\\'))
    ) || raw.starts_with(r"\\") && !raw.starts_with(r"\\\")
}

fn decode_as(raw: &str, is_cut: bool, is_path: bool, is_bad: bool) -> Decoded {
    let mut out = Decoded { text: String::with_capacity(raw.len()), ..Decoded::default() };
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\\') {
        out.text.push_str(before);
        let Some(c) = after.chars().next() else {
            // The text ends here, or the quote that does end the string was taken for escaped.
            out.is_cut = is_cut;
            out.has_bad |= !is_cut;
            out.text.push_str(if is_cut { "" } else { "\\" });
            return out;
        };
        let mut len = c.len_utf8();
        let next = after.chars().nth(1);
        let is_word = is_bad && next.is_some_and(char::is_alphabetic);
        match c {
            '"' | '\\' | '/' => out.text.push(c),
            '\'' | '`' | '“' | '”' | '„' | '‘' | '’' => {
                out.has_bad = true;
                out.text.push(c);
            }
            'n' if !is_path => out.text.push('\n'),
            't' if !is_path => out.text.push('\t'),
            'r' if !is_path => out.text.push('\r'),
            'b' if !is_path && !is_word => out.text.push('\u{8}'),
            'f' if !is_path && !is_word => out.text.push('\u{c}'),
            'u' if !is_path => match unicode(after) {
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
            (r"it\'s", "it's", true),
            (r"C:\Users\new\temp", r"C:\Users\new\temp", true),
            (r"C:\\Users\\new\temp", "C:\\Users\\new\temp", false),
            (r"C:\new\temp", "C:\new\temp", false),
            (r"\alpha \beta \frac{1}{2}", r"\alpha \beta \frac{1}{2}", true),
            (r"\u12", r"\u12", true),
            (r"\uzzzz", r"\uzzzz", true),
        ] {
            let decoded = decode(raw, false);
            assert_eq!((decoded.text.as_str(), decoded.has_bad), (text, has_bad), "{raw}");
        }
    }

    #[test]
    fn half_an_escape_at_the_end_goes() {
        for raw in [r"a\", r"a\u", r"a\u12", r"a\ud83d", r"a\ud83d\", r"a\ud83d\ude"] {
            let decoded = decode(raw, true);
            assert_eq!((decoded.text.as_str(), decoded.is_cut), ("a", true), "{raw}");
        }
    }
}
