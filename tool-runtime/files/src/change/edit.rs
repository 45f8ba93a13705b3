//! Exact replacements in a text.

use tool_core::args;

use super::line_ends::UnixText;
use super::nearest::nearest_lines;
use crate::version::MAX_CONTENT;

/// The most occurrences whose lines an error lists.
const MAX_LISTED: usize = 5;

/// The most bytes of a text that an error repeats with its line breaks.
const MAX_EXACT_LEN: usize = 2000;

/// A replacement of a text that occurs once, or of all its occurrences.
#[args]
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// The exact text to replace, with its whitespace and without line numbers.
    pub(crate) old: String,
    /// The text in its place.
    pub(crate) new: String,
    /// Whether to replace all occurrences. Otherwise the text must occur exactly once.
    #[serde(default)]
    pub(crate) all: bool,
}

/// An edited text.
#[derive(Debug, PartialEq)]
pub(crate) struct Edited {
    pub(crate) text: String,
    /// The number of replacements.
    pub(crate) count: usize,
}

/// Applies edits one after the other, each to the result of those before it.
///
/// In a text with `\r\n`, the edits are compared without regard to the ends of lines, and the lines
/// keep theirs.
///
/// Returns the reason, for the model, if one of them can't be applied.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> Result<Edited, String> {
    let ends = Ends {
        has_crlf: text.contains("\r\n"),
        is_crlf_first: text.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r')),
    };
    let mut edited = Edited { text: text.to_owned(), count: 0 };
    for (index, edit) in edits.iter().enumerate() {
        let (text, count) = apply_one(&edited.text, index, edit, ends)?;
        edited.count += count;
        edited.text = text;
    }
    Ok(edited)
}

/// The ends of the lines of a text before all edits.
#[derive(Clone, Copy, Debug)]
struct Ends {
    has_crlf: bool,
    /// Whether the first line ends with `\r\n`.
    is_crlf_first: bool,
}

fn apply_one(
    file_text: &str,
    index: usize,
    edit: &Edit,
    ends: Ends,
) -> Result<(String, usize), String> {
    let name = format!("edits[{index}].old");
    if edit.old.is_empty() {
        return Err(format!("`{name}` is empty: send the text to replace."));
    }
    if edit.old == edit.new {
        return Err(format!("`{name}` and `new` are the same: the edit changes nothing."));
    }
    let [old, new] = [&edit.old, &edit.new].map(|text| text.replace("\r\n", "\n"));
    // An edit of texts that differ in the ends of their lines only changes those.
    let (text, old, new) = if ends.has_crlf && old != new {
        (UnixText::normalized(file_text), &old, &new)
    } else {
        (UnixText::verbatim(file_text), &edit.old, &edit.new)
    };
    let positions: Vec<_> = text.text.match_indices(old).map(|(at, _)| at).collect();
    match *positions {
        [] => return Err(format!("`{name}` does not occur. {}", nearest(&text.text, old))),
        _ if edit.all => {}
        [first] => {
            if let Some(second) = overlapping(&text.text, old, first) {
                let [first, second] = [first, second].map(|at| line_of(&text.text, at));
                return Err(format!(
                    "`{name}` occurs several times, and overlaps itself, in lines {first}, \
                     {second}: send more of the text around it."
                ));
            }
        }
        [..] => {
            let count = positions.len();
            let lines = positions.iter().take(MAX_LISTED).map(|at| line_of(&text.text, *at));
            let lines = lines.map(|line| line.to_string()).collect::<Vec<_>>().join(", ");
            let more = if count > MAX_LISTED { ", …" } else { "" };
            return Err(format!(
                "`{name}` occurs {count} times, in lines {lines}{more}: send more of the text \
                 around it, or set `all`."
            ));
        }
    }
    // Before the replacement: edits of a repeated text double it each time.
    let removed = positions.len().saturating_mul(old.len());
    let added = positions.len().saturating_mul(new.len());
    let len = text.text.len().saturating_sub(removed).saturating_add(added);
    if len as u64 > MAX_CONTENT {
        return Err(format!(
            "`edits[{index}]` makes a text of {len} bytes; at most {MAX_CONTENT} are written."
        ));
    }
    let text = text.replace(old, new, ends.is_crlf_first);
    Ok((text.into_file_text(), positions.len()))
}

/// Returns the position of an occurrence that begins within the first one, as in a row of closing
/// brackets.
fn overlapping(text: &str, old: &str, first: usize) -> Option<usize> {
    let next = first + text.get(first..)?.chars().next()?.len_utf8();
    text.get(next..)?.find(old).map(|at| next + at)
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(1, |head| head.matches('\n').count() + 1)
}

/// Returns the part of the text that differs from another text only in line breaks, which the model
/// does not see.
fn with_other_line_breaks<'t>(text: &'t str, old: &str) -> Option<&'t str> {
    let (unix_text, unix_old) = (text.replace("\r\n", "\n"), old.replace("\r\n", "\n"));
    let start = unix_text.find(&unix_old)?;
    let offset_in_text = |offset: usize| {
        let mut removed = 0;
        for (at, _) in text.match_indices("\r\n") {
            if at - removed >= offset {
                break;
            }
            removed += 1;
        }
        offset + removed
    };
    text.get(offset_in_text(start)..offset_in_text(start + unix_old.len()))
}

fn nearest(text: &str, old: &str) -> String {
    if let Some(exact) = with_other_line_breaks(text, old) {
        let exact = serde_json::Value::from(exact).to_string();
        let advice = match exact.len() {
            0..=MAX_EXACT_LEN => format!("as in {exact}"),
            _ => "and fewer lines".to_owned(),
        };
        return format!("Only the line breaks differ: send those of the file, {advice}.");
    }
    let Some(nearest) = nearest_lines(text, old) else {
        return "Nothing similar was found: read the file again.".to_owned();
    };
    let hint = if nearest.differs_in_whitespace { " It differs only in whitespace." } else { "" };
    format!("The nearest text:\n{}\n{hint}", nearest.numbered).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Edit, apply};

    fn edit(old: &str, new: &str) -> Edit {
        Edit { old: old.into(), new: new.into(), all: false }
    }

    #[test]
    fn edits_apply_to_the_result_of_earlier_edits() {
        let edited = apply("a b", &[edit("a", "c"), edit("c b", "d")]).unwrap();
        assert_eq!((edited.text.as_str(), edited.count), ("d", 2));
    }

    #[test]
    fn all_occurrences_are_replaced_on_request() {
        let edited = apply("x x x", &[Edit { all: true, ..edit("x", "xx") }]).unwrap();
        assert_eq!((edited.text.as_str(), edited.count), ("xx xx xx", 3));
    }

    #[test]
    fn lines_keep_their_ends() {
        for (text, old, new, expected) in [
            ("a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n"),
            ("a\r\nb\r\nc\r\n", "a\r\nb", "x\ny", "x\r\ny\r\nc\r\n"),
            ("a\r\nb\nc\r\nd\n", "a\nb\nc", "x\ny\nz", "x\r\ny\nz\r\nd\n"),
            ("a\r\nb\nc\r\nd\n", "b\r\nc\r\n", "b\r\nx\r\nc\r\n", "a\r\nb\nx\nc\r\nd\n"),
            ("a\nb\n", "a\n", "x\n", "x\nb\n"),
            // In a text without it, `\r\n` is what the model wants.
            ("a\nb\n", "a\n", "x\r\ny\r\n", "x\r\ny\r\nb\n"),
            // Nothing else changes.
            ("a\r\nb\nc\r\n", "c\r\n", "c\n", "a\r\nb\nc\n"),
            ("a\nb\n", "a\n", "a\r\n", "a\r\nb\n"),
        ] {
            let edited = apply(text, &[edit(old, new)]).unwrap();
            assert_eq!(edited.text, expected, "{text:?} {old:?}");
        }
        // The second edit adds lines to a text that has none any more.
        let edits = [edit("a\n", ""), edit("b", "b\nc")];
        assert_eq!(apply("a\r\nb", &edits).unwrap().text, "b\r\nc");
    }

    #[test]
    fn text_with_other_line_breaks_is_repeated_with_its_own() {
        let text = "a\nb\nc\n\"d\"\ne";
        for (old, expected) in
            [("a\r\nb", r#""a\nb""#), ("b\nc\r\n\"d\"\ne", r#""b\nc\n\"d\"\ne""#)]
        {
            let error = apply(text, &[edit(old, "")]).unwrap_err();
            let end = format!("send those of the file, as in {expected}.");
            assert!(error.ends_with(&end), "{old:?}: {error}");
            let old: String = serde_json::from_str(expected).unwrap();
            assert!(apply(text, &[edit(&old, "")]).is_ok(), "{old:?}");
        }
        // Edits of the ends of lines.
        let text = "a\r\nb\nc\r\n\"d\"";
        for (old, expected) in [("a\n", r#""a\r\n""#), ("b\r\nc", r#""b\nc""#)] {
            let other = if old.contains('\r') { old.replace('\r', "") } else { "a\r\n".to_owned() };
            let error = apply(text, &[edit(old, &other)]).unwrap_err();
            assert!(error.ends_with(&format!("as in {expected}.")), "{old:?}: {error}");
        }
        let long = "x".repeat(2000);
        let error = apply(&format!("{long}\ny"), &[edit(&format!("{long}\r\ny"), "")]);
        assert!(error.unwrap_err().ends_with("send those of the file, and fewer lines."));
    }

    #[test]
    fn ambiguous_edit_lists_its_lines() {
        let error = apply("x\ny\nx\n", &[edit("y", "z"), edit("x", "w")]).unwrap_err();
        assert!(error.starts_with("`edits[1].old` occurs 2 times, in lines 1, 3:"), "{error}");
    }

    #[test]
    fn missing_text_is_answered_by_the_nearest() {
        let text = "fn main() {\n    let total = sum(&items);\n    print(total);\n}\n";
        let error = apply(text, &[edit("let total = sum(items);", "")]).unwrap_err();
        assert!(error.contains("2\t    let total = sum(&items);"), "{error}");
        let error = apply(text, &[edit("let total = sum(&items);\n  print(total);", "")]);
        let error = error.unwrap_err();
        assert!(error.ends_with("It differs only in whitespace."), "{error}");
        let error = apply(text, &[edit("zebra", "")]).unwrap_err();
        assert!(error.ends_with("Nothing similar was found: read the file again."), "{error}");
    }

    #[test]
    fn edits_that_double_the_text_are_refused_before_it_is_made() {
        // Long, so that few matches make a large text.
        let text = "a".repeat(1 << 10);
        let double = Edit { all: true, ..edit(&text, &text.repeat(2)) };
        assert_eq!(apply(&text, &vec![double.clone(); 13]).unwrap().text.len(), 1 << 23);
        // All of them make 1 TiB.
        let error = apply(&text, &vec![double; 30]).unwrap_err();
        let expected = "`edits[13]` makes a text of 16777216 bytes; at most 8388608 are written.";
        assert_eq!(error, expected);
    }

    #[test]
    fn edits_without_effect_are_refused() {
        for (old, new, expected) in [("", "a", "is empty"), ("a", "a", "changes nothing")] {
            let error = apply("a", &[edit(old, new)]).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
