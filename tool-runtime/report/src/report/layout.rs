//! Layout of rows: their order, a common time axis, and lanes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::row::{Row, RowKind};

/// The time axis of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Axis {
    /// The time from the first start to the last end, in microseconds.
    pub length: u64,
    /// Whether each outermost row starts at 0, because the rows are too far apart to be visible on
    /// one axis.
    pub has_separate_starts: bool,
}

/// Orders rows so that each follows its parent, siblings by their start.
pub(super) fn order_rows(rows: Vec<Row>) -> Vec<Row> {
    let mut below = vec![Vec::new(); rows.len()];
    let mut outermost = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match row.parent.and_then(|parent| below.get_mut(parent)) {
            Some(siblings) => siblings.push(index),
            None => outermost.push(index),
        }
    }
    let start = |index: &usize| Reverse((rows.get(*index).map(|row| row.start), *index));
    let mut order = Vec::with_capacity(rows.len());
    let mut new_indices = vec![None; rows.len()];
    // The next row is at the end. Without recursion, because calls of a foreign log may be nested
    // deeply.
    outermost.sort_by_key(start);
    let mut waiting = outermost;
    while let Some(index) = waiting.pop() {
        if let Some(new) = new_indices.get_mut(index) {
            *new = Some(order.len());
        }
        order.push(index);
        if let Some(siblings) = below.get_mut(index) {
            siblings.sort_by_key(start);
            waiting.append(siblings);
        }
    }
    let mut rows: Vec<_> = rows.into_iter().map(Some).collect();
    let ordered = order.into_iter().filter_map(|index| rows.get_mut(index)?.take());
    let new_index = |index: usize| new_indices.get(index).copied().flatten();
    let reindexed = |mut row: Row| {
        row.parent = row.parent.and_then(new_index);
        row.previous = row.previous.and_then(new_index);
        row
    };
    ordered.map(reindexed).collect()
}

/// Makes times relative to the first start of all rows, or, if the outermost rows are far apart, to
/// the start of each.
pub(super) fn align_to_axis(rows: &mut [Row]) -> Axis {
    let spans = trees(rows).map(|tree| {
        let start = tree.iter().map(|row| row.start).min().unwrap_or_default();
        (start, tree.iter().map(|row| row.end).max().unwrap_or_default())
    });
    let spans: Vec<_> = spans.collect();
    let first = spans.iter().map(|(start, _)| *start).min().unwrap_or_default();
    let last = spans.iter().map(|(_, end)| *end).max().unwrap_or_default();
    let whole = last.saturating_sub(first);
    let has_separate_starts = spans.len() > 1 && covered(&spans) < whole / 2;
    let longest = spans.iter().map(|(start, end)| end.saturating_sub(*start)).max();
    for (tree, (start, _)) in trees_mut(rows).zip(&spans) {
        let zero = if has_separate_starts { *start } else { first };
        for row in tree {
            row.start = row.start.saturating_sub(zero);
            row.end = row.end.saturating_sub(zero);
            row.notes.iter_mut().for_each(|note| note.at = note.at.saturating_sub(zero));
        }
    }
    Axis {
        length: if has_separate_starts { longest.unwrap_or_default() } else { whole },
        has_separate_starts,
    }
}

fn trees(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|_, next| next.parent.is_some())
}

fn trees_mut(rows: &mut [Row]) -> impl Iterator<Item = &mut [Row]> {
    rows.chunk_by_mut(|_, next| next.parent.is_some())
}

/// Returns the time that at least one of the spans covers.
fn covered(spans: &[(u64, u64)]) -> u64 {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let (mut covered, mut covered_to) = (0_u64, 0);
    for (start, end) in spans {
        covered = covered.saturating_add(end.saturating_sub(start.max(covered_to)));
        covered_to = end.max(covered_to);
    }
    covered
}

/// Assigns each model request and tool call the first free lane, and returns the number of lanes.
pub(super) fn assign_lanes(rows: &mut [Row]) -> usize {
    let mut calls: Vec<_> =
        rows.iter_mut().filter(|row| matches!(row.kind, RowKind::Model | RowKind::Tool)).collect();
    calls.sort_by_key(|row| row.start);
    let (mut occupied, mut free, mut lanes) = (BinaryHeap::new(), BTreeSet::new(), 0);
    for row in calls {
        while let Some(Reverse((end, lane))) = occupied.peek().copied()
            && end <= row.start
        {
            occupied.pop();
            free.insert(lane);
        }
        let lane = free.pop_first().unwrap_or_else(|| {
            lanes += 1;
            lanes - 1
        });
        // A row without duration still takes a lane.
        occupied.push(Reverse((row.end.max(row.start.saturating_add(1)), lane)));
        row.lane = Some(lane);
    }
    lanes
}

/// Returns the highest number of concurrent tool calls. Calls that made other calls and waited for
/// them are not counted.
pub(super) fn max_concurrency(rows: &[Row]) -> usize {
    let callers: BTreeSet<_> = rows.iter().filter_map(|row| row.parent).collect();
    let calls = rows.iter().enumerate();
    let calls = calls.filter(|(index, row)| row.kind == RowKind::Tool && !callers.contains(index));
    // At the same moment, ends come first.
    let mut changes: Vec<_> = calls
        .flat_map(|(_, row)| [(row.start, 1), (row.end.max(row.start.saturating_add(1)), -1)])
        .collect();
    changes.sort_unstable();
    let (mut current, mut highest) = (0_isize, 0);
    for (_, change) in changes {
        current += change;
        highest = current.max(highest);
    }
    usize::try_from(highest).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates rows of tools from parent, start and end.
    fn rows(spans: &[(Option<usize>, u64, u64)]) -> Vec<Row> {
        let row = |(parent, start, end)| Row {
            kind: RowKind::Tool,
            parent,
            start,
            end,
            ..Row::default()
        };
        spans.iter().copied().map(row).collect()
    }

    fn spans(rows: &[Row]) -> Vec<(Option<usize>, u64, u64)> {
        rows.iter().map(|row| (row.parent, row.start, row.end)).collect()
    }

    #[test]
    fn rows_follow_their_parents_by_start() {
        for (input, expected) in [
            (&[][..], &[][..]),
            (
                // Two concurrent runs whose calls alternate.
                &[(None, 0, 9), (None, 1, 8), (Some(1), 2, 3), (Some(0), 3, 4), (Some(2), 3, 3)],
                &[(None, 0, 9), (Some(0), 3, 4), (None, 1, 8), (Some(2), 2, 3), (Some(3), 3, 3)],
            ),
            (
                // Events that arrive late but started first.
                &[(None, 5, 9), (Some(0), 8, 9), (Some(0), 6, 9), (None, 0, 1)],
                &[(None, 0, 1), (None, 5, 9), (Some(1), 6, 9), (Some(1), 8, 9)],
            ),
        ] {
            assert_eq!(spans(&order_rows(rows(input))), expected);
        }
    }

    #[test]
    fn deeply_nested_rows_are_ordered() {
        let deep: Vec<_> = (0..100_000_usize).map(|at| (at.checked_sub(1), 0, 1)).collect();
        assert_eq!(spans(&order_rows(rows(&deep))), deep);
    }

    #[test]
    fn axis_starts_with_the_first_row() {
        for (input, expected, length, has_separate_starts) in [
            (&[][..], &[][..], 0, false),
            (&[(None, 100, 107)], &[(None, 0, 7)], 7, false),
            // Consecutive runs.
            (&[(None, 100, 107), (None, 110, 117)], &[(None, 0, 7), (None, 10, 17)], 17, false),
            // Runs of the same length, an hour apart.
            (
                &[(None, 100, 107), (Some(0), 102, 103), (None, 9_100, 9_109)],
                &[(None, 0, 7), (Some(0), 2, 3), (None, 0, 9)],
                9,
                true,
            ),
            // One run with a long gap.
            (
                &[(None, 0, 1), (Some(0), 900, 901)],
                &[(None, 0, 1), (Some(0), 900, 901)],
                901,
                false,
            ),
            (
                &[(None, 5, u64::MAX), (None, 0, 1)],
                &[(None, 5, u64::MAX), (None, 0, 1)],
                u64::MAX,
                false,
            ),
        ] {
            let mut rows = rows(input);
            assert_eq!(align_to_axis(&mut rows), Axis { length, has_separate_starts }, "{input:?}");
            assert_eq!(spans(&rows), expected);
        }
    }

    #[test]
    fn lanes_show_concurrent_calls() {
        for (input, lanes, most) in [
            (&[][..], &[][..], 0),
            (&[(None, 0, 5), (None, 5, 9)], &[0, 0], 1),
            (&[(None, 0, 5), (None, 4, 9), (None, 5, 6)], &[0, 1, 0], 2),
            (&[(None, 0, 9), (None, 0, 3), (None, 0, 5), (None, 3, 4)], &[0, 1, 2, 1], 3),
            // Rows without duration.
            (&[(None, 3, 3), (None, 3, 3)], &[0, 1], 2),
            // A call and the calls within it.
            (&[(None, 0, 9), (Some(0), 1, 4), (Some(0), 2, 3)], &[0, 1, 2], 2),
        ] {
            let mut rows = rows(input);
            let count = assign_lanes(&mut rows);
            let assigned: Vec<_> = rows.iter().filter_map(|row| row.lane).collect();
            assert_eq!((assigned.as_slice(), max_concurrency(&rows)), (lanes, most), "{input:?}");
            assert_eq!(count, lanes.iter().max().map_or(0, |most| most + 1));
        }
    }
}
