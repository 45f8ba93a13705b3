//! Validation of the keywords of objects.

use serde_json::{Map, Value};

use super::fault::{PathSegment, ViolatedRule};
use super::keywords::{fits_count, names, object_at};
use super::validator::Validator;

impl<'s, 'v> Validator<'s, 'v> {
    pub(in crate::check) fn object(
        &mut self,
        rules: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
    ) {
        if !self.spend(members.len()) {
            return;
        }
        self.required(rules, members);
        self.dependent(rules, members);
        if !fits_count(rules, "minProperties", "maxProperties", members.len()) {
            self.fault(ViolatedRule::Properties(rules, members.len()));
        }
        if let Some(schema) = rules.get("propertyNames") {
            for name in members.keys() {
                if self.is_done() {
                    return;
                }
                if !self.is_name_valid(schema, name) {
                    self.fault(ViolatedRule::Name(schema, name));
                }
            }
        }
        self.members(rules, members);
    }

    fn required(&mut self, rules: &'s Map<String, Value>, members: &'v Map<String, Value>) {
        for name in names(rules.get("required")) {
            if self.spend(1) && !members.contains_key(name) {
                self.missing(rules, name, None);
            }
        }
    }

    fn dependent(&mut self, rules: &'s Map<String, Value>, members: &'v Map<String, Value>) {
        for (required_by, required) in object_at(rules, "dependentRequired") {
            if self.spend(1) && members.contains_key(required_by) {
                for name in names(Some(required)) {
                    if self.spend(1) && !members.contains_key(name) {
                        self.missing(rules, name, Some(required_by));
                    }
                }
            }
        }
        let value = self.value();
        for (required_by, schema) in object_at(rules, "dependentSchemas") {
            if self.spend(1) && members.contains_key(required_by) {
                self.validate(schema, value);
            }
        }
    }

    fn missing(
        &mut self,
        rules: &'s Map<String, Value>,
        name: &'s str,
        required_by: Option<&'s str>,
    ) {
        let schema = rules.get("properties").and_then(|known| known.get(name));
        self.fault(ViolatedRule::Missing {
            name,
            expected_schemas: schema.into_iter().collect(),
            required_by,
        });
    }

    fn members(&mut self, rules: &'s Map<String, Value>, members: &'v Map<String, Value>) {
        let known = rules.get("properties").and_then(Value::as_object);
        let others = rules.get("additionalProperties");
        for (name, value) in members {
            if self.is_done() {
                return;
            }
            let schema = known.and_then(|known| known.get(name));
            if let Some(schema) = schema {
                self.validate_child(PathSegment::Key(name), schema, value);
            }
            let mut is_known = schema.is_some();
            for (pattern, schema) in object_at(rules, "patternProperties") {
                match self.matches(pattern, name) {
                    Some(true) => self.validate_child(PathSegment::Key(name), schema, value),
                    Some(false) => continue,
                    // A pattern that can't be compiled must not make a member unknown.
                    None => {}
                }
                is_known = true;
            }
            match others {
                Some(schema) if !is_known => self.other_member(rules, schema, name, value),
                _ => {}
            }
        }
    }

    /// Validates a member that no name and no pattern covers.
    fn other_member(
        &mut self,
        rules: &'s Map<String, Value>,
        schema: &'s Value,
        name: &'v str,
        value: &'v Value,
    ) {
        if schema == &Value::Bool(false) {
            if self.is_trial() {
                return self.fault(ViolatedRule::Forbidden);
            }
            let known = object_at(rules, "properties").map(|(name, _)| name).collect();
            let patterns =
                object_at(rules, "patternProperties").map(|(pattern, _)| pattern).collect();
            self.unknown(known, patterns, name, value);
        } else {
            self.validate_child(PathSegment::Key(name), schema, value);
        }
    }

    /// Reports an unknown member. Names of existing members are not suggested.
    pub(in crate::check) fn unknown(
        &mut self,
        mut known: Vec<&'s str>,
        patterns: Vec<&'s str>,
        name: &'v str,
        value: &'v Value,
    ) {
        if let Value::Object(members) = self.value()
            && self.spend(known.len() / 4)
        {
            known.retain(|known| !members.contains_key(*known));
        }
        self.fault_at(PathSegment::Key(name), value, ViolatedRule::Unknown { known, patterns });
    }

    pub(in crate::check) fn unevaluated_members(
        &mut self,
        rules: &'s Map<String, Value>,
        members: &'v Map<String, Value>,
    ) {
        let Some(schema) = rules.get("unevaluatedProperties") else {
            return;
        };
        let evaluated = self.evaluated(rules);
        for (name, value) in members {
            if self.is_done() {
                return;
            }
            if evaluated.has_key(name) {
                continue;
            }
            if schema == &Value::Bool(false) {
                let known = evaluated.known_names();
                self.unknown(known, Vec::new(), name, value);
            } else {
                self.validate_child(PathSegment::Key(name), schema, value);
            }
        }
    }
}
