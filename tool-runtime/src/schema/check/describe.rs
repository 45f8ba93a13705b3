//! What a schema wants, in words.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::array::by_position;
use super::found::{clip, line, literal, name};
use super::phrase::{ANYTHING, between, number, one_of, or, text, without_null};
use super::rules::{list, names, object_at};
use crate::schema::pointer;

/// Shapes that are listed before "another shape".
const MOST_SHAPES: usize = 6;
/// Schemas within schemas that are described.
const DEPTH: usize = 4;
/// Schemas that are looked at for all the descriptions of one check; 64 choices count as one.
const LOOKS: usize = 20_000;

#[derive(Debug)]
pub(super) struct Describe<'s> {
    root: &'s Value,
    looks: Cell<usize>,
}

impl<'s> Describe<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, looks: Cell::new(LOOKS) }
    }

    /// False when enough was looked at: what is left is "any value".
    fn look(&self, cost: usize) -> bool {
        let left = self.looks.get().checked_sub(cost);
        self.looks.set(left.unwrap_or(0));
        left.is_some()
    }

    pub(super) fn schema(&self, schema: &'s Value) -> String {
        self.at(schema, DEPTH)
    }

    /// Either of several schemas.
    pub(super) fn any(&self, schemas: &[&'s Value]) -> String {
        clip(&self.any_at(schemas, DEPTH), 600)
    }

    /// A member that is missing; empty where nothing can be said of it.
    pub(super) fn member(&self, schemas: &[&'s Value], because: Option<&str>) -> String {
        let mut words = match schemas {
            [] => ANYTHING.to_owned(),
            schemas => self.any(schemas),
        };
        if let [schema] = schemas
            && let Some(note) = self.note(schema)
        {
            words = format!("{words} ({note})");
        }
        match because {
            Some(because) => format!("{words}, since {} is given", name(because)),
            None if words == ANYTHING => String::new(),
            None => words,
        }
    }

    /// The first line of the description, here or where the schema refers to.
    fn note(&self, schema: &'s Value) -> Option<String> {
        let text = schema
            .get("description")
            .or_else(|| self.follow(schema)?.get("description"))?
            .as_str()?;
        let first = text.trim_start().lines().next()?.trim_end();
        let first = first.strip_suffix('.').unwrap_or(first);
        (!first.is_empty()).then(|| line(first, 80))
    }

    /// The format of a text.
    pub(super) fn format(&self, schema: &'s Value) -> Option<&'s str> {
        self.follow(schema)?.get("format")?.as_str()
    }

    /// Every allowed value, if all the schemas only list values; null is left out beside others.
    pub(super) fn choices(&self, schemas: &[&'s Value]) -> Option<Vec<&'s Value>> {
        self.choices_at(schemas, DEPTH).map(without_null)
    }

    /// The values that those of the schemas list which list any.
    pub(super) fn some_choices(&self, schemas: &[&'s Value]) -> Vec<&'s Value> {
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
                choices.extend(self.look(listed.len() / 64).then_some(listed)?);
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
            return ANYTHING.to_owned();
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
            if !shapes.contains(&shape) && shapes.len() <= MOST_SHAPES {
                shapes.push(shape);
            }
        }
        if shapes.len() > 1 {
            shapes.retain(|shape| shape != "null");
        }
        if shapes.len() > MOST_SHAPES {
            shapes.truncate(MOST_SHAPES);
            shapes.push("another shape".to_owned());
        }
        or(&shapes)
    }

    /// Told apart from its siblings: an object is known by its members.
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
            // A tag: it tells the shapes apart.
            Some(only) => format!("{} {only}", name(member)),
            None => name(member),
        });
        let listed: Vec<_> = listed.collect();
        let more = if members.len() > 4 { ", …" } else { "" };
        format!("an object with {}{more}", listed.join(", "))
    }

    fn at(&self, schema: &'s Value, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            return ANYTHING.to_owned();
        };
        let Some(rules) = self.follow(schema) else {
            let nothing = schema == &Value::Bool(false);
            return if nothing { "nothing" } else { ANYTHING }.to_owned();
        };
        if let Some(choices) = self.choices_at(&[schema], DEPTH) {
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
                [] => ANYTHING.to_owned(),
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
            _ => ANYTHING.to_owned(),
        }
    }

    /// What an array is of, where one word says it.
    fn item(&self, schema: &'s Value) -> Option<&'static str> {
        let kind = self.follow(schema)?.get("type")?.as_str()?;
        let words = ["integer", "number", "string", "boolean", "array", "object"];
        words.into_iter().find(|word| *word == kind)
    }

    /// The rules that say what a schema is, through references and `allOf`.
    fn follow(&self, schema: &'s Value) -> Option<&'s Map<String, Value>> {
        const SAYS: [&str; 6] = ["anyOf", "const", "enum", "oneOf", "properties", "type"];
        const HOPS: usize = 8;
        let mut rules = schema.as_object()?;
        for _ in 0..HOPS {
            if !self.look(1) {
                return None;
            }
            if SAYS.iter().any(|key| rules.contains_key(*key)) {
                break;
            }
            let target = match rules.get("$ref").and_then(Value::as_str) {
                Some(reference) => pointer::resolve(self.root, reference),
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

/// The type that the keywords are about, where none is named.
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
