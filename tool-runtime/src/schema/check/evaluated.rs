//! Which members and items some keyword has looked at, for `unevaluatedProperties` and
//! `unevaluatedItems`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::array::by_position;
use super::rules::{list, object_at};
use super::walk::Walk;

/// What was looked at in one value.
#[derive(Debug, Default)]
pub(super) struct Evaluated<'s, 'v> {
    all: bool,
    keys: HashSet<&'v str>,
    /// Every name that a schema mentions, for the wording.
    known: HashSet<&'s str>,
    /// Items before this position.
    before: usize,
    items: HashSet<usize>,
}

impl<'s> Evaluated<'s, '_> {
    pub(super) fn has_key(&self, key: &str) -> bool {
        self.all || self.keys.contains(key)
    }

    pub(super) fn has_item(&self, at: usize) -> bool {
        self.all || at < self.before || self.items.contains(&at)
    }

    pub(super) fn known_names(&self) -> Vec<&'s str> {
        let mut names: Vec<_> = self.known.iter().copied().collect();
        names.sort_unstable();
        names
    }
}

impl<'s, 'v> Walk<'s, 'v> {
    /// What the keywords beside `unevaluated…` in `rules` look at in the present value.
    pub(super) fn evaluated(&mut self, rules: &'s Map<String, Value>) -> Evaluated<'s, 'v> {
        let mut evaluated = Evaluated::default();
        self.gather(rules, &mut evaluated);
        evaluated
    }

    fn gather(&mut self, rules: &'s Map<String, Value>, into: &mut Evaluated<'s, 'v>) {
        match self.value() {
            Value::Object(members) => self.gather_keys(rules, members, into),
            Value::Array(items) => self.gather_items(rules, items, into),
            _ => {}
        }
        self.gather_in_place(rules, into);
    }

    fn gather_keys(
        &mut self,
        rules: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
        into: &mut Evaluated<'s, 'v>,
    ) {
        into.all |= rules.contains_key("additionalProperties");
        for (name, _) in object_at(rules, "properties") {
            if !self.pay(1) {
                return;
            }
            into.known.insert(name);
            into.keys.extend(members.get_key_value(name).map(|(key, _)| key.as_str()));
        }
        for (pattern, _) in object_at(rules, "patternProperties") {
            for name in members.keys() {
                if self.matches(pattern, name) != Some(false) {
                    into.keys.insert(name);
                }
            }
        }
    }

    fn gather_items(
        &mut self,
        rules: &'s Map<String, Value>,
        items: &'v [Value],
        into: &mut Evaluated<'s, 'v>,
    ) {
        let (first, rest) = by_position(rules);
        into.all |= rest.is_some();
        into.before = into.before.max(first.len());
        if let Some(schema) = rules.get("contains") {
            for (at, item) in items.iter().enumerate() {
                if self.holds(schema, item) {
                    into.items.insert(at);
                }
            }
        }
    }

    /// Only branches that hold count. Where none does the value is invalid in any case, and all of
    /// them count, so that members aren't called unknown on top of it.
    fn gather_in_place(&mut self, rules: &'s Map<String, Value>, into: &mut Evaluated<'s, 'v>) {
        let value = self.value();
        if let Some(target) = self.target(rules) {
            self.follow(target, value, |walk| walk.gather_from(target, into));
        }
        for schema in list(rules, "allOf") {
            self.gather_from(schema, into);
        }
        for key in ["anyOf", "oneOf"] {
            let branches = list(rules, key);
            let mut held = false;
            for schema in branches {
                if self.holds(schema, value) {
                    held = true;
                    self.gather_from(schema, into);
                }
            }
            if !held {
                for schema in branches {
                    self.gather_from(schema, into);
                }
            }
        }
        if let Some(test) = rules.get("if") {
            let branch = if self.holds(test, value) {
                self.gather_from(test, into);
                "then"
            } else {
                "else"
            };
            if let Some(schema) = rules.get(branch) {
                self.gather_from(schema, into);
            }
        }
        if let Value::Object(members) = value {
            for (because, schema) in object_at(rules, "dependentSchemas") {
                if members.contains_key(because) {
                    self.gather_from(schema, into);
                }
            }
        }
    }

    /// A schema within: its own `unevaluated…` leaves nothing unlooked at.
    fn gather_from(&mut self, schema: &'s Value, into: &mut Evaluated<'s, 'v>) {
        let Value::Object(rules) = schema else {
            return;
        };
        if !self.enter() {
            return;
        }
        into.all |= match self.value() {
            Value::Object(_) => rules.contains_key("unevaluatedProperties"),
            _ => rules.contains_key("unevaluatedItems"),
        };
        self.gather(rules, into);
        self.leave();
    }
}
