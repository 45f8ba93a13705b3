//! Totals at the top of a report.

use std::collections::HashSet;

use serde::Serialize;

use super::row::{Mark, Row, RowKind, RowState};
use tool_core::__workspace::format_amount;
use tool_core::Usage;

/// Counts of rows, and sums over them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Totals {
    /// Outermost runs, by how each ended last: all of them, those with an answer, stopped ones,
    /// those that wait for a decision, and unfinished ones.
    pub runs: usize,
    pub answered: usize,
    pub stopped: usize,
    pub paused: usize,
    pub open: usize,
    /// Model requests and tool calls.
    pub model: usize,
    pub tool: usize,
    /// Tool calls by state.
    pub failed: usize,
    pub blocked: usize,
    pub waiting: usize,
    pub retried: usize,
    pub repaired: usize,
    pub at_once: usize,
    pub usage: Usage,
    /// Whether any tokens were counted.
    pub is_counted: bool,
    /// Cost of all runs. It is a lower bound if the cost of a run is unknown, if a nested run is
    /// unfinished, or if the replies used more tokens than the runs report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<String>,
    pub events: u64,
    pub dropped: u64,
    pub unreadable: u64,
    /// The bytes of long texts, and the rows, that the report does not embed.
    pub left_out: u64,
    pub left_out_rows: usize,
}

impl Totals {
    pub(super) fn of(rows: &[Row]) -> Self {
        let (mut totals, mut costs, mut reported) = (Self::default(), Vec::new(), Usage::default());
        let ancestors = waiting_ancestors(rows);
        for (index, row) in rows.iter().enumerate() {
            match row.kind {
                // The outer run does not know the cost of an unfinished nested run.
                RowKind::Run if row.parent.is_some() && row.state == RowState::Open => {
                    costs.extend(row.has_model_requests.then_some(None));
                }
                // The row that continues it is counted.
                RowKind::Run | RowKind::Tool if row.is_continued => {}
                RowKind::Run if row.parent.is_none() => {
                    totals.add_run(row.state);
                    reported += row.usage.unwrap_or_default();
                    if row.has_model_requests || row.cost.is_some() {
                        costs.push(row.cost);
                    }
                }
                RowKind::Model => {
                    totals.model += 1;
                    totals.is_counted |= row.usage.is_some();
                    totals.usage += row.usage.unwrap_or_default();
                }
                RowKind::Tool => {
                    totals.tool += 1;
                    totals.failed += usize::from(row.state == RowState::Failed);
                    totals.blocked += usize::from(row.state == RowState::Blocked);
                    totals.waiting +=
                        usize::from(row.state == RowState::Waiting && !ancestors.contains(&index));
                    totals.retried += usize::from(row.marks.contains(&Mark::Retried));
                    totals.repaired += usize::from(row.marks.contains(&Mark::Repaired));
                }
                RowKind::Run | RowKind::Event => {}
            }
        }
        // The process ended between a reply and the end of its run.
        let is_incomplete = reported.input_tokens < totals.usage.input_tokens
            || reported.output_tokens < totals.usage.output_tokens;
        costs.extend(is_incomplete.then_some(None));
        totals.at_once = super::layout::max_concurrency(rows);
        totals.cost = cost(&costs);
        totals
    }

    fn add_run(&mut self, state: RowState) {
        self.runs += 1;
        match state {
            RowState::Done => self.answered += 1,
            RowState::Open => self.open += 1,
            RowState::Waiting => self.paused += 1,
            RowState::Failed | RowState::Blocked => self.stopped += 1,
        }
    }
}

/// Returns the rows that wait only because a row within them waits.
fn waiting_ancestors(rows: &[Row]) -> HashSet<usize> {
    let mut ancestors = HashSet::new();
    for row in rows {
        let waits =
            row.kind == RowKind::Tool && row.state == RowState::Waiting && !row.is_continued;
        let mut ancestor = row.parent.filter(|_| waits);
        while let Some(index) = ancestor.filter(|index| ancestors.insert(*index)) {
            ancestor = rows.get(index).and_then(|row| row.parent);
        }
    }
    ancestors
}

/// Returns the sum of the known costs, marked as a lower bound if some are unknown.
fn cost(costs: &[Option<f64>]) -> Option<String> {
    let (known, all) = (costs.iter().flatten().count(), costs.len());
    let sum = || format_amount(costs.iter().flatten().sum());
    match known {
        _ if all == 0 => None,
        0 => Some("unknown".into()),
        _ if known < all => Some(format!("≥ {}", sum())),
        _ => Some(sum()),
    }
}
