//! Selection of the closest branch if no branch is valid.

use serde_json::{Map, Value};

use super::branch::BranchRank;
use super::fault::{Fault, PathSegment, ViolatedRule};
use super::keywords::{names, object_at};
use super::validator::Validator;

impl<'s, 'v> Validator<'s, 'v> {
    /// Reports the faults of the closest branch.
    pub(in crate::check) fn explain(
        &mut self,
        ranks: &[(&'s Value, BranchRank)],
        failed: Vec<(&'s Value, Vec<Fault<'s, 'v>>)>,
    ) {
        let all = || ranks.iter().map(|(branch, _)| *branch).collect();
        if self.is_trial() {
            return self.fault(ViolatedRule::NoneOf(Vec::new()));
        }
        if !failed.is_empty() {
            return self.explain_failed(failed);
        }
        let likeliest = ranks.iter().map(|(_, rank)| *rank).max();
        let likely: Vec<_> = ranks
            .iter()
            .filter(|(_, rank)| *rank > BranchRank::Mismatched)
            .map(|(branch, _)| *branch)
            .collect();
        match likeliest {
            None | Some(BranchRank::Mismatched) => self.explain_mismatched(all()),
            _ if self.explain_tag(&likely) || self.explain_wrapper(&likely) => {}
            likeliest => {
                let best = ranks.iter().filter(|(_, rank)| Some(*rank) == likeliest);
                self.explain_best(best.map(|(branch, _)| *branch).collect());
            }
        }
    }

    /// Reports the faults of the failed branch with the fewest faults at the value itself, and then
    /// with the fewest faults in all.
    fn explain_failed(&mut self, failed: Vec<(&'s Value, Vec<Fault<'s, 'v>>)>) {
        let depth = self.depth_of_path();
        let distance = |faults: &[Fault<'s, 'v>]| {
            let at_value = faults.iter().filter(|fault| fault.is_at(depth)).count();
            (at_value, faults.len())
        };
        let min_distance = failed.iter().map(|(_, faults)| distance(faults)).min();
        let (mut best, _): (Vec<_>, Vec<_>) =
            failed.into_iter().partition(|(_, faults)| Some(distance(faults)) == min_distance);
        if best.len() > 1 {
            let expected_schemas = best.into_iter().map(|(branch, _)| branch).collect();
            self.fault(ViolatedRule::NoneOf(expected_schemas));
        } else if let Some((_, faults)) = best.pop() {
            self.extend_faults(faults);
        }
    }

    /// No branch has this type. If one of two branches is null, the other one is described in full.
    fn explain_mismatched(&mut self, branches: Vec<&'s Value>) {
        let is_null = |branch: &Value| branch.get("type").is_some_and(|name| name == "null");
        let others = branches.iter().copied().filter(|branch| !is_null(branch));
        let others: Vec<_> = others.collect();
        match others.as_slice() {
            [] => self.fault(ViolatedRule::NoneOf(branches)),
            [only] => self.validate(only, self.value()),
            _ => self.fault(ViolatedRule::NoneOf(others)),
        }
    }

    fn explain_best(&mut self, best: Vec<&'s Value>) {
        match best.as_slice() {
            [only] => self.validate(only, self.value()),
            _ => self.fault(ViolatedRule::NoneOf(best)),
        }
    }

    /// Reports a wrong tag, the member whose value distinguishes the branches. Returns true if that
    /// explains the mismatch.
    fn explain_tag(&mut self, branches: &[&'s Value]) -> bool {
        let Value::Object(members) = self.value() else {
            return false;
        };
        let Some((tag, schemas)) = self.tag(branches) else {
            return false;
        };
        let Some((key, value)) = members.get_key_value(tag) else {
            self.fault(ViolatedRule::Missing {
                name: tag,
                expected_schemas: schemas,
                required_by: None,
            });
            return true;
        };
        let candidates: Vec<_> = branches
            .iter()
            .zip(&schemas)
            .filter(|(_, schema)| {
                schema.as_object().is_some_and(|rules| self.matches_choices(rules, value))
            })
            .map(|(branch, _)| *branch)
            .collect();
        match candidates.as_slice() {
            [] => self.fault_at(PathSegment::Key(key), value, ViolatedRule::Tag(schemas)),
            [only] => self.validate(only, self.value()),
            _ => return false,
        }
        true
    }

    /// Returns the first member whose value every branch fixes, with its schema in each branch.
    fn tag(&mut self, branches: &[&'s Value]) -> Option<(&'s str, Vec<&'s Value>)> {
        let mut referenced_rules = branches.iter().map(|branch| self.referenced_rules(branch));
        let first = referenced_rules.next()?;
        let others: Vec<_> = referenced_rules.collect();
        let names =
            first.iter().flat_map(|rules| object_at(rules, "properties")).map(|(name, _)| name);
        for name in names {
            if !self.spend(1 + branches.len() / 8) {
                return None;
            }
            let schemas: Option<Vec<_>> = std::iter::once(&first)
                .chain(&others)
                .map(|referenced_rules| fixed(referenced_rules, name))
                .collect();
            if let Some(schemas) = schemas {
                return Some((name, schemas));
            }
        }
        None
    }

    /// Reports a wrong variant name in an externally tagged enum of serde, whose branches have one
    /// member each.
    fn explain_wrapper(&mut self, branches: &[&'s Value]) -> bool {
        let Value::Object(members) = self.value() else {
            return false;
        };
        let known: Option<Vec<_>> = branches
            .iter()
            .map(|branch| {
                let rules = branch.as_object()?;
                // A flattened enum may have other members, and required ones.
                rules.get("additionalProperties").filter(|rest| **rest == Value::Bool(false))?;
                let mut required = names(rules.get("required"));
                let only = required.next().filter(|_| required.next().is_none())?;
                let mut properties = object_at(rules, "properties");
                let (name, _) = properties.next().filter(|_| properties.next().is_none())?;
                (name == only).then_some(name)
            })
            .collect();
        let Some(known) = known.filter(|known| known.len() > 1) else {
            return false;
        };
        let mut unknown_members =
            members.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let unknown_member = unknown_members.next();
        match unknown_member {
            Some((name, value)) => self.unknown(known, Vec::new(), name, value),
            None => return false,
        }
        true
    }
}

/// Returns the schema of the member `name`, if it allows only fixed values.
fn fixed<'s>(referenced_rules: &[&'s Map<String, Value>], name: &str) -> Option<&'s Value> {
    referenced_rules.iter().find_map(|rules| {
        let schema = rules.get("properties")?.get(name)?;
        (schema.get("const").is_some() || schema.get("enum").is_some()).then_some(schema)
    })
}
