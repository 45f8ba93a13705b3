//! Validation of `anyOf` and `oneOf`: the branches are ranked before they are validated, by type,
//! tag and required members.
//!
//! The rank leaves one branch of a tagged enum, so that nested enums are validated in linear time.
//! If no branch is left, it tells which one the value is closest to.

use std::cmp::Reverse;

use serde_json::{Map, Value};

use super::equal::equal;
use super::fault::ViolatedRule;
use super::keywords::{fits_type, list, names, object_at};
use super::validator::Validator;

/// The number of references that are followed in a branch.
const MAX_HOPS: usize = 8;

/// The rank of a branch, in ascending order of likelihood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::check) enum BranchRank {
    /// The type differs, or the value is not among the choices.
    Mismatched,
    /// A member with a fixed value has another value.
    OtherTag,
    /// This number of required members is missing.
    Incomplete(Reverse<usize>),
    /// The branch may be valid.
    Possible,
}

impl<'s, 'v> Validator<'s, 'v> {
    pub(in crate::check) fn any_of(&mut self, branches: &'s [Value]) {
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

    pub(in crate::check) fn one_of(&mut self, branches: &'s [Value]) {
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

    fn rank_branches(&mut self, branches: &'s [Value]) -> Vec<(&'s Value, BranchRank)> {
        branches.iter().map(|branch| (branch, self.rank(branch))).collect()
    }

    fn rank(&mut self, branch: &'s Value) -> BranchRank {
        let value = self.value();
        let mut rank = BranchRank::Possible;
        for rules in self.referenced_rules(branch) {
            if !fits_type(rules, value) || !self.matches_choices(rules, value) {
                return BranchRank::Mismatched;
            }
            let Value::Object(members) = value else {
                continue;
            };
            if self.has_other_tag(rules, members) {
                rank = rank.min(BranchRank::OtherTag);
            }
            let missing = names(rules.get("required"))
                .filter(|name| self.spend(1) && !members.contains_key(*name))
                .count();
            if missing > 0 {
                rank = rank.min(BranchRank::Incomplete(Reverse(missing)));
            }
        }
        rank
    }

    fn has_other_tag(
        &mut self,
        rules: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
    ) -> bool {
        object_at(rules, "properties").any(|(name, schema)| {
            self.spend(1)
                && schema.as_object().is_some_and(|rules| {
                    members.get(name).is_some_and(|member| !self.matches_choices(rules, member))
                })
        })
    }

    /// Returns true if `const` and `enum` allow `value`. Arrays and objects may take long to
    /// compare and are left to the validator.
    pub(in crate::check) fn matches_choices(
        &mut self,
        rules: &'s Map<String, Value>,
        value: &'v Value,
    ) -> bool {
        let choices = list(rules, "enum");
        value.is_array()
            || value.is_object()
            || !self.spend(choices.len() / 8)
            || (rules.get("const").is_none_or(|only| equal(only, value))
                && (!rules.contains_key("enum")
                    || choices.iter().any(|choice| equal(choice, value))))
    }

    /// Returns the rules of a schema and of the targets of its references.
    pub(in crate::check) fn referenced_rules(
        &mut self,
        schema: &'s Value,
    ) -> Vec<&'s Map<String, Value>> {
        let mut referenced_rules = Vec::with_capacity(2);
        let mut next = Some(schema);
        while let Some(Value::Object(rules)) = next
            && referenced_rules.len() < MAX_HOPS
            && self.spend(1 + rules.len() / 8)
        {
            referenced_rules.push(rules);
            next = self.target(rules);
        }
        referenced_rules
    }
}

fn possible<'s>(ranks: &[(&'s Value, BranchRank)]) -> impl Iterator<Item = &'s Value> {
    let possible = ranks.iter().filter(|(_, rank)| *rank == BranchRank::Possible);
    possible.map(|(branch, _)| *branch)
}
