//! What a schema wants, in words.

use serde_json::{Map, Value};

use super::array::by_position;
use super::found::{clip, line, literal, name};
use super::object::{names, object_at};
use super::walk::{count, list};
use crate::schema::pointer;

/// Choices, and shapes, that are listed before "… and N more".
const MOST_CHOICES: usize = 12;
const MOST_SHAPES: usize = 6;
/// Schemas within schemas that are described.
const DEPTH: usize = 4;
/// What is said of a schema that has no rule a word could be put to.
const ANYTHING: &str = "any value";

#[derive(Debug)]
pub(super) struct Describe<'s> {
    pub(super) root: &'s Value,
}

impl<'s> Describe<'s> {
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
                choices.extend(list(rules, "enum"));
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
        let listed: Vec<_> = members.iter().take(4).map(|member| name(member)).collect();
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
            "integer" | "number" => self.number(rules),
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

    pub(super) fn number(&self, rules: &Map<String, Value>) -> String {
        let is_integer = match rules.get("type") {
            Some(Value::String(kind)) => kind == "integer",
            kinds => names(kinds).any(|kind| kind == "integer"),
        };
        let mut words = if is_integer { "an integer" } else { "a number" }.to_owned();
        let bound = |key| rules.get(key).filter(|bound| bound.is_number());
        let bounds: Vec<String> = match (bound("minimum"), bound("maximum")) {
            (Some(least), Some(most)) => vec![format!("from {least} to {most}")],
            (Some(least), None) => vec![format!("of at least {least}")],
            (None, Some(most)) => vec![format!("of at most {most}")],
            (None, None) => vec![],
        };
        let above = bound("exclusiveMinimum").map(|bound| format!("above {bound}"));
        let below = bound("exclusiveMaximum").map(|bound| format!("below {bound}"));
        let bounds: Vec<_> = bounds.into_iter().chain(above).chain(below).collect();
        if !bounds.is_empty() {
            words = format!("{words} {}", bounds.join(" and "));
        }
        match bound("multipleOf") {
            Some(step) => format!("{words} that is a multiple of {step}"),
            None => words,
        }
    }

    /// The rules that say what a schema is, through references and `allOf`.
    fn follow(&self, schema: &'s Value) -> Option<&'s Map<String, Value>> {
        const SAYS: [&str; 6] = ["anyOf", "const", "enum", "oneOf", "properties", "type"];
        const HOPS: usize = 8;
        let mut rules = schema.as_object()?;
        for _ in 0..HOPS {
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

fn text(rules: &Map<String, Value>) -> String {
    if let Some(Value::String(pattern)) = rules.get("pattern") {
        return format!("text that matches {}", line(pattern, 100));
    }
    match between(rules, ["minLength", "maxLength"], "character") {
        length if !length.is_empty() => format!("a string of {length}"),
        _ => match rules.get("format") {
            Some(Value::String(format)) => format!("a string in {} format", line(format, 40)),
            _ => "a string".to_owned(),
        },
    }
}

/// "2 to 5 items", "at least 1 item"; empty without a bound.
pub(super) fn between(rules: &Map<String, Value>, [least, most]: [&str; 2], thing: &str) -> String {
    let s = |count| if count == 1 { "" } else { "s" };
    match (count(rules, least).filter(|least| *least > 0), count(rules, most)) {
        (Some(least), Some(most)) if least == most => {
            format!("exactly {least} {thing}{}", s(least))
        }
        (Some(least), Some(most)) => format!("{least} to {most} {thing}{}", s(most)),
        (Some(least), None) => format!("at least {least} {thing}{}", s(least)),
        (None, Some(most)) => format!("at most {most} {thing}{}", s(most)),
        (None, None) => String::new(),
    }
}

fn one_of(choices: &[&Value]) -> String {
    let listed: Vec<_> = choices.iter().take(MOST_CHOICES).map(|choice| literal(choice)).collect();
    let listed = listed.join(", ");
    match choices.len() {
        1 => listed,
        more if more > MOST_CHOICES => {
            format!("one of {listed}, … and {} more", more - MOST_CHOICES)
        }
        _ => format!("one of {listed}"),
    }
}

fn or(words: &[String]) -> String {
    match words {
        [] => ANYTHING.to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn without_null(mut choices: Vec<&Value>) -> Vec<&Value> {
    if choices.iter().any(|choice| !choice.is_null()) {
        choices.retain(|choice| !choice.is_null());
    }
    choices
}
