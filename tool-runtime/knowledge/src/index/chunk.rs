//! Divides a document into chunks: parts that are found and embedded on their own.

use std::ops::Range;

use super::text_blocks::blocks;
use crate::document::DocumentFormat;
use crate::words::beginning;

/// The most bytes of a chunk: about 400 tokens, which most embedding models read whole.
pub(crate) const MAX_BYTES: usize = 1_500;

/// Changes whenever the same document is divided otherwise, or has other words, so that it is
/// indexed again.
pub(crate) const VERSION: &str = "1";

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The headings above the part, from the outermost, joined by ` > `.
    pub(crate) heading: String,
    /// The bytes of the part within the text of the document.
    pub(crate) range: Range<usize>,
}

/// Divides a document; one in HTML as Markdown. The chunks are in order, overlap nowhere, and leave
/// out white space only.
pub(crate) fn chunks(text: &str, format: DocumentFormat) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for block in blocks(text, format) {
        for range in split(text, block.range) {
            match chunks.last_mut() {
                Some(last)
                    if last.heading == block.heading
                        && range.end - last.range.start <= MAX_BYTES =>
                {
                    last.range.end = range.end;
                }
                _ => chunks.push(Chunk { heading: block.heading.clone(), range }),
            }
        }
    }
    chunks
}

/// Trims a range, and splits one that is too long at the best places.
fn split(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let trimmed_len = text.get(range.clone()).map_or(0, |found| found.trim_end().len());
    let mut rest = range.start..range.start + trimmed_len;
    while let Some(found) = text.get(rest.clone()) {
        let trimmed = found.trim_start();
        rest.start += found.len() - trimmed.len();
        if trimmed.is_empty() {
            break;
        }
        if trimmed.len() <= MAX_BYTES {
            parts.push(rest);
            break;
        }
        let end = rest.start + cut(trimmed);
        let part = text.get(rest.start..end).unwrap_or_default();
        parts.push(rest.start..rest.start + part.trim_end().len());
        rest.start = end;
    }
    parts
}

/// Returns where a text that is too long is cut: after a line, a sentence or a word, if one of them
/// ends in the second half.
fn cut(text: &str) -> usize {
    let head = beginning(text, MAX_BYTES);
    let limit = head.len();
    let ends = [
        head.rfind('\n').map(|at| at + 1),
        [". ", "! ", "? "].iter().filter_map(|end| head.rfind(end)).max().map(|at| at + 2),
        head.rmatch_indices(char::is_whitespace).next().map(|(at, space)| at + space.len()),
    ];
    ends.into_iter().flatten().find(|end| *end > limit / 2).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Chunk, DocumentFormat, MAX_BYTES, chunks};

    fn part(text: &str, chunk: &Chunk) -> String {
        text.get(chunk.range.clone()).unwrap().to_owned()
    }

    const FORMATS: [DocumentFormat; 3] =
        [DocumentFormat::Text, DocumentFormat::Markdown, DocumentFormat::Code];

    #[test]
    fn headings_stay_with_their_parts() {
        let text = "Before.\n\n# One\n\nFirst.\n\n- a\n- b\n\n## `Two`\n\n```\n# no heading\n```\n\n\
                    # Three\n\nLast.";
        let found = chunks(text, DocumentFormat::Markdown);
        let expected = [
            ("", "Before."),
            ("One", "# One\n\nFirst.\n\n- a\n- b"),
            ("One > Two", "## `Two`\n\n```\n# no heading\n```"),
            ("Three", "# Three\n\nLast."),
        ];
        let found: Vec<_> =
            found.iter().map(|chunk| (chunk.heading.clone(), part(text, chunk))).collect();
        let expected = expected.map(|(heading, part)| (heading.to_owned(), part.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn items_of_code_stay_together() {
        let item = |name: &str| {
            format!("fn {name}() {{\n{}\n    last();\n}}\n\n", "    x();\n".repeat(60))
        };
        let items = ["one", "two", "three", "four", "five"].map(item);
        let text = items.concat();
        let found = chunks(&text, DocumentFormat::Code);
        assert_eq!(found.len(), 3);
        for item in &items {
            let is_whole = |chunk: &Chunk| part(&text, chunk).contains(item.trim());
            assert!(found.iter().any(is_whole), "{item}");
        }
    }

    #[test]
    fn texts_without_lines_are_cut_at_any_white_space() {
        let text = "wörter\u{2003}".repeat(400);
        for chunk in chunks(&text, DocumentFormat::Text) {
            let part = part(&text, &chunk);
            assert!(part.starts_with("wörter") && part.ends_with("wörter"), "{part}");
        }
    }

    proptest! {
        #[test]
        fn chunks_cover_everything_but_white_space(
            text in "([a-zé# \n`*:\\[\\]|-]|\\PC){0,400}",
            repeat in 1_usize..40,
        ) {
            let text = text.repeat(repeat);
            for format in FORMATS {
                let mut end = 0;
                for chunk in chunks(&text, format) {
                    let range = chunk.range.clone();
                    prop_assert!(range.len() <= MAX_BYTES && !range.is_empty());
                    prop_assert!(range.start >= end, "{format:?}");
                    let between = text.get(end..range.start).unwrap();
                    prop_assert!(between.trim().is_empty(), "{format:?} {between:?}");
                    end = range.end;
                }
                let after = text.get(end..).unwrap();
                prop_assert!(after.trim().is_empty(), "{format:?} {after:?}");
            }
        }
    }
}
