//! Descriptions of schemas, in words for a model.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::display::{clip, literal, name, single_line};
use super::phrase::{ANY_VALUE, between, number, one_of, or, text, without_null};
use crate::check::validate::array::by_position;
use crate::check::validate::keywords::{list, names, object_at};
use crate::check::validate::pointer::resolve;

/// The number of shapes that are listed before "another shape".
const MAX_SHAPES: usize = 6;
/// The nesting depth up to which schemas are described.
const MAX_DEPTH: usize = 4;
/// The number of schemas that are read for all descriptions of one check; 64 choices count as one
/// schema.
const MAX_SCHEMAS: usize = 20_000;

#[derive(Debug)]
pub(in crate::check) struct Describer<'s> {
    root: &'s Value,
    budget: Cell<usize>,
}

impl<'s> Describer<'s> {
    pub(in crate::check) fn new(root: &'s Value) -> Self {
        Self { root, budget: Cell::new(MAX_SCHEMAS) }
    }

    /// Spends a part of the budget. Once it is exhausted, the description is "any value".
    fn spend(&self, cost: usize) -> bool {
        let left = self.budget.get().checked_sub(cost);
        self.budget.set(left.unwrap_or(0));
        left.is_some()
    }

    pub(in crate::check) fn schema(&self, schema: &'s Value) -> String {
        self.at(schema, MAX_DEPTH)
    }

    /// Describes a choice of several schemas.
    pub(in crate::check) fn any(&self, schemas: &[&'s Value]) -> String {
        clip(&self.any_at(schemas, MAX_DEPTH), 600)
    }

    /// Describes a missing member; empty if nothing is known about it.
    pub(in crate::check) fn member(
        &self,
        schemas: &[&'s Value],
        required_by: Option<&str>,
    ) -> String {
        let mut words = match schemas {
            [] => ANY_VALUE.to_owned(),
            schemas => self.any(schemas),
        };
        if let [schema] = schemas
            && let Some(note) = self.note(schema)
        {
            words = format!("{words} ({note})");
        }
        match required_by {
            Some(required_by) => format!("{words}, since {} is given", name(required_by)),
            None if words == ANY_VALUE => String::new(),
            None => words,
        }
    }

    /// Returns the first line of the schema's description, or of that of its target.
    fn note(&self, schema: &'s Value) -> Option<String> {
        let text = schema
            .get("description")
            .or_else(|| self.follow(schema)?.get("description"))?
            .as_str()?;
        let first = text.trim_start().lines().next()?.trim_end();
        let first = first.strip_suffix('.').unwrap_or(first);
        (!first.is_empty()).then(|| single_line(first, 80))
    }

    /// Returns the `format` of a schema.
    pub(in crate::check) fn format(&self, schema: &'s Value) -> Option<&'s str> {
        self.follow(schema)?.get("format")?.as_str()
    }

    /// Returns all allowed values if every schema lists its values; without null if there are
    /// others.
    pub(in crate::check) fn choices(&self, schemas: &[&'s Value]) -> Option<Vec<&'s Value>> {
        self.choices_at(schemas, MAX_DEPTH).map(without_null)
    }

    /// Returns the values of those schemas that list any.
    pub(in crate::check) fn some_choices(&self, schemas: &[&'s Value]) -> Vec<&'s Value> {
        let each = schemas.iter().filter_map(|schema| self.choices(&[schema]));
        each.flatten().collect()
    }

    fn choices_at(&self, schemas: &[&'s Value], depth: usize) -> Option<Vec<&'s Value>> {
        let depth = depth.checked_sub(1)?;
        let mut choices = Vec::new();
        for schema in schemas {
            let rules = self.follow(schema)?;
            if let Some(only) = rules.get("const") {
                choices.push(only);
            } else if rules.contains_key("enum") {
                let listed = list(rules, "enum");
                choices.extend(self.spend(listed.len() / 64).then_some(listed)?);
            } else if rules.get("type").is_some_and(|kind| kind == "null") {
                choices.push(&Value::Null);
            } else {
                let branches: Vec<_> = branches(rules).collect();
                if branches.is_empty() {
                    return None;
                }
                choices.extend(self.choices_at(&branches, depth)?);
            }
        }
        let only_null = choices.iter().all(|choice| choice.is_null());
        (!only_null).then_some(choices)
    }

    fn any_at(&self, schemas: &[&'s Value], depth: usize) -> String {
        let Some(inner) = depth.checked_sub(1) else {
            return ANY_VALUE.to_owned();
        };
        if let Some(choices) = self.choices(schemas) {
            return one_of(&choices);
        }
        if let [schema] = schemas {
            return self.at(schema, inner);
        }
        let mut shapes: Vec<String> = Vec::new();
        for schema in schemas {
            let shape = match self.choices(&[schema]) {
                Some(choices) => one_of(&choices),
                None => self.shape(schema, inner),
            };
            if !shapes.contains(&shape) && shapes.len() <= MAX_SHAPES {
                shapes.push(shape);
            }
        }
        if shapes.len() > 1 {
            shapes.retain(|shape| shape != "null");
        }
        if shapes.len() > MAX_SHAPES {
            shapes.truncate(MAX_SHAPES);
            shapes.push("another shape".to_owned());
        }
        or(&shapes)
    }

    /// Describes a shape so that it differs from its siblings: an object by its members.
    fn shape(&self, schema: &'s Value, depth: usize) -> String {
        let words = self.at(schema, depth);
        let Some(rules) = self.follow(schema).filter(|_| words == "an object") else {
            return words;
        };
        let mut members: Vec<_> = names(rules.get("required")).collect();
        if members.is_empty() {
            members = object_at(rules, "properties").map(|(name, _)| name).collect();
        }
        if members.is_empty() {
            return words;
        }
        let only = |member: &str| match self.choices(&[rules.get("properties")?.get(member)?])?[..]
        {
            [only] => Some(literal(only)),
            _ => None,
        };
        let listed = members.iter().take(4).map(|member| match only(member) {
            // A tag distinguishes the shapes.
            Some(only) => format!("{} {only}", name(member)),
            None => name(member),
        });
        let listed: Vec<_> = listed.collect();
        let more = if members.len() > 4 { ", …" } else { "" };
        format!("an object with {}{more}", listed.join(", "))
    }

    fn at(&self, schema: &'s Value, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            return ANY_VALUE.to_owned();
        };
        let Some(rules) = self.follow(schema) else {
            let is_never = schema == &Value::Bool(false);
            return if is_never { "nothing" } else { ANY_VALUE }.to_owned();
        };
        if let Some(choices) = self.choices_at(&[schema], MAX_DEPTH) {
            return one_of(&without_null(choices));
        }
        let types = match rules.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(kinds) => names(Some(kinds)).collect(),
            None => implied_type(rules).into_iter().collect(),
        };
        let mut nouns: Vec<_> = types
            .iter()
            .filter(|kind| **kind != "null" || types.len() == 1)
            .map(|kind| self.noun(kind, rules))
            .collect();
        if nouns.is_empty() {
            let branches: Vec<_> = branches(rules).collect();
            nouns.push(match branches.as_slice() {
                [] => ANY_VALUE.to_owned(),
                branches => self.any_at(branches, depth),
            });
        }
        or(&nouns)
    }

    fn noun(&self, kind: &str, rules: &'s Map<String, Value>) -> String {
        match kind {
            "integer" | "number" => number(rules),
            "boolean" => "true or false".to_owned(),
            "string" => text(rules),
            "array" => {
                let (first, rest) = by_position(rules);
                let item = rest.filter(|_| first.is_empty());
                let item = item.and_then(|item| self.item(item)).unwrap_or("item");
                match between(rules, ["minItems", "maxItems"], item) {
                    counted if !counted.is_empty() => format!("an array of {counted}"),
                    _ if item == "item" => "an array".to_owned(),
                    _ => format!("an array of {item}s"),
                }
            }
            "object" => "an object".to_owned(),
            "null" => "null".to_owned(),
            _ => ANY_VALUE.to_owned(),
        }
    }

    /// Returns the type of an array's items, if one word names it.
    fn item(&self, schema: &'s Value) -> Option<&'static str> {
        let kind = self.follow(schema)?.get("type")?.as_str()?;
        let words = ["integer", "number", "string", "boolean", "array", "object"];
        words.into_iter().find(|word| *word == kind)
    }

    /// Returns the rules that determine the type, through references and `allOf`.
    fn follow(&self, schema: &'s Value) -> Option<&'s Map<String, Value>> {
        const TYPE_KEYWORDS: [&str; 6] = ["anyOf", "const", "enum", "oneOf", "properties", "type"];
        const MAX_HOPS: usize = 8;
        let mut rules = schema.as_object()?;
        for _ in 0..MAX_HOPS {
            if !self.spend(1) {
                return None;
            }
            if TYPE_KEYWORDS.iter().any(|key| rules.contains_key(*key)) {
                break;
            }
            let target = match rules.get("$ref").and_then(Value::as_str) {
                Some(reference) => resolve(self.root, reference),
                None => list(rules, "allOf").first(),
            };
            match target.and_then(Value::as_object) {
                Some(target) => rules = target,
                None => break,
            }
        }
        Some(rules)
    }
}

fn branches(rules: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    list(rules, "anyOf").iter().chain(list(rules, "oneOf"))
}

/// Returns the type to which the keywords apply, if none is named.
fn implied_type(rules: &Map<String, Value>) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|key| rules.contains_key(*key));
    if has(&["properties", "required", "additionalProperties"]) {
        Some("object")
    } else if has(&["items", "prefixItems", "minItems", "maxItems"]) {
        Some("array")
    } else if has(&["pattern", "minLength", "maxLength"]) {
        Some("string")
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        Some("number")
    } else {
        None
    }
}
