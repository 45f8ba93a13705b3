//! Bounds of a report: long texts are embedded in part, with a note of what was left out.
//!
//! A browser holds the whole page in memory several times, and events contain whole outputs of
//! tools.

use super::excerpt::{MAX_TEXT, NOTE, shorten_text};
use super::row::{Detail, Fact, Row};

/// The highest number of bytes of all texts, in the order of the rows. Further texts are embedded
/// up to [`SHORT_TEXT`].
const MAX_TEXTS: usize = 32 << 20;

/// The number of bytes of a text that is always embedded.
const SHORT_TEXT: usize = 1 << 10;

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
    let (mut left, mut bytes) = (MAX_TEXTS, 0);
    for row in rows.iter_mut() {
        bytes += row.left_out;
        bytes += shorten_text(&mut row.name, SHORT_TEXT);
        for text in texts(row) {
            let max = if left > 0 { MAX_TEXT + NOTE.len() } else { SHORT_TEXT };
            bytes += shorten_text(text, max);
            left = left.saturating_sub(text.len());
        }
    }
    LeftOut { bytes, rows: count - rows.len() }
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
        let long = "x".repeat(MAX_TEXT + 100);
        let mut rows: Vec<_> = (0..1_000)
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
        let whole = 4 * 1_000 * long.len() as u64;
        let left_out = shorten(&mut rows);
        let size = size(&mut rows);
        assert!(size < MAX_TEXTS + MAX_TEXT + 4 * 1_000 * 2 * SHORT_TEXT, "{size} bytes");
        // The notes of what was left out take some bytes.
        assert!(left_out.bytes + size as u64 >= whole);
        assert_eq!(left_out.rows, 0);
        assert_eq!(shorten(&mut vec![Row::default(); MAX_ROWS + 7]).rows, 7);
    }
}
