//! The head of a report: what all of it came to.

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
    /// What the runs cost together, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    pub events: u64,
    pub lost: u64,
    pub unreadable: u64,
}

impl Totals {
    pub(super) fn of(rows: &[Row]) -> Self {
        let (mut totals, mut cost) = (Self::default(), None);
        for row in rows {
            match row.kind {
                // It counts as it went on.
                Kind::Run | Kind::Tool if row.goes_on => {}
                Kind::Run if row.parent.is_none() => {
                    totals.add_run(row.state);
                    if let Some(more) = row.cost {
                        *cost.get_or_insert(0.0) += more;
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
                    totals.waiting += usize::from(row.state == State::Waiting);
                    totals.retried += usize::from(row.marks.contains(&Mark::Retried));
                    totals.repaired += usize::from(row.marks.contains(&Mark::Repaired));
                }
                Kind::Run | Kind::Event => {}
            }
        }
        totals.at_once = super::layout::at_once(rows);
        totals.cost = cost.map(money);
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
