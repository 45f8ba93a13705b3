//! A branch is looked at before it is walked: its type, its tag, its required members.
//!
//! This leaves one branch of a tagged enum, so that nested enums are walked in linear time, and
//! tells what the value was meant to be when nothing is left.

use std::cmp::Reverse;

use serde_json::{Map, Value};

use super::equal::equal;
use super::rules::{fits_type, list, names, object_at};
use super::walk::Walk;

/// References looked through before a branch is taken as it stands.
const HOPS: usize = 8;

/// What a glance at a branch tells; the order is from unlikely to likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Glance {
    /// Of another type, or not among its choices.
    Unlike,
    /// A member with a fixed value has another one.
    OtherTag,
    /// Members are missing: this many.
    Incomplete(Reverse<usize>),
    /// May hold.
    Possible,
}

impl<'s, 'v> Walk<'s, 'v> {
    pub(super) fn glances(&mut self, branches: &'s [Value]) -> Vec<(&'s Value, Glance)> {
        branches.iter().map(|branch| (branch, self.glance(branch))).collect()
    }

    fn glance(&mut self, branch: &'s Value) -> Glance {
        let value = self.value();
        let mut glance = Glance::Possible;
        for rules in self.layers(branch) {
            if !fits_type(rules, value) || !self.is_choice(rules, value) {
                return Glance::Unlike;
            }
            let Value::Object(members) = value else {
                continue;
            };
            if self.has_other_tag(rules, members) {
                glance = glance.min(Glance::OtherTag);
            }
            let missing = names(rules.get("required"))
                .filter(|name| self.pay(1) && !members.contains_key(*name))
                .count();
            if missing > 0 {
                glance = glance.min(Glance::Incomplete(Reverse(missing)));
            }
        }
        glance
    }

    fn has_other_tag(
        &mut self,
        rules: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
    ) -> bool {
        object_at(rules, "properties").any(|(name, schema)| {
            self.pay(1)
                && schema.as_object().is_some_and(|rules| {
                    members.get(name).is_some_and(|member| !self.is_choice(rules, member))
                })
        })
    }

    /// True when `const` and `enum` allow `value`, as far as a glance tells: arrays and objects may
    /// be long to compare, and are left to the walk.
    pub(super) fn is_choice(&mut self, rules: &'s Map<String, Value>, value: &'v Value) -> bool {
        let choices = list(rules, "enum");
        value.is_array()
            || value.is_object()
            || !self.pay(choices.len() / 8)
            || (rules.get("const").is_none_or(|only| equal(only, value))
                && (!rules.contains_key("enum")
                    || choices.iter().any(|choice| equal(choice, value))))
    }

    /// The rules of a schema and of those that it refers to.
    pub(super) fn layers(&mut self, schema: &'s Value) -> Vec<&'s Map<String, Value>> {
        let mut layers = Vec::with_capacity(2);
        let mut next = Some(schema);
        while let Some(Value::Object(rules)) = next
            && layers.len() < HOPS
            && self.pay(1 + rules.len() / 8)
        {
            layers.push(rules);
            next = self.target(rules);
        }
        layers
    }
}
