//! The validator: value against schema, within limits.

use std::ptr;

use serde_json::{Map, Value};

use super::equal::equal;
use super::fault::{Fault, PathSegment, ViolatedRule};
use super::keywords::{fits_type, list};
use super::limits::{FUEL, FUEL_PER_NODE, MAX_DEPTH, weight};
use super::pattern::Patterns;
use super::pointer::resolve;

/// The number of mismatches after which the validation stops.
const MAX_FAULTS: usize = 20;

/// The state of one validation; `'s` is the lifetime of the schema, `'v` that of the value.
#[derive(Debug)]
pub(in crate::check) struct Validator<'s, 'v> {
    root: &'s Value,
    pub(in crate::check) fuel: usize,
    pub(in crate::check) depth: usize,
    /// True if a limit was reached; later faults don't count.
    pub(in crate::check) exhausted: bool,
    patterns: Patterns<'s>,
    path: Vec<PathSegment<'v>>,
    /// The references that are being followed, each with the value for which it is followed.
    active_references: Vec<(&'s Value, &'v Value)>,
    pub(in crate::check) faults: Vec<Fault<'s, 'v>>,
    /// The number of faults after which the current validation stops.
    pub(in crate::check) max_faults: usize,
    /// The current value.
    value: &'v Value,
}

impl<'s, 'v> Validator<'s, 'v> {
    pub(in crate::check) fn run(root: &'s Value, value: &'v Value) -> Vec<Fault<'s, 'v>> {
        let weight = weight(value, MAX_DEPTH);
        let mut validator = Self {
            root,
            fuel: FUEL.saturating_add(weight.unwrap_or(0).saturating_mul(FUEL_PER_NODE)),
            depth: 0,
            exhausted: weight.is_none(),
            patterns: Patterns::default(),
            path: Vec::new(),
            active_references: Vec::new(),
            faults: Vec::new(),
            max_faults: MAX_FAULTS,
            value,
        };
        validator.validate(root, value);
        if validator.exhausted && validator.faults.is_empty() {
            validator.faults.push(Fault { path: Vec::new(), rule: ViolatedRule::Unchecked, value });
        }
        validator.faults
    }

    /// Records all faults of `value` against `schema`.
    pub(in crate::check) fn validate(&mut self, schema: &'s Value, value: &'v Value) {
        if !self.enter() {
            return;
        }
        let outer = std::mem::replace(&mut self.value, value);
        match schema {
            Value::Bool(false) => self.fault(ViolatedRule::Forbidden),
            Value::Object(rules) => self.rules(schema, rules),
            _ => {}
        }
        self.value = outer;
        self.leave();
    }

    /// Validates a nested value.
    pub(in crate::check) fn validate_child(
        &mut self,
        step: PathSegment<'v>,
        schema: &'s Value,
        value: &'v Value,
    ) {
        self.path.push(step);
        self.validate(schema, value);
        self.path.pop();
    }

    fn rules(&mut self, schema: &'s Value, rules: &'s Map<String, Value>) {
        let value = self.value;
        if !fits_type(rules, value) || !self.fits_choice(rules, value) {
            // The kind differs: further rules would only add noise.
            return self.fault(ViolatedRule::NoneOf(vec![schema]));
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.number(rules, number),
            Value::String(text) => self.text(rules, text),
            Value::Array(items) => self.array(rules, items),
            Value::Object(members) => self.object(rules, members),
        }
        self.applicators(rules);
        match value {
            Value::Array(items) => self.unevaluated_items(rules, items),
            Value::Object(members) => self.unevaluated_members(rules, members),
            _ => {}
        }
    }

    /// Validates the keywords that apply further schemas to the same value.
    fn applicators(&mut self, rules: &'s Map<String, Value>) {
        let value = self.value;
        if let Some(target) = self.target(rules) {
            self.follow(target, value, |validator| validator.validate(target, value));
        }
        for schema in list(rules, "allOf") {
            self.validate(schema, value);
        }
        self.any_of(list(rules, "anyOf"));
        self.one_of(list(rules, "oneOf"));
        if let Some(test) = rules.get("if") {
            let branch = if self.is_valid(test, value) { "then" } else { "else" };
            if let Some(schema) = rules.get(branch) {
                self.validate(schema, value);
            }
        }
        if let Some(schema) = rules.get("not")
            && self.is_valid(schema, value)
        {
            self.fault(ViolatedRule::Excluded(schema));
        }
    }

    /// Returns the target of a `$ref`.
    pub(in crate::check) fn target(&mut self, rules: &'s Map<String, Value>) -> Option<&'s Value> {
        let reference = rules.get("$ref")?.as_str()?;
        self.spend(reference.len() / 16).then(|| resolve(self.root, reference))?
    }

    /// Runs `check` unless `target` is already being followed for this value: a reference that
    /// leads back to itself adds no rule.
    pub(in crate::check) fn follow(
        &mut self,
        target: &'s Value,
        value: &'v Value,
        check: impl FnOnce(&mut Self),
    ) {
        let mut followed = self.active_references.iter().rev();
        let mut followed = followed.by_ref().take_while(|(_, other)| ptr::eq(*other, value));
        if followed.any(|(other, _)| ptr::eq(*other, target)) {
            return;
        }
        self.active_references.push((target, value));
        check(self);
        self.active_references.pop();
    }

    /// Returns true if `value` is valid. Records no fault.
    pub(in crate::check) fn is_valid(&mut self, schema: &'s Value, value: &'v Value) -> bool {
        self.trial(schema, value, 1).is_empty()
    }

    /// Returns the faults of `value` against `schema`, up to the current limit.
    pub(in crate::check) fn try_branch(
        &mut self,
        schema: &'s Value,
        value: &'v Value,
    ) -> Vec<Fault<'s, 'v>> {
        self.trial(schema, value, self.max_faults)
    }

    fn trial(
        &mut self,
        schema: &'s Value,
        value: &'v Value,
        max_faults: usize,
    ) -> Vec<Fault<'s, 'v>> {
        let outer = std::mem::take(&mut self.faults);
        let outer_room = std::mem::replace(&mut self.max_faults, max_faults);
        self.validate(schema, value);
        self.max_faults = outer_room;
        std::mem::replace(&mut self.faults, outer)
    }

    /// Validates the name of a member, which is not part of the value itself.
    pub(in crate::check) fn is_name_valid(&mut self, schema: &'s Value, name: &str) -> bool {
        if !self.spend(name.len() / 64) {
            return true;
        }
        let value = Value::from(name);
        let mut inner = Validator {
            root: self.root,
            fuel: self.fuel,
            depth: self.depth,
            exhausted: false,
            patterns: std::mem::take(&mut self.patterns),
            path: Vec::new(),
            active_references: Vec::new(),
            faults: Vec::new(),
            max_faults: 1,
            value: &value,
        };
        inner.validate(schema, &value);
        let holds = inner.faults.is_empty();
        self.fuel = inner.fuel;
        self.exhausted |= inner.exhausted;
        self.patterns = inner.patterns;
        holds
    }

    /// Returns whether `pattern` matches; `None` if it can't be compiled or the fuel is exhausted.
    pub(in crate::check) fn matches(&mut self, pattern: &'s str, text: &str) -> Option<bool> {
        if !self.spend(pattern.len() / 16 + 1) {
            return None;
        }
        let cost = self.patterns.get(pattern)?.cost(text);
        if !self.spend(cost) {
            return None;
        }
        Some(self.patterns.get(pattern)?.is_match(text))
    }

    pub(in crate::check) fn fault(&mut self, rule: ViolatedRule<'s, 'v>) {
        if !self.exhausted && self.faults.len() < self.max_faults {
            self.faults.push(Fault { path: self.path.clone(), rule, value: self.value });
        }
    }

    pub(in crate::check) fn fault_at(
        &mut self,
        step: PathSegment<'v>,
        value: &'v Value,
        rule: ViolatedRule<'s, 'v>,
    ) {
        let outer = std::mem::replace(&mut self.value, value);
        self.path.push(step);
        self.fault(rule);
        self.path.pop();
        self.value = outer;
    }

    /// Records the faults of a trial.
    pub(in crate::check) fn extend_faults(&mut self, faults: Vec<Fault<'s, 'v>>) {
        let max_faults = self.max_faults.saturating_sub(self.faults.len());
        if !self.exhausted {
            self.faults.extend(faults.into_iter().take(max_faults));
        }
    }

    /// Returns true if only the validity matters, not the message.
    pub(in crate::check) fn is_trial(&self) -> bool {
        self.max_faults == 1
    }

    pub(in crate::check) fn value(&self) -> &'v Value {
        self.value
    }

    pub(in crate::check) fn depth_of_path(&self) -> usize {
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
        !self.spend(compared.saturating_mul(cost) / 8)
            || (constant.is_none_or(|constant| equal(constant, value))
                && choices.is_none_or(|choices| choices.iter().any(|choice| equal(choice, value))))
    }
}

impl Validator<'_, '_> {
    /// Enters a nested schema. Returns false if the result is known or a limit is reached.
    pub(in crate::check) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.exhausted = true;
        }
        let may_continue = self.spend(1) && !self.is_done();
        self.depth += usize::from(may_continue);
        may_continue
    }

    /// Returns true if no further fault would be recorded.
    pub(in crate::check) fn is_done(&self) -> bool {
        self.exhausted || self.faults.len() >= self.max_faults
    }

    pub(in crate::check) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Spends fuel. Returns false if none is left.
    pub(in crate::check) fn spend(&mut self, fuel: usize) -> bool {
        match self.fuel.checked_sub(fuel) {
            Some(left) if !self.exhausted => self.fuel = left,
            _ => self.exhausted = true,
        }
        !self.exhausted
    }
}
