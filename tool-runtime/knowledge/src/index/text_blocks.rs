//! Blocks of a document: pieces that belong together, such as paragraphs.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

use crate::document::DocumentFormat;
use crate::words::beginning;

/// The most bytes of a heading that are kept. Each chunk below a heading has a copy of it.
const MAX_HEADING: usize = 200;

/// A piece of a document that belongs together.
pub(crate) struct Block {
    /// The headings above the block, from the outermost, joined by ` > `.
    pub(crate) heading: String,
    /// The bytes of the block within the text of the document.
    pub(crate) range: Range<usize>,
}

/// Finds the blocks of a document, in order; those of one in HTML as Markdown. They leave out white
/// space and the byte order mark only.
pub(crate) fn blocks(text: &str, format: DocumentFormat) -> Vec<Block> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let start = text.len() - body.len();
    let mut blocks = match format {
        DocumentFormat::Markdown | DocumentFormat::Html => markdown(body),
        DocumentFormat::Text => paragraphs(body, |_| true),
        // A line that is indented continues the item above.
        DocumentFormat::Code => paragraphs(body, |line| !line.starts_with([' ', '\t', '}', ')'])),
    };
    for Block { range, .. } in &mut blocks {
        *range = range.start + start..range.end + start;
    }
    blocks
}

/// Finds the paragraphs of a text: lines up to an empty one, after which a line begins a new one.
fn paragraphs(text: &str, begins: impl Fn(&str) -> bool) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut start, mut is_after_gap) = (0, true);
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim().is_empty() {
            is_after_gap = true;
        } else {
            match blocks.last_mut() {
                Some(block) if !(is_after_gap && begins(line)) => block.range.end = end,
                _ => blocks.push(Block { heading: String::new(), range: start..end }),
            }
            is_after_gap = false;
        }
        start = end;
    }
    blocks
}

/// Finds the blocks of Markdown: the metadata before it, and the outermost blocks with the headings
/// above each.
fn markdown(text: &str) -> Vec<Block> {
    let start = metadata_len(text);
    let metadata = Block { heading: String::new(), range: 0..start };
    let mut blocks: Vec<Block> = Vec::from_iter((start > 0).then_some(metadata));
    let mut headings: Vec<(HeadingLevel, String)> = Vec::new();
    let (mut depth, mut is_heading) = (0_usize, false);
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    let parser = Parser::new_ext(text.get(start..).unwrap_or_default(), options);
    for (event, range) in parser.into_offset_iter() {
        let range = range.start + start..range.end + start;
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    if let Tag::Heading { level, .. } = tag {
                        headings.retain(|(above, _)| *above < level);
                        headings.push((level, String::new()));
                        is_heading = true;
                    } else {
                        blocks.push(Block { heading: path(&headings), range });
                    }
                }
                depth += 1;
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                if depth == 0 && is_heading {
                    is_heading = false;
                    // The name of the heading is complete now.
                    blocks.push(Block { heading: path(&headings), range });
                }
            }
            Event::Text(words) | Event::Code(words) if is_heading => {
                extend_heading(&mut headings, &words);
            }
            Event::SoftBreak | Event::HardBreak if is_heading => extend_heading(&mut headings, " "),
            _ if depth == 0 => blocks.push(Block { heading: path(&headings), range }),
            _ => {}
        }
    }
    with_definitions(text, blocks)
}

/// Adds to the last heading, as far as it has room.
fn extend_heading(headings: &mut [(HeadingLevel, String)], words: &str) {
    if let Some((_, heading)) = headings.last_mut() {
        heading.push_str(beginning(words, MAX_HEADING.saturating_sub(heading.len())));
    }
}

fn path(headings: &[(HeadingLevel, String)]) -> String {
    let names: Vec<&str> = headings.iter().map(|(_, name)| name.trim()).collect();
    names.join(" > ")
}

/// Returns the length of the metadata before the Markdown, between lines of `---` or `+++`.
fn metadata_len(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next() else { return 0 };
    let is_end = |line: &str| match first.trim_end() {
        "---" => matches!(line.trim_end(), "---" | "..."),
        "+++" => line.trim_end() == "+++",
        _ => false,
    };
    let mut len = first.len();
    for (number, line) in lines.enumerate() {
        len += line.len();
        if is_end(line) {
            return len;
        }
        // A line above white space is a rule.
        if number == 0 && line.trim().is_empty() {
            return 0;
        }
    }
    0
}

/// Adds what the parser reports no block for, such as the definitions of links.
fn with_definitions(text: &str, blocks: Vec<Block>) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::with_capacity(blocks.len());
    let (mut end, mut heading) = (0, String::new());
    let between = |range: Range<usize>, heading: &str| {
        let is_blank = text.get(range.clone()).is_none_or(|it| it.trim().is_empty());
        (!is_blank).then(|| Block { heading: heading.to_owned(), range })
    };
    for block in blocks {
        all.extend(between(end..block.range.start, &heading));
        end = block.range.end;
        heading.clone_from(&block.heading);
        all.push(block);
    }
    all.extend(between(end..text.len(), &heading));
    all
}

#[cfg(test)]
mod tests {
    use super::{DocumentFormat, MAX_HEADING, blocks, metadata_len};

    /// Returns the headings and the texts of the blocks of Markdown.
    fn markdown(text: &str) -> Vec<(String, &str)> {
        let blocks = blocks(text, DocumentFormat::Markdown).into_iter();
        blocks.map(|block| (block.heading, text.get(block.range).unwrap().trim())).collect()
    }

    #[test]
    fn metadata_before_markdown_are_no_heading() {
        let text = "\u{feff}---\ntitle: Leave\ntags: a\n---\n\nFirst.\n";
        let metadata = "---\ntitle: Leave\ntags: a\n---";
        assert_eq!(markdown(text), [(String::new(), metadata), (String::new(), "First.")]);
        for (text, len) in [
            ("+++\r\na = 1\r\n+++\r\n# One", 17),
            ("---\na: 1\n...\nText", 13),
            ("---\n---\n", 8),
            ("---\n\nText after a rule.\n\n---\n", 0),
            ("---\nnever ends\n", 0),
            ("Text\n---\n", 0),
            ("", 0),
        ] {
            assert_eq!(metadata_len(text), len, "{text:?}");
        }
    }

    #[test]
    fn definitions_of_links_are_kept() {
        let text =
            "# One\n\nSee [it].\n\n[it]: https://example.com/page 'A page'\n\n# Two\n\n[b]: /b";
        let first = || "One".to_owned();
        let expected = [
            (first(), "# One"),
            (first(), "See [it]."),
            (first(), "[it]: https://example.com/page 'A page'"),
            ("Two".to_owned(), "# Two"),
            ("Two".to_owned(), "[b]: /b"),
        ];
        assert_eq!(markdown(text), expected);
    }

    #[test]
    fn headings_are_short_lines() {
        let found = markdown("One\ntwo\n===\n\nText.");
        assert_eq!(found[0].0, "One two");
        for (text, len) in [
            (format!("# {}\n\nText.", "ä".repeat(100_000)), MAX_HEADING),
            (format!("# {}\n\nText.", "`a` ".repeat(100_000)), MAX_HEADING - 1),
        ] {
            let found = markdown(&text);
            assert_eq!(found[1].0.len(), len);
        }
    }
}
