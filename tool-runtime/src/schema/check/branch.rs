//! anyOf and oneOf: does a branch hold?

use serde_json::Value;

use super::fault::Rule;
use super::glance::Glance;
use super::walk::Walk;

impl<'s, 'v> Walk<'s, 'v> {
    pub(super) fn any_of(&mut self, branches: &'s [Value]) {
        if branches.is_empty() {
            return;
        }
        let glances = self.glances(branches);
        let mut tried = Vec::new();
        for branch in possible(&glances) {
            let faults = self.try_branch(branch, self.value());
            if faults.is_empty() {
                return;
            }
            tried.push((branch, faults));
        }
        self.explain(&glances, tried);
    }

    pub(super) fn one_of(&mut self, branches: &'s [Value]) {
        if branches.is_empty() {
            return;
        }
        let glances = self.glances(branches);
        let mut held = Vec::new();
        let mut tried = Vec::new();
        for branch in possible(&glances) {
            let faults = self.try_branch(branch, self.value());
            if faults.is_empty() {
                held.push(branch);
            } else {
                tried.push((branch, faults));
            }
        }
        match held.len() {
            0 => self.explain(&glances, tried),
            1 => {}
            _ => self.fault(Rule::Ambiguous(held)),
        }
    }
}

fn possible<'s>(glances: &[(&'s Value, Glance)]) -> impl Iterator<Item = &'s Value> {
    let possible = glances.iter().filter(|(_, glance)| *glance == Glance::Possible);
    possible.map(|(branch, _)| *branch)
}
