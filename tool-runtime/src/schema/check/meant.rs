//! No branch holds: which one was meant?

use serde_json::{Map, Value};

use super::fault::{Fault, Rule, Step};
use super::glance::Glance;
use super::rules::{names, object_at};
use super::walk::Walk;

impl<'s, 'v> Walk<'s, 'v> {
    /// Reports what is wrong with the branch that was meant.
    pub(super) fn explain(
        &mut self,
        glances: &[(&'s Value, Glance)],
        tried: Vec<(&'s Value, Vec<Fault<'s, 'v>>)>,
    ) {
        let all = || glances.iter().map(|(branch, _)| *branch).collect();
        if self.is_trial() {
            return self.fault(Rule::Unlike(Vec::new()));
        }
        if !tried.is_empty() {
            return self.explain_tried(tried);
        }
        let likeliest = glances.iter().map(|(_, glance)| *glance).max();
        let likely: Vec<_> = glances
            .iter()
            .filter(|(_, glance)| *glance > Glance::Unlike)
            .map(|(branch, _)| *branch)
            .collect();
        match likeliest {
            None | Some(Glance::Unlike) => self.explain_unlike(all()),
            _ if self.explain_tag(&likely) || self.explain_wrapper(&likely) => {}
            likeliest => {
                let best = glances.iter().filter(|(_, glance)| Some(*glance) == likeliest);
                self.explain_best(best.map(|(branch, _)| *branch).collect());
            }
        }
    }

    /// Of those walked, the one with the fewest faults, those at this very place first.
    fn explain_tried(&mut self, tried: Vec<(&'s Value, Vec<Fault<'s, 'v>>)>) {
        let here = self.depth_of_path();
        let distance = |faults: &[Fault<'s, 'v>]| {
            let near = faults.iter().filter(|fault| fault.is_at(here)).count();
            (near, faults.len())
        };
        let least = tried.iter().map(|(_, faults)| distance(faults)).min();
        let (mut best, _): (Vec<_>, Vec<_>) =
            tried.into_iter().partition(|(_, faults)| Some(distance(faults)) == least);
        if best.len() > 1 {
            let wanted = best.into_iter().map(|(branch, _)| branch).collect();
            self.fault(Rule::Unlike(wanted));
        } else if let Some((_, faults)) = best.pop() {
            self.adopt(faults);
        }
    }

    /// No branch is of this type; but of a nullable one the other half is told in full.
    fn explain_unlike(&mut self, branches: Vec<&'s Value>) {
        let is_null = |branch: &Value| branch.get("type").is_some_and(|name| name == "null");
        let others = branches.iter().copied().filter(|branch| !is_null(branch));
        let others: Vec<_> = others.collect();
        match others.as_slice() {
            [] => self.fault(Rule::Unlike(branches)),
            [only] => self.walk(only, self.value()),
            _ => self.fault(Rule::Unlike(others)),
        }
    }

    fn explain_best(&mut self, best: Vec<&'s Value>) {
        match best.as_slice() {
            [only] => self.walk(only, self.value()),
            _ => self.fault(Rule::Unlike(best)),
        }
    }

    /// A member whose value tells the branches apart; true when that says it all.
    fn explain_tag(&mut self, branches: &[&'s Value]) -> bool {
        let Value::Object(members) = self.value() else {
            return false;
        };
        let Some((tag, schemas)) = self.tag(branches) else {
            return false;
        };
        let Some((key, value)) = members.get_key_value(tag) else {
            self.fault(Rule::Missing { name: tag, wanted: schemas, because: None });
            return true;
        };
        let meant: Vec<_> = branches
            .iter()
            .zip(&schemas)
            .filter(|(_, schema)| {
                schema.as_object().is_some_and(|rules| self.is_choice(rules, value))
            })
            .map(|(branch, _)| *branch)
            .collect();
        match meant.as_slice() {
            [] => self.fault_at(Step::Key(key), value, Rule::Unlike(schemas)),
            [only] => self.walk(only, self.value()),
            _ => return false,
        }
        true
    }

    /// The first name that every branch fixes the value of, with the schema of each.
    fn tag(&mut self, branches: &[&'s Value]) -> Option<(&'s str, Vec<&'s Value>)> {
        let mut layers = branches.iter().map(|branch| self.layers(branch));
        let first = layers.next()?;
        let others: Vec<_> = layers.collect();
        let names =
            first.iter().flat_map(|rules| object_at(rules, "properties")).map(|(name, _)| name);
        for name in names {
            if !self.pay(1 + branches.len() / 8) {
                return None;
            }
            let schemas: Option<Vec<_>> =
                std::iter::once(&first).chain(&others).map(|layers| fixed(layers, name)).collect();
            if let Some(schemas) = schemas {
                return Some((name, schemas));
            }
        }
        None
    }

    /// Branches with one member each, whose name tells them apart: serde's own way to write enums.
    fn explain_wrapper(&mut self, branches: &[&'s Value]) -> bool {
        let Value::Object(members) = self.value() else {
            return false;
        };
        let known: Option<Vec<_>> = branches
            .iter()
            .map(|branch| {
                let rules = branch.as_object()?;
                // Beside a flattened enum other members may stand, and must.
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
        let mut strangers = members.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let stranger = strangers.next();
        match stranger {
            Some((name, value)) => self.unknown(known, Vec::new(), name, value),
            None => return false,
        }
        true
    }
}

/// The schema of member `name`, if it allows fixed values only.
fn fixed<'s>(layers: &[&'s Map<String, Value>], name: &str) -> Option<&'s Value> {
    layers.iter().find_map(|rules| {
        let schema = rules.get("properties")?.get(name)?;
        (schema.get("const").is_some() || schema.get("enum").is_some()).then_some(schema)
    })
}
