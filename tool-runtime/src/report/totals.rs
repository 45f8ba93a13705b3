//! The head of a report: what all of it came to.

use std::collections::HashSet;

use serde::Serialize;

use super::row::{Kind, Mark, Row, State};
use crate::event::money::money;
use crate::message::Usage;

/// Counts of rows, and sums over them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Totals {
    /// Outermost runs, each as it ended last: all, those that ended well, those that were stopped, those that wait for
    /// somebody, those without an end.
    pub runs: usize,
    pub answered: usize,
    pub stopped: usize,
    pub paused: usize,
    pub open: usize,
    /// Questions to models, and calls of tools.
    pub model: usize,
    pub tool: usize,
    /// Of the calls of tools.
    pub failed: usize,
    pub blocked: usize,
    pub waiting: usize,
    pub retried: usize,
    pub repaired: usize,
    pub at_once: usize,
    pub usage: Usage,
    /// Where tokens were counted at all.
    pub is_counted: bool,
    /// What the runs cost together: at least, where that of one is unknown, or one within it has no end, or where
    /// replies took more tokens than stand in the runs' bills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    pub events: u64,
    pub lost: u64,
    pub unreadable: u64,
}

impl Totals {
    pub(super) fn of(rows: &[Row]) -> Self {
        let (mut totals, mut costs, mut billed) = (Self::default(), Vec::new(), Usage::default());
        let around = around_what_waits(rows);
        for (place, row) in rows.iter().enumerate() {
            match row.kind {
                // Whoever is around it was never told what it took.
                Kind::Run if row.parent.is_some() && row.state == State::Open => {
                    costs.extend(row.has_spent.then_some(None));
                }
                // It counts as it went on.
                Kind::Run | Kind::Tool if row.goes_on => {}
                Kind::Run if row.parent.is_none() => {
                    totals.add_run(row.state);
                    billed += row.usage.unwrap_or_default();
                    if row.has_spent || row.cost.is_some() {
                        costs.push(row.cost);
                    }
                }
                Kind::Model => {
                    totals.model += 1;
                    totals.is_counted |= row.usage.is_some();
                    totals.usage += row.usage.unwrap_or_default();
                }
                Kind::Tool => {
                    totals.tool += 1;
                    totals.failed += usize::from(row.state == State::Failed);
                    totals.blocked += usize::from(row.state == State::Blocked);
                    totals.waiting +=
                        usize::from(row.state == State::Waiting && !around.contains(&place));
                    totals.retried += usize::from(row.marks.contains(&Mark::Retried));
                    totals.repaired += usize::from(row.marks.contains(&Mark::Repaired));
                }
                Kind::Run | Kind::Event => {}
            }
        }
        // A process died between a reply and the bill that it was to stand in.
        let is_short = billed.input < totals.usage.input || billed.output < totals.usage.output;
        costs.extend(is_short.then_some(None));
        totals.at_once = super::layout::at_once(rows);
        totals.cost = cost(&costs);
        totals
    }

    fn add_run(&mut self, state: State) {
        self.runs += 1;
        match state {
            State::Done => self.answered += 1,
            State::Open => self.open += 1,
            State::Waiting => self.paused += 1,
            State::Failed | State::Blocked => self.stopped += 1,
        }
    }
}

/// Rows that wait for nothing but what waits within them.
fn around_what_waits(rows: &[Row]) -> HashSet<usize> {
    let mut around = HashSet::new();
    for row in rows {
        let waits = row.kind == Kind::Tool && row.state == State::Waiting && !row.goes_on;
        let mut above = row.parent.filter(|_| waits);
        while let Some(place) = above.filter(|place| around.insert(*place)) {
            above = rows.get(place).and_then(|row| row.parent);
        }
    }
    around
}

/// The sum of what is known, and whether that is all.
fn cost(costs: &[Option<f64>]) -> Option<String> {
    let (known, all) = (costs.iter().flatten().count(), costs.len());
    let sum = || money(costs.iter().flatten().sum());
    match known {
        _ if all == 0 => None,
        0 => Some("unknown".into()),
        _ if known < all => Some(format!("≥ {}", sum())),
        _ => Some(sum()),
    }
}
