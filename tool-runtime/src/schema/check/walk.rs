//! The walk: value against schema, within limits.

use std::ptr;

use serde_json::{Map, Value};

use super::equal::equal;
use super::fault::{Fault, Rule, Step};
use super::limits::{FUEL, FUEL_PER_NODE, MAX_DEPTH, weight};
use super::pattern::Patterns;
use super::rules::{fits_type, list};
use crate::schema::pointer;

/// Mismatches after which the walk stops.
const MOST_FAULTS: usize = 20;

/// State of one walk; `'s` is the schema's life, `'v` the value's.
#[derive(Debug)]
pub(super) struct Walk<'s, 'v> {
    root: &'s Value,
    pub(super) fuel: usize,
    pub(super) depth: usize,
    /// Set when a limit was met; from then on nothing found counts.
    pub(super) exhausted: bool,
    patterns: Patterns<'s>,
    path: Vec<Step<'v>>,
    /// References being followed, each with the value that it is followed for.
    open: Vec<(&'s Value, &'v Value)>,
    pub(super) faults: Vec<Fault<'s, 'v>>,
    /// Faults after which the present question is answered.
    pub(super) room: usize,
    /// The value being looked at.
    value: &'v Value,
}

impl<'s, 'v> Walk<'s, 'v> {
    pub(super) fn run(root: &'s Value, value: &'v Value) -> Vec<Fault<'s, 'v>> {
        let weight = weight(value, MAX_DEPTH);
        let mut walk = Self {
            root,
            fuel: FUEL.saturating_add(weight.unwrap_or(0).saturating_mul(FUEL_PER_NODE)),
            depth: 0,
            exhausted: weight.is_none(),
            patterns: Patterns::default(),
            path: Vec::new(),
            open: Vec::new(),
            faults: Vec::new(),
            room: MOST_FAULTS,
            value,
        };
        walk.walk(root, value);
        if walk.exhausted && walk.faults.is_empty() {
            walk.faults.push(Fault { path: Vec::new(), rule: Rule::Unchecked, value });
        }
        walk.faults
    }

    /// Adds every fault of `value` against `schema`.
    pub(super) fn walk(&mut self, schema: &'s Value, value: &'v Value) {
        if !self.enter() {
            return;
        }
        let outer = std::mem::replace(&mut self.value, value);
        match schema {
            Value::Bool(false) => self.fault(Rule::Forbidden),
            Value::Object(rules) => self.rules(schema, rules),
            _ => {}
        }
        self.value = outer;
        self.leave();
    }

    /// The same one step further into the value.
    pub(super) fn walk_into(&mut self, step: Step<'v>, schema: &'s Value, value: &'v Value) {
        self.path.push(step);
        self.walk(schema, value);
        self.path.pop();
    }

    fn rules(&mut self, schema: &'s Value, rules: &'s Map<String, Value>) {
        let value = self.value;
        if !fits_type(rules, value) || !self.fits_choice(rules, value) {
            // Of another kind altogether: further rules would only be noise.
            return self.fault(Rule::Unlike(vec![schema]));
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.number(rules, number),
            Value::String(text) => self.text(rules, text),
            Value::Array(items) => self.array(rules, items),
            Value::Object(members) => self.object(rules, members),
        }
        self.in_place(rules);
        match value {
            Value::Array(items) => self.unevaluated_items(rules, items),
            Value::Object(members) => self.unevaluated_members(rules, members),
            _ => {}
        }
    }

    /// The keywords that hold further schemas for the same value.
    fn in_place(&mut self, rules: &'s Map<String, Value>) {
        let value = self.value;
        if let Some(target) = self.target(rules) {
            self.follow(target, value, |walk| walk.walk(target, value));
        }
        for schema in list(rules, "allOf") {
            self.walk(schema, value);
        }
        self.any_of(list(rules, "anyOf"));
        self.one_of(list(rules, "oneOf"));
        if let Some(test) = rules.get("if") {
            let branch = if self.holds(test, value) { "then" } else { "else" };
            if let Some(schema) = rules.get(branch) {
                self.walk(schema, value);
            }
        }
        if let Some(schema) = rules.get("not")
            && self.holds(schema, value)
        {
            self.fault(Rule::Excluded(schema));
        }
    }

    /// Where a `$ref` leads.
    pub(super) fn target(&mut self, rules: &'s Map<String, Value>) -> Option<&'s Value> {
        let reference = rules.get("$ref")?.as_str()?;
        self.pay(reference.len() / 16).then(|| pointer::resolve(self.root, reference))?
    }

    /// Does `then` unless `target` is already being followed for this very value: a reference that
    /// leads back to itself adds no rule.
    pub(super) fn follow(
        &mut self,
        target: &'s Value,
        value: &'v Value,
        then: impl FnOnce(&mut Self),
    ) {
        let mut here = self.open.iter().rev();
        let mut here = here.by_ref().take_while(|(_, other)| ptr::eq(*other, value));
        if here.any(|(other, _)| ptr::eq(*other, target)) {
            return;
        }
        self.open.push((target, value));
        then(self);
        self.open.pop();
    }

    /// True when `value` is valid; no fault is kept.
    pub(super) fn holds(&mut self, schema: &'s Value, value: &'v Value) -> bool {
        self.trial(schema, value, 1).is_empty()
    }

    /// The faults of `value` against `schema`, as many as the present question needs.
    pub(super) fn try_branch(&mut self, schema: &'s Value, value: &'v Value) -> Vec<Fault<'s, 'v>> {
        self.trial(schema, value, self.room)
    }

    fn trial(&mut self, schema: &'s Value, value: &'v Value, room: usize) -> Vec<Fault<'s, 'v>> {
        let outer = std::mem::take(&mut self.faults);
        let outer_room = std::mem::replace(&mut self.room, room);
        self.walk(schema, value);
        self.room = outer_room;
        std::mem::replace(&mut self.faults, outer)
    }

    /// [`Self::holds`] for a member's name, which is no value of its own.
    pub(super) fn name_holds(&mut self, schema: &'s Value, name: &str) -> bool {
        if !self.pay(name.len() / 64) {
            return true;
        }
        let value = Value::from(name);
        let mut inner = Walk {
            root: self.root,
            fuel: self.fuel,
            depth: self.depth,
            exhausted: false,
            patterns: std::mem::take(&mut self.patterns),
            path: Vec::new(),
            open: Vec::new(),
            faults: Vec::new(),
            room: 1,
            value: &value,
        };
        inner.walk(schema, &value);
        let holds = inner.faults.is_empty();
        self.fuel = inner.fuel;
        self.exhausted |= inner.exhausted;
        self.patterns = inner.patterns;
        holds
    }

    /// Whether `pattern` matches; `None` when it can't be told, since it can't be compiled.
    pub(super) fn matches(&mut self, pattern: &'s str, text: &str) -> Option<bool> {
        if !self.pay(pattern.len() / 16 + 1) {
            return None;
        }
        let cost = self.patterns.get(pattern)?.cost(text);
        if !self.pay(cost) {
            return None;
        }
        Some(self.patterns.get(pattern)?.is_match(text))
    }

    pub(super) fn fault(&mut self, rule: Rule<'s, 'v>) {
        if !self.exhausted && self.faults.len() < self.room {
            self.faults.push(Fault { path: self.path.clone(), rule, value: self.value });
        }
    }

    pub(super) fn fault_at(&mut self, step: Step<'v>, value: &'v Value, rule: Rule<'s, 'v>) {
        let outer = std::mem::replace(&mut self.value, value);
        self.path.push(step);
        self.fault(rule);
        self.path.pop();
        self.value = outer;
    }

    /// Takes over the faults of a trial.
    pub(super) fn adopt(&mut self, faults: Vec<Fault<'s, 'v>>) {
        let room = self.room.saturating_sub(self.faults.len());
        if !self.exhausted {
            self.faults.extend(faults.into_iter().take(room));
        }
    }

    /// True when only the verdict counts, not the wording.
    pub(super) fn is_trial(&self) -> bool {
        self.room == 1
    }

    pub(super) fn value(&self) -> &'v Value {
        self.value
    }

    pub(super) fn depth_of_path(&self) -> usize {
        self.path.len()
    }

    fn fits_choice(&mut self, rules: &'s Map<String, Value>, value: &'v Value) -> bool {
        let constant = rules.get("const");
        let choices = rules.get("enum").and_then(Value::as_array);
        if constant.is_none() && choices.is_none() {
            return true;
        }
        let cost = match value {
            Value::Array(_) | Value::Object(_) => weight(value, MAX_DEPTH).unwrap_or(usize::MAX),
            _ => 1,
        };
        let compared = choices.map_or(1, |choices| choices.len() + 1);
        !self.pay(compared.saturating_mul(cost) / 8)
            || (constant.is_none_or(|constant| equal(constant, value))
                && choices.is_none_or(|choices| choices.iter().any(|choice| equal(choice, value))))
    }
}
