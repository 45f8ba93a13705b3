//! Bounds of a report: long texts are embedded in part, with a note of what was left out.
//!
//! A browser holds the whole page in memory several times, and events contain whole outputs of
//! tools.

use super::excerpt::{MAX_TEXT, NOTE, shorten_text};
use super::row::{Detail, Fact, Row};

/// The highest number of bytes of all texts, in the order of the rows. Further texts are embedded
/// up to [`SHORT_TEXT`].
const MAX_TEXTS: usize = 32 << 20;

/// The number of bytes of a text that is embedded after them.
const SHORT_TEXT: usize = 1 << 10;

/// The highest number of bytes of all short texts. Rows after them have a name and no details.
const MAX_SHORT_TEXTS: usize = 16 << 20;

/// The highest number of bytes of a name of a row without details.
const SHORT_NAME: usize = 64;

/// The highest number of notes of a row, of lines of a table and of facts.
const MAX_PARTS: usize = 1_000;

/// The highest number of rows.
const MAX_ROWS: usize = 100_000;

/// The parts of its events that a report does not embed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) bytes: u64,
    pub(super) rows: usize,
}

/// Shortens the rows to the bounds of a report.
pub(super) fn shorten(rows: &mut Vec<Row>) -> LeftOut {
    let count = rows.len();
    // Parents come first, so no row loses its parent.
    rows.truncate(MAX_ROWS);
    let (mut left, mut short_left, mut bytes) = (MAX_TEXTS, MAX_SHORT_TEXTS, 0);
    for row in rows.iter_mut() {
        bytes += row.left_out;
        bytes += if short_left > 0 { limit_parts(row) } else { drop_details(row) };
        let name_len = if short_left > 0 { SHORT_TEXT } else { SHORT_NAME };
        bytes += shorten_text(&mut row.name, name_len);
        for text in texts(row) {
            let (max, budget) = match left {
                0 => (SHORT_TEXT, &mut short_left),
                _ => (MAX_TEXT + NOTE.len(), &mut left),
            };
            bytes += shorten_text(text, max);
            // A text without content takes some bytes, too.
            *budget = budget.saturating_sub(text.len() + 1);
        }
    }
    LeftOut { bytes, rows: count - rows.len() }
}

/// Limits the number of notes, lines and facts of a row. Returns the number of bytes that were left
/// out.
fn limit_parts(row: &mut Row) -> u64 {
    let before = text_bytes(row);
    row.notes.truncate(MAX_PARTS);
    for detail in &mut row.details {
        match detail {
            Detail::Text { .. } => {}
            Detail::Table { cells, .. } => cells.truncate(MAX_PARTS),
            Detail::Facts { facts } => facts.truncate(MAX_PARTS),
        }
    }
    before - text_bytes(row)
}

/// Removes the notes and the details of a row. Returns the number of bytes that were left out.
fn drop_details(row: &mut Row) -> u64 {
    let before = text_bytes(row);
    row.notes = Vec::new();
    row.details = Vec::new();
    before - text_bytes(row)
}

fn text_bytes(row: &mut Row) -> u64 {
    texts(row).map(|text| text.len() as u64).sum()
}

/// Returns the texts of a row that can be long.
fn texts(row: &mut Row) -> impl Iterator<Item = &mut String> {
    let details = row.details.iter_mut().flat_map(|detail| -> Vec<&mut String> {
        match detail {
            Detail::Text { text, .. } => vec![text],
            Detail::Table { cells, .. } => cells.iter_mut().flatten().collect(),
            Detail::Facts { facts } => {
                let texts = facts.iter_mut().filter_map(|(_, fact)| match fact {
                    Fact::Text(text) => Some(text),
                    _ => None,
                });
                texts.collect()
            }
        }
    });
    row.code.iter_mut().chain(row.notes.iter_mut().map(|note| &mut note.text)).chain(details)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::row::{Form, Note};

    fn size(rows: &mut [Row]) -> usize {
        rows.iter_mut().flat_map(texts).map(|text| text.len()).sum()
    }

    #[test]
    fn texts_of_all_rows_are_limited_together() {
        // Twice as many texts as fit.
        const ROWS: usize = 2 * MAX_TEXTS / MAX_TEXT / 4;
        let long = "x".repeat(MAX_TEXT + 100);
        let mut rows: Vec<_> = (0..ROWS as u64)
            .map(|at| {
                let mut row = Row::default();
                row.text("Result", long.as_str(), Form::Json);
                row.table("Parts", vec!["Content"], vec![vec![long.clone()]]);
                row.note(Note::new(at, "note", long.as_str()));
                let fact = Fact::Text(long.clone());
                row.details.push(Detail::Facts { facts: vec![("Metadata", fact)] });
                row
            })
            .collect();
        let whole = (4 * ROWS * long.len()) as u64;
        let left_out = shorten(&mut rows);
        let size = size(&mut rows);
        assert!(size < MAX_TEXTS + MAX_TEXT + 4 * ROWS * 2 * SHORT_TEXT, "{size} bytes");
        // The notes of what was left out take some bytes.
        assert!(left_out.bytes + size as u64 >= whole);
        assert_eq!(left_out.rows, 0);
    }

    #[test]
    fn short_texts_of_all_rows_are_limited_together() {
        let short = "x".repeat(SHORT_TEXT);
        let row = |at| {
            let mut row = Row { name: short.clone(), ..Row::default() };
            for _ in 0..100 {
                row.note(Note::new(at, "note", short.as_str()));
            }
            row.table("Parts", vec!["Content"], vec![vec![short.clone()]; 100]);
            row
        };
        let mut rows: Vec<_> = (0..1_000).map(row).collect();
        let whole: usize = size(&mut rows);
        let left_out = shorten(&mut rows);
        let size = size(&mut rows);
        assert!(size < MAX_TEXTS + MAX_SHORT_TEXTS + 300 * SHORT_TEXT, "{size} bytes");
        assert!(left_out.bytes >= (whole - size) as u64);
        let last = rows.last().expect("a row");
        assert!(last.notes.is_empty() && last.details.is_empty());
        assert!(last.name.len() < SHORT_NAME + NOTE.len() + 1, "{}", last.name);
    }

    #[test]
    fn parts_of_a_row_are_limited() {
        let mut row = Row::default();
        row.table("Parts", vec!["Content"], vec![vec![String::new()]; 100_000]);
        for at in 0..10_000 {
            row.note(Note::new(at, "note", ""));
        }
        let mut rows = vec![row];
        shorten(&mut rows);
        assert!(texts(&mut rows[0]).count() <= 2 * MAX_PARTS);
    }

    #[test]
    fn rows_are_limited() {
        assert_eq!(shorten(&mut vec![Row::default(); MAX_ROWS + 7]).rows, 7);
    }
}
