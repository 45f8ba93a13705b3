//! Validation of `anyOf` and `oneOf`.

use serde_json::Value;

use super::branch_rank::BranchRank;
use super::fault::ViolatedRule;
use super::validator::Validator;

impl<'s, 'v> Validator<'s, 'v> {
    pub(super) fn any_of(&mut self, branches: &'s [Value]) {
        if branches.is_empty() {
            return;
        }
        let ranks = self.rank_branches(branches);
        let mut failed = Vec::new();
        for branch in possible(&ranks) {
            let faults = self.try_branch(branch, self.value());
            if faults.is_empty() {
                return;
            }
            failed.push((branch, faults));
        }
        self.explain(&ranks, failed);
    }

    pub(super) fn one_of(&mut self, branches: &'s [Value]) {
        if branches.is_empty() {
            return;
        }
        let ranks = self.rank_branches(branches);
        let mut valid = Vec::new();
        let mut failed = Vec::new();
        for branch in possible(&ranks) {
            let faults = self.try_branch(branch, self.value());
            if faults.is_empty() {
                valid.push(branch);
            } else {
                failed.push((branch, faults));
            }
        }
        match valid.len() {
            0 => self.explain(&ranks, failed),
            1 => {}
            _ => self.fault(ViolatedRule::Ambiguous(valid)),
        }
    }
}

fn possible<'s>(ranks: &[(&'s Value, BranchRank)]) -> impl Iterator<Item = &'s Value> {
    let possible = ranks.iter().filter(|(_, rank)| *rank == BranchRank::Possible);
    possible.map(|(branch, _)| *branch)
}
