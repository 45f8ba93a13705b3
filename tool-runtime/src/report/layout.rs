//! Where rows stand: one below the other, on a common axis of time, and packed into lanes.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::row::{Kind, Row};

/// What the times of a drawing count from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Axis {
    /// From the first start to the last end, in microseconds.
    pub length: u64,
    /// Whether each outermost row begins at 0: they lie so far apart that they could not be seen.
    pub is_apart: bool,
}

/// Puts each row behind the one that it hangs below, what began first first.
pub(super) fn in_order(rows: Vec<Row>) -> Vec<Row> {
    let mut below = vec![Vec::new(); rows.len()];
    let mut outermost = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        match row.parent.and_then(|parent| below.get_mut(parent)) {
            Some(siblings) => siblings.push(place),
            None => outermost.push(place),
        }
    }
    let start = |place: &usize| Reverse((rows.get(*place).map(|row| row.start), *place));
    let mut order = Vec::with_capacity(rows.len());
    let mut places = vec![None; rows.len()];
    // What comes next is at the end. No recursion: calls may lie deep in a log from elsewhere.
    outermost.sort_by_key(start);
    let mut waiting = outermost;
    while let Some(place) = waiting.pop() {
        if let Some(new) = places.get_mut(place) {
            *new = Some(order.len());
        }
        order.push(place);
        if let Some(siblings) = below.get_mut(place) {
            siblings.sort_by_key(start);
            waiting.append(siblings);
        }
    }
    let mut rows: Vec<_> = rows.into_iter().map(Some).collect();
    let ordered = order.into_iter().filter_map(|place| rows.get_mut(place)?.take());
    let placed = |mut row: Row| {
        let placed = |place: usize| places.get(place).copied().flatten();
        (row.parent, row.before) = (row.parent.and_then(placed), row.before.and_then(placed));
        row
    };
    ordered.map(placed).collect()
}

/// Makes times count from the first of all; or, where outermost rows have little to do with each other in
/// time, from the first of each.
pub(super) fn on_an_axis(rows: &mut [Row]) -> Axis {
    let spans = trees(rows).map(|tree| {
        let start = tree.iter().map(|row| row.start).min().unwrap_or_default();
        (start, tree.iter().map(|row| row.end).max().unwrap_or_default())
    });
    let spans: Vec<_> = spans.collect();
    let first = spans.iter().map(|(start, _)| *start).min().unwrap_or_default();
    let last = spans.iter().map(|(_, end)| *end).max().unwrap_or_default();
    let whole = last.saturating_sub(first);
    let is_apart = spans.len() > 1 && covered(&spans) < whole / 2;
    let longest = spans.iter().map(|(start, end)| end.saturating_sub(*start)).max();
    for (tree, (start, _)) in trees_mut(rows).zip(&spans) {
        let zero = if is_apart { *start } else { first };
        for row in tree {
            row.start = row.start.saturating_sub(zero);
            row.end = row.end.saturating_sub(zero);
            row.notes.iter_mut().for_each(|note| note.at = note.at.saturating_sub(zero));
        }
    }
    Axis { length: if is_apart { longest.unwrap_or_default() } else { whole }, is_apart }
}

fn trees(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|_, next| next.parent.is_some())
}

fn trees_mut(rows: &mut [Row]) -> impl Iterator<Item = &mut [Row]> {
    rows.chunk_by_mut(|_, next| next.parent.is_some())
}

/// For how long at least one of these went on.
fn covered(spans: &[(u64, u64)]) -> u64 {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let (mut covered, mut until) = (0_u64, 0);
    for (start, end) in spans {
        covered = covered.saturating_add(end.saturating_sub(start.max(until)));
        until = end.max(until);
    }
    covered
}

/// Gives each model and tool call the first lane that is free when it begins. How many lanes there are.
pub(super) fn in_lanes(rows: &mut [Row]) -> usize {
    let mut calls: Vec<_> =
        rows.iter_mut().filter(|row| matches!(row.kind, Kind::Model | Kind::Tool)).collect();
    calls.sort_by_key(|row| row.start);
    let (mut taken, mut free, mut lanes) = (BinaryHeap::new(), BTreeSet::new(), 0);
    for row in calls {
        while let Some(Reverse((end, lane))) = taken.peek().copied()
            && end <= row.start
        {
            taken.pop();
            free.insert(lane);
        }
        let lane = free.pop_first().unwrap_or_else(|| {
            lanes += 1;
            lanes - 1
        });
        // What takes no time takes its place all the same.
        taken.push(Reverse((row.end.max(row.start.saturating_add(1)), lane)));
        row.lane = Some(lane);
    }
    lanes
}

/// How many calls of tools went on at once, at most; those that made others and waited for them don't
/// count.
pub(super) fn at_once(rows: &[Row]) -> usize {
    let callers: BTreeSet<_> = rows.iter().filter_map(|row| row.parent).collect();
    let calls = rows.iter().enumerate();
    let calls = calls.filter(|(place, row)| row.kind == Kind::Tool && !callers.contains(place));
    // At the same moment, what ends comes first.
    let mut turns: Vec<_> = calls
        .flat_map(|(_, row)| [(row.start, 1), (row.end.max(row.start.saturating_add(1)), -1)])
        .collect();
    turns.sort_unstable();
    let (mut now, mut most) = (0_isize, 0);
    for (_, change) in turns {
        now += change;
        most = now.max(most);
    }
    usize::try_from(most).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of tools: parent, start, end.
    fn rows(spans: &[(Option<usize>, u64, u64)]) -> Vec<Row> {
        let row =
            |(parent, start, end)| Row { kind: Kind::Tool, parent, start, end, ..Row::default() };
        spans.iter().copied().map(row).collect()
    }

    fn spans(rows: &[Row]) -> Vec<(Option<usize>, u64, u64)> {
        rows.iter().map(|row| (row.parent, row.start, row.end)).collect()
    }

    #[test]
    fn rows_stand_below_what_made_them_in_the_order_of_time() {
        for (told, expected) in [
            (&[][..], &[][..]),
            (
                // Two runs at once, calls of both told in turns.
                &[(None, 0, 9), (None, 1, 8), (Some(1), 2, 3), (Some(0), 3, 4), (Some(2), 3, 3)],
                &[(None, 0, 9), (Some(0), 3, 4), (None, 1, 8), (Some(2), 2, 3), (Some(3), 3, 3)],
            ),
            (
                // What is told late began first.
                &[(None, 5, 9), (Some(0), 8, 9), (Some(0), 6, 9), (None, 0, 1)],
                &[(None, 0, 1), (None, 5, 9), (Some(1), 6, 9), (Some(1), 8, 9)],
            ),
        ] {
            assert_eq!(spans(&in_order(rows(told))), expected);
        }
    }

    #[test]
    fn deep_calls_are_put_in_order_too() {
        let deep: Vec<_> = (0..100_000_usize).map(|at| (at.checked_sub(1), 0, 1)).collect();
        assert_eq!(spans(&in_order(rows(&deep))), deep);
    }

    #[test]
    fn the_axis_begins_where_something_does() {
        for (told, expected, length, is_apart) in [
            (&[][..], &[][..], 0, false),
            (&[(None, 100, 107)], &[(None, 0, 7)], 7, false),
            // Runs that follow each other.
            (&[(None, 100, 107), (None, 110, 117)], &[(None, 0, 7), (None, 10, 17)], 17, false),
            // Runs of the same length an hour apart.
            (
                &[(None, 100, 107), (Some(0), 102, 103), (None, 9_100, 9_109)],
                &[(None, 0, 7), (Some(0), 2, 3), (None, 0, 9)],
                9,
                true,
            ),
            // One that nothing was heard of for long is still one.
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
            let mut rows = rows(told);
            assert_eq!(on_an_axis(&mut rows), Axis { length, is_apart }, "{told:?}");
            assert_eq!(spans(&rows), expected);
        }
    }

    #[test]
    fn lanes_show_what_ran_at_once() {
        for (told, lanes, most) in [
            (&[][..], &[][..], 0),
            (&[(None, 0, 5), (None, 5, 9)], &[0, 0], 1),
            (&[(None, 0, 5), (None, 4, 9), (None, 5, 6)], &[0, 1, 0], 2),
            (&[(None, 0, 9), (None, 0, 3), (None, 0, 5), (None, 3, 4)], &[0, 1, 2, 1], 3),
            // They take no time.
            (&[(None, 3, 3), (None, 3, 3)], &[0, 1], 2),
            // A call and what it calls.
            (&[(None, 0, 9), (Some(0), 1, 4), (Some(0), 2, 3)], &[0, 1, 2], 2),
        ] {
            let mut rows = rows(told);
            let count = in_lanes(&mut rows);
            let taken: Vec<_> = rows.iter().filter_map(|row| row.lane).collect();
            assert_eq!((taken.as_slice(), at_once(&rows)), (lanes, most), "{told:?}");
            assert_eq!(count, lanes.iter().max().map_or(0, |most| most + 1));
        }
    }
}
