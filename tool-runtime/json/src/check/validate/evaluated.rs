//! Tracking of evaluated members and items, for `unevaluatedProperties` and `unevaluatedItems`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::array::by_position;
use super::keywords::{list, object_at};
use super::validator::Validator;

/// The evaluated members and items of one value.
#[derive(Debug, Default)]
pub(in crate::check) struct Evaluated<'s, 'v> {
    all: bool,
    keys: HashSet<&'v str>,
    /// All names that a schema mentions, for the message.
    known: HashSet<&'s str>,
    /// Items before this position are evaluated.
    before: usize,
    items: HashSet<usize>,
}

impl<'s> Evaluated<'s, '_> {
    pub(in crate::check) fn has_key(&self, key: &str) -> bool {
        self.all || self.keys.contains(key)
    }

    pub(in crate::check) fn has_item(&self, at: usize) -> bool {
        self.all || at < self.before || self.items.contains(&at)
    }

    pub(in crate::check) fn known_names(&self) -> Vec<&'s str> {
        let mut names: Vec<_> = self.known.iter().copied().collect();
        names.sort_unstable();
        names
    }
}

impl<'s, 'v> Validator<'s, 'v> {
    /// Returns what the other keywords in `rules` evaluate in the current value.
    pub(in crate::check) fn evaluated(
        &mut self,
        rules: &'s Map<String, Value>,
    ) -> Evaluated<'s, 'v> {
        let mut evaluated = Evaluated::default();
        self.gather(rules, &mut evaluated);
        evaluated
    }

    fn gather(&mut self, rules: &'s Map<String, Value>, evaluated: &mut Evaluated<'s, 'v>) {
        match self.value() {
            Value::Object(members) => self.gather_keys(rules, members, evaluated),
            Value::Array(items) => self.gather_items(rules, items, evaluated),
            _ => {}
        }
        self.gather_applicators(rules, evaluated);
    }

    fn gather_keys(
        &mut self,
        rules: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
        evaluated: &mut Evaluated<'s, 'v>,
    ) {
        evaluated.all |= rules.contains_key("additionalProperties");
        for (name, _) in object_at(rules, "properties") {
            if !self.spend(1) {
                return;
            }
            evaluated.known.insert(name);
            evaluated.keys.extend(members.get_key_value(name).map(|(key, _)| key.as_str()));
        }
        for (pattern, _) in object_at(rules, "patternProperties") {
            for name in members.keys() {
                if self.matches(pattern, name) != Some(false) {
                    evaluated.keys.insert(name);
                }
            }
        }
    }

    fn gather_items(
        &mut self,
        rules: &'s Map<String, Value>,
        items: &'v [Value],
        evaluated: &mut Evaluated<'s, 'v>,
    ) {
        let (first, rest) = by_position(rules);
        evaluated.all |= rest.is_some();
        evaluated.before = evaluated.before.max(first.len());
        if let Some(schema) = rules.get("contains") {
            for (at, item) in items.iter().enumerate() {
                if self.is_valid(schema, item) {
                    evaluated.items.insert(at);
                }
            }
        }
    }

    /// Only valid branches count. If there is none, the value is invalid in any case; then all
    /// branches count, so that their members aren't reported as unknown as well.
    fn gather_applicators(
        &mut self,
        rules: &'s Map<String, Value>,
        evaluated: &mut Evaluated<'s, 'v>,
    ) {
        let value = self.value();
        if let Some(target) = self.target(rules) {
            self.follow(target, value, |validator| validator.gather_from(target, evaluated));
        }
        for schema in list(rules, "allOf") {
            self.gather_from(schema, evaluated);
        }
        for key in ["anyOf", "oneOf"] {
            let branches = list(rules, key);
            let mut any_valid = false;
            for schema in branches {
                if self.is_valid(schema, value) {
                    any_valid = true;
                    self.gather_from(schema, evaluated);
                }
            }
            if !any_valid {
                for schema in branches {
                    self.gather_from(schema, evaluated);
                }
            }
        }
        if let Some(test) = rules.get("if") {
            let branch = if self.is_valid(test, value) {
                self.gather_from(test, evaluated);
                "then"
            } else {
                "else"
            };
            if let Some(schema) = rules.get(branch) {
                self.gather_from(schema, evaluated);
            }
        }
        if let Value::Object(members) = value {
            for (required_by, schema) in object_at(rules, "dependentSchemas") {
                if members.contains_key(required_by) {
                    self.gather_from(schema, evaluated);
                }
            }
        }
    }

    /// Gathers from a subschema. If it has its own `unevaluated…` keyword, everything is evaluated.
    fn gather_from(&mut self, schema: &'s Value, evaluated: &mut Evaluated<'s, 'v>) {
        let Value::Object(rules) = schema else {
            return;
        };
        if !self.enter() {
            return;
        }
        evaluated.all |= match self.value() {
            Value::Object(_) => rules.contains_key("unevaluatedProperties"),
            _ => rules.contains_key("unevaluatedItems"),
        };
        self.gather(rules, evaluated);
        self.leave();
    }
}
