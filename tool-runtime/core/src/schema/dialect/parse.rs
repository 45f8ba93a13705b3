//! Parsing of a schema document into nodes.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::UnsupportedSchema;
use super::location::SchemaLocation;
use super::node::{
    AdditionalMembers, Annotations, Choice, Object, Scalar, ScalarKind, SchemaMember, SchemaNode,
    Shape,
};
use crate::json::__private::resolve;

/// The number of schemas that are parsed: inlined references could multiply.
const MAX_SCHEMAS: usize = 100_000;

const NUMBER_KEYWORDS: [&str; 5] =
    ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"];
const STRING_KEYWORDS: [&str; 6] =
    ["contentEncoding", "contentMediaType", "format", "maxLength", "minLength", "pattern"];
const ARRAY_KEYWORDS: [&str; 7] = [
    "contains",
    "maxContains",
    "maxItems",
    "minContains",
    "minItems",
    "unevaluatedItems",
    "uniqueItems",
];
const OBJECT_KEYWORDS: [&str; 7] = [
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "maxProperties",
    "minProperties",
    "patternProperties",
    "propertyNames",
];
/// Keywords for values of any type, and annotations.
const COMMON_KEYWORDS: [&str; 7] = ["default", "else", "examples", "if", "not", "then", "title"];

pub(super) struct SchemaParser<'d> {
    document: &'d Value,
    remaining: Cell<usize>,
}

impl<'d> SchemaParser<'d> {
    pub(super) const fn new(document: &'d Value) -> Self {
        Self { document, remaining: Cell::new(MAX_SCHEMAS) }
    }

    pub(super) fn spend(&self, at: &SchemaLocation) -> Result<(), UnsupportedSchema> {
        let remaining = self.remaining.get().checked_sub(1);
        self.remaining.set(remaining.ok_or_else(|| at.unsupported("the schema is too large"))?);
        Ok(())
    }

    /// Parses the target of a reference.
    pub(super) fn target(
        &self,
        reference: &str,
        at: &SchemaLocation,
    ) -> Result<SchemaNode, UnsupportedSchema> {
        let target = resolve(self.document, reference);
        let absent = || at.unsupported(format!("reference `{reference}` not found in the schema"));
        self.parse(target.ok_or_else(absent)?, &at.deeper()?)
    }

    pub(super) fn parse(
        &self,
        schema: &Value,
        at: &SchemaLocation,
    ) -> Result<SchemaNode, UnsupportedSchema> {
        self.spend(at)?;
        let at = &at.deeper()?;
        let rules = match schema {
            Value::Bool(true) => return Ok(Shape::Any.into()),
            Value::Object(rules) => rules,
            _ => return Err(at.unsupported("no value satisfies the schema")),
        };
        if rules.contains_key("$dynamicRef") || rules.contains_key("$recursiveRef") {
            return Err(at.unsupported("dynamic references are not supported"));
        }
        let shape = self.parse_types(rules, at)?;
        let annotations = Annotations::of(rules, shape == Shape::Any);
        let mut node = SchemaNode { shape, annotations };
        for part in self.parse_applicators(rules, at)? {
            let intersection = self.intersect(node, part, at)?;
            node = intersection
                .ok_or_else(|| at.unsupported("no value satisfies all schemas of this location"))?;
        }
        if let Some(additional) = rules.get("unevaluatedProperties") {
            let additional = self.parse_additional(additional, at)?;
            node = self.with_additional(node, &additional, at)?;
        }
        Ok(node)
    }

    /// Follows references, and merges the annotations on the way.
    pub(super) fn follow(
        &self,
        mut node: SchemaNode,
        at: &SchemaLocation,
    ) -> Result<SchemaNode, UnsupportedSchema> {
        let mut at = at.clone();
        while let Shape::Reference(reference) = &node.shape {
            at = at.deeper()?;
            self.spend(&at)?;
            let target = self.target(reference, &at)?;
            node = SchemaNode {
                shape: target.shape,
                annotations: node.annotations.merged_with(target.annotations, &at)?,
            };
        }
        Ok(node)
    }

    /// Parses the other schemas that apply to the same location.
    fn parse_applicators(
        &self,
        rules: &Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<Vec<SchemaNode>, UnsupportedSchema> {
        let mut parts = Vec::new();
        if let Some(Value::String(reference)) = rules.get("$ref") {
            parts.push(Shape::Reference(reference.clone()).into());
        }
        for part in list_at(rules, "allOf") {
            parts.push(self.parse(part, at)?);
        }
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            if rules.contains_key(keyword) {
                let branches = list_at(rules, keyword).iter().map(|branch| self.parse(branch, at));
                let branches = branches.collect::<Result<_, _>>()?;
                parts.push(Shape::Choice(Choice { branches, is_exclusive }).into());
            }
        }
        Ok(parts)
    }

    /// Parses the keywords of types.
    fn parse_types(
        &self,
        rules: &Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<Shape, UnsupportedSchema> {
        let types: Vec<_> = match rules.get("type") {
            Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
            Some(single) => single.as_str().into_iter().collect(),
            None => implied_type(rules).into_iter().collect(),
        };
        let values = match (rules.get("const"), rules.get("enum")) {
            (Some(only), _) => Some(std::slice::from_ref(only)),
            (None, Some(Value::Array(values))) => Some(values.as_slice()),
            _ => None,
        };
        let mut branches = match values {
            Some(values) => parse_values(values, &types, at)?,
            None => {
                let shapes = types.iter().map(|name| self.parse_type(name, rules, at));
                shapes.map(|shape| shape.map(SchemaNode::from)).collect::<Result<Vec<_>, _>>()?
            }
        };
        Ok(match branches.len() {
            0 => Shape::Any,
            1 => branches.remove(0).shape,
            _ => Shape::Choice(Choice { branches, is_exclusive: false }),
        })
    }

    fn parse_type(
        &self,
        name: &str,
        rules: &Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<Shape, UnsupportedSchema> {
        let scalar = |kind, keywords| {
            Shape::Scalar(Scalar { kind, values: None, rules: pick(rules, keywords) })
        };
        Ok(match name {
            "null" => scalar(ScalarKind::Null, &[]),
            "boolean" => scalar(ScalarKind::Boolean, &[]),
            "integer" => scalar(ScalarKind::Integer, &NUMBER_KEYWORDS),
            "number" => scalar(ScalarKind::Number, &NUMBER_KEYWORDS),
            "string" => scalar(ScalarKind::Text, &STRING_KEYWORDS),
            "array" => self.parse_list(rules, at)?,
            "object" => Shape::Object(self.parse_object(rules, at)?),
            _ => return Err(at.unsupported(format!("unknown type `{name}`"))),
        })
    }

    fn parse_list(
        &self,
        rules: &Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<Shape, UnsupportedSchema> {
        // Before 2020-12 a list of schemas was spelled `items`.
        let key =
            if rules.get("items").is_some_and(Value::is_array) { "items" } else { "prefixItems" };
        let first = list_at(rules, key).iter().zip(0..);
        let first = first.map(|(item, index)| self.parse(item, &at.item(index)));
        let first = first.collect::<Result<Vec<_>, _>>()?;
        let rest = match rules.get("items") {
            Some(Value::Bool(false)) => None,
            Some(items) if !items.is_array() => Some(Box::new(self.parse(items, &at.items())?)),
            _ => first.is_empty().then(|| Box::new(Shape::Any.into())),
        };
        Ok(Shape::List { first, rest, rules: pick(rules, &ARRAY_KEYWORDS) })
    }

    fn parse_object(
        &self,
        rules: &Map<String, Value>,
        at: &SchemaLocation,
    ) -> Result<Object, UnsupportedSchema> {
        let mut members = BTreeMap::new();
        for (name, schema) in object_at(rules, "properties") {
            let node = self.parse(schema, &at.member(name))?;
            members.insert(
                name.clone(),
                SchemaMember { node, is_required: false, position: usize::MAX },
            );
        }
        for (position, name) in list_at(rules, "required").iter().enumerate() {
            let Some(name) = name.as_str() else { continue };
            let untyped_member =
                || SchemaMember { node: Shape::Any.into(), is_required: true, position };
            let member = members.entry(name.to_owned()).or_insert_with(untyped_member);
            member.is_required = true;
            member.position = member.position.min(position);
        }
        let patterns =
            object_at(rules, "patternProperties").map(|(_, schema)| self.parse(schema, at));
        let mut patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        let additional = match rules.get("additionalProperties") {
            Some(additional) => self.parse_additional(additional, at)?,
            None if patterns.is_empty() => AdditionalMembers::Unspecified,
            None => AdditionalMembers::None,
        };
        let additional = match (patterns.len(), additional) {
            (0, additional) => additional,
            (1, AdditionalMembers::None | AdditionalMembers::Unspecified) => {
                AdditionalMembers::Some(Box::new(patterns.remove(0)))
            }
            (_, additional) => {
                patterns.extend(match additional {
                    AdditionalMembers::Some(node) => Some(*node),
                    _ => None,
                });
                let branches = Choice { branches: patterns, is_exclusive: false };
                AdditionalMembers::Some(Box::new(Shape::Choice(branches).into()))
            }
        };
        Ok(Object { members, additional, rules: pick(rules, &OBJECT_KEYWORDS) })
    }

    fn parse_additional(
        &self,
        schema: &Value,
        at: &SchemaLocation,
    ) -> Result<AdditionalMembers, UnsupportedSchema> {
        Ok(match schema {
            Value::Bool(false) => AdditionalMembers::None,
            schema => AdditionalMembers::Some(Box::new(self.parse(schema, &at.member("*"))?)),
        })
    }

    /// Sets the additional members of all objects in a shape that don't mention any.
    fn with_additional(
        &self,
        node: SchemaNode,
        additional: &AdditionalMembers,
        at: &SchemaLocation,
    ) -> Result<SchemaNode, UnsupportedSchema> {
        let SchemaNode { shape, annotations } = self.follow(node, at)?;
        let shape = match shape {
            Shape::Object(object) if object.additional == AdditionalMembers::Unspecified => {
                Shape::Object(Object { additional: additional.clone(), ..object })
            }
            Shape::Choice(choice) => {
                let branches = choice.branches.into_iter();
                let branches = branches.map(|node| self.with_additional(node, additional, at));
                Shape::Choice(Choice { branches: branches.collect::<Result<_, _>>()?, ..choice })
            }
            shape => shape,
        };
        Ok(SchemaNode { shape, annotations })
    }
}

impl Annotations {
    /// Parses annotations. Without a type, the rules of all types become annotations.
    fn of(rules: &Map<String, Value>, is_any: bool) -> Self {
        let description = rules.get("description").and_then(Value::as_str).map(str::to_owned);
        let mut more = pick(rules, &COMMON_KEYWORDS);
        if is_any {
            for keywords in
                [&NUMBER_KEYWORDS[..], &STRING_KEYWORDS, &ARRAY_KEYWORDS, &OBJECT_KEYWORDS]
            {
                more.append(&mut pick(rules, keywords));
            }
        }
        Self { description, more }
    }
}

/// Parses listed values, by their types.
fn parse_values(
    values: &[Value],
    types: &[&str],
    at: &SchemaLocation,
) -> Result<Vec<SchemaNode>, UnsupportedSchema> {
    let mut found: Vec<(ScalarKind, Vec<Value>)> = Vec::new();
    for value in values {
        let Some(mut kind) = ScalarKind::of(value) else {
            return Err(at.unsupported("lists and objects can't be listed as values"));
        };
        let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
        let is_allowed = |name: &&str| {
            *name == kind.name()
                || *name == "number" && is_number(kind)
                || *name == "integer" && is_whole
        };
        if !types.is_empty() && !types.iter().any(is_allowed) {
            continue;
        }
        if is_number(kind) && values.iter().any(Value::is_f64) {
            kind = ScalarKind::Number;
        }
        match found.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) if known.contains(value) => {}
            Some((_, known)) => known.push(value.clone()),
            None => found.push((kind, vec![value.clone()])),
        }
    }
    if found.is_empty() {
        return Err(at.unsupported("no value satisfies the schema"));
    }
    let scalar = |(kind, values): (ScalarKind, Vec<Value>)| {
        let lists_all =
            kind == ScalarKind::Null || kind == ScalarKind::Boolean && values.len() == 2;
        let values = Some(values).filter(|_| !lists_all);
        Shape::Scalar(Scalar { kind, values, rules: Map::new() }).into()
    };
    Ok(found.into_iter().map(scalar).collect())
}

const fn is_number(kind: ScalarKind) -> bool {
    matches!(kind, ScalarKind::Integer | ScalarKind::Number)
}

/// Returns the type that the keywords imply, if none is named.
fn implied_type(rules: &Map<String, Value>) -> Option<&'static str> {
    let has = |keywords: &[&str]| keywords.iter().any(|key| rules.contains_key(*key));
    if has(&["properties", "additionalProperties", "patternProperties", "required"]) {
        Some("object")
    } else if has(&["items", "prefixItems"]) {
        Some("array")
    } else {
        None
    }
}

/// Returns these keywords with their values, without those that are no restriction.
fn pick(rules: &Map<String, Value>, keywords: &[&str]) -> Map<String, Value> {
    let is_restriction = |keyword: &str, value: &Value| match keyword {
        "minLength" | "minItems" | "minProperties" => value.as_u64() != Some(0),
        "uniqueItems" => value == &Value::Bool(true),
        "default" => !value.is_null(),
        "examples" => value.as_array().is_some_and(|examples| !examples.is_empty()),
        _ => true,
    };
    let all = keywords.iter().filter_map(|&keyword| rules.get_key_value(keyword));
    let restrictions = all.filter(|(keyword, value)| is_restriction(keyword, value));
    restrictions.map(|(keyword, value)| (keyword.clone(), value.clone())).collect()
}

fn list_at<'v>(rules: &'v Map<String, Value>, keyword: &str) -> &'v [Value] {
    rules.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn object_at<'v>(
    rules: &'v Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'v String, &'v Value)> {
    rules.get(keyword).and_then(Value::as_object).into_iter().flatten()
}
