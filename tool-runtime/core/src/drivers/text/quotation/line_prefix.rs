//! The beginning of a line that quotes the rest of it: a list marker, a comment, a Markdown
//! quotation or a cell of a table.

use memchr::memmem;

/// The longest beginning of a line that is examined, in bytes.
const MAX_HEAD_LEN: usize = 64;
/// The longest cell of a table before a call that is searched for a bar, in bytes.
const MAX_CELL_LEN: usize = 512;
/// The largest number of digits of a list item's number.
const MAX_DIGITS: usize = 3;
/// The columns of a tab, and the largest number of blanks after a list marker.
pub(crate) const BLOCK_COLUMNS: usize = 4;
/// Bullets of list items, which a blank follows.
const BULLETS: [char; 27] = [
    '-', '*', '+', '•', '‣', '⁃', '∙', '▪', '▫', '◦', '●', '○', '■', '□', '◆', '◇', '►', '▶', '▸',
    '➤', '➢', '✦', '·', '–', '—', '☐', '☑',
];
/// Chinese numerals, which number list items.
const NUMERALS: &str = "一二三四五六七八九十";
/// Roman numbers of more than one letter.
const ROMAN: [&str; 10] = ["ii", "iii", "iv", "vi", "vii", "viii", "ix", "xi", "xii", "xiii"];
/// Beginnings of comments, and of sections of text in XML.
const COMMENTS: [&str; 13] =
    ["//", "/*", "{#", "{/*", "{{!--", "<![CDATA[", "(* ", "-- ", "; ", ";; ", "% ", "REM ", ".. "];
/// Beginnings of headings over calls that are meant, in lower case.
const CALL_HEADINGS: [&str; 5] = ["action", "next", "tool call", "function call", "calling"];

/// Returns true if a line that begins with `before` is a quotation, a list item, a row of a table,
/// a heading or a comment.
pub(crate) fn quotes_its_line(before: &str) -> bool {
    let row = before;
    let before = head(before.trim_start());
    before.starts_with(['>', '|'])
        || COMMENTS.iter().any(|comment| before.starts_with(comment))
        || is_heading(before)
        || is_row(row)
        || list_marker(before).is_some()
}

/// Returns true for `# text`, which is a comment in many languages.
fn is_heading(before: &str) -> bool {
    let text = before.trim_start_matches('#');
    let words = text.trim_start_matches([' ', '*']).to_lowercase();
    text.len() < before.len()
        && text.starts_with([' ', '\t', '!'])
        && !CALL_HEADINGS.iter().any(|heading| words.starts_with(heading))
}

/// Returns true for a row of a table that does not begin with a bar.
fn is_row(before: &str) -> bool {
    let start = before.len().saturating_sub(MAX_CELL_LEN);
    let cell = before.as_bytes().get(start..).unwrap_or_default();
    memmem::find(cell, b" | ").is_some() || cell.trim_ascii_end().ends_with(b"|")
}

/// Returns the beginning of a line, which is examined for each call in it.
fn head(line: &str) -> &str {
    let mut end = line.len().min(MAX_HEAD_LEN);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}

/// Returns the width of a list marker with the blanks after it, in columns.
pub(crate) fn list_marker(line: &str) -> Option<usize> {
    let line = head(line);
    let (end, needs_blank) = bullet(line).or_else(|| number(line))?;
    let (marker, rest) = line.split_at_checked(end)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let width = marker.chars().count() + blanks.min(BLOCK_COLUMNS);
    (blanks > 0 || !needs_blank).then_some(width)
}

/// Returns the end of a bullet, and whether a blank has to follow.
fn bullet(line: &str) -> Option<(usize, bool)> {
    let bullet = line.chars().next().filter(|c| BULLETS.contains(c))?;
    let end = bullet.len_utf8();
    // A task: `- [ ]`.
    let task = line.get(end..).and_then(|rest| {
        [" [ ]", " [x]", " [X]"].iter().find(|task| rest.starts_with(**task)).map(|task| task.len())
    });
    Some((end + task.unwrap_or(0), true))
}

/// Returns the end of a number such as `1.`, `(a)`, `iv)` or `②`, and whether a blank has to
/// follow.
fn number(line: &str) -> Option<(usize, bool)> {
    let first = line.chars().next()?;
    if matches!(first, '①'..='⓿' | '❶'..='➓' | '㈠'..='㈩') {
        return Some((first.len_utf8(), false));
    }
    // The keys of a telephone, as emoji.
    if let Some(key) = ["\u{fe0f}\u{20e3}", "\u{20e3}"].iter().find(|key| {
        first.is_ascii_digit() && line.get(1..).is_some_and(|rest| rest.starts_with(**key))
    }) {
        return Some((1 + key.len(), false));
    }
    let inner = line.strip_prefix(['(', '[', '（']).unwrap_or(line);
    let is_opened = inner.len() < line.len();
    let label_len = if inner.starts_with(is_digit) {
        dotted_number(inner)?
    } else {
        inner.find(|c: char| !c.is_alphanumeric()).unwrap_or(inner.len())
    };
    let (label, rest) = inner.split_at_checked(label_len)?;
    let is_digits = label.starts_with(is_digit);
    let close = rest.chars().next()?;
    let is_closed = match close {
        ')' | ']' | '）' if is_opened => true,
        '.' | ')' | '）' | '．' | '、' => !is_opened,
        ':' | '：' => !is_opened && is_digits,
        _ => false,
    };
    let is_wide = matches!(close, '）' | '．' | '、');
    let end = line.len() - rest.len() + close.len_utf8();
    (is_closed && is_label(label, close != '.')).then_some((end, !is_wide))
}

/// Returns the length of a number such as `12` or `1.2.3`.
fn dotted_number(text: &str) -> Option<usize> {
    let mut end = 0;
    loop {
        let rest = text.get(end..)?;
        let digits = rest.len() - rest.trim_start_matches(is_digit).len();
        let count = rest.get(..digits)?.chars().count();
        if !(1..=MAX_DIGITS).contains(&count) {
            return (end > 0).then(|| end - 1);
        }
        end += digits;
        match text.get(end..).and_then(|rest| rest.strip_prefix('.')) {
            Some(_) => end += 1,
            None => return Some(end),
        }
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '０'..='９')
}

/// Returns true for the number of a list item. Two letters before a full stop are a word: `Ok.`
fn is_label(label: &str, may_be_letters: bool) -> bool {
    let lower = label.to_lowercase();
    let is_one_letter = label.chars().count() == 1 && label.chars().all(char::is_alphabetic);
    let are_letters = label.len() == 2 && label.chars().all(|c| c.is_ascii_alphabetic());
    label.starts_with(is_digit)
        || is_one_letter
        || are_letters && may_be_letters
        || ROMAN.contains(&lower.as_str())
        || label.chars().all(|c| NUMERALS.contains(c)) && !label.is_empty()
}

/// Returns the columns by which a line is indented.
pub(crate) fn indentation(line: &str) -> usize {
    let blanks = line.bytes().take(MAX_HEAD_LEN).take_while(|byte| b" \t".contains(byte));
    blanks.map(|byte| if byte == b'\t' { BLOCK_COLUMNS } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::{list_marker, quotes_its_line};

    #[test]
    fn list_markers_have_a_width() {
        for (line, width) in [
            ("- x", Some(2)),
            ("-  x", Some(3)),
            ("• x", Some(2)),
            ("– x", Some(2)),
            ("- [ ] x", Some(6)),
            ("1. x", Some(3)),
            ("12) x", Some(4)),
            ("3: x", Some(3)),
            ("1.2. x", Some(5)),
            ("1.2) x", Some(5)),
            ("(1) x", Some(4)),
            ("[1] x", Some(4)),
            ("(a) x", Some(4)),
            ("a) x", Some(3)),
            ("B. x", Some(3)),
            ("ab) x", Some(4)),
            ("iv. x", Some(4)),
            ("(iii) x", Some(6)),
            ("② x", Some(2)),
            ("②x", Some(1)),
            ("2\u{fe0f}\u{20e3} x", Some(4)),
            ("一、x", Some(2)),
            ("１．x", Some(2)),
            ("-x", None),
            ("Ok. x", None),
            ("So: x", None),
            ("a: x", None),
            ("1234. x", None),
            ("1.5 x", None),
            ("(see x", None),
            ("(ok, x", None),
            ("**x**", None),
            ("", None),
        ] {
            assert_eq!(list_marker(line), width, "{line}");
        }
    }

    #[test]
    fn comments_and_rows_quote_their_line() {
        for (before, is_quoting) in [
            ("# ", true),
            ("## Form: ", true),
            ("-- ", true),
            ("; ", true),
            ("% ", true),
            ("name | ", true),
            ("name |", true),
            ("| ", true),
            ("> ", true),
            ("### Action: ", false),
            ("## Tool call: ", false),
            ("#tag ", false),
            ("--", false),
            ("50 % ", false),
            ("Step 1: ", false),
            ("So: ", false),
        ] {
            assert_eq!(quotes_its_line(before), is_quoting, "{before}");
        }
    }
}
