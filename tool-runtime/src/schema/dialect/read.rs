//! What a document means.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Unfit;
use super::node::{Choice, Kind, Member, Node, Notes, Object, Others, Scalar, Shape};
use super::place::Place;
use crate::schema::pointer::resolve;

/// As many schemas are looked at: references that are written out could multiply.
const MOST: usize = 100_000;

const OF_NUMBERS: [&str; 5] =
    ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"];
const OF_TEXTS: [&str; 6] =
    ["contentEncoding", "contentMediaType", "format", "maxLength", "minLength", "pattern"];
const OF_LISTS: [&str; 7] = [
    "contains",
    "maxContains",
    "maxItems",
    "minContains",
    "minItems",
    "unevaluatedItems",
    "uniqueItems",
];
const OF_OBJECTS: [&str; 7] = [
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "maxProperties",
    "minProperties",
    "patternProperties",
    "propertyNames",
];
/// What is said of values of any type, and to the reader.
const OF_ALL: [&str; 7] = ["default", "else", "examples", "if", "not", "then", "title"];

pub(super) struct Reader<'d> {
    document: &'d Value,
    left: Cell<usize>,
}

impl<'d> Reader<'d> {
    pub(super) const fn new(document: &'d Value) -> Self {
        Self { document, left: Cell::new(MOST) }
    }

    pub(super) fn pay(&self, at: &Place) -> Result<(), Unfit> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.ok_or_else(|| at.unfit("its schema is too large"))?);
        Ok(())
    }

    /// What a reference leads to.
    pub(super) fn target(&self, reference: &str, at: &Place) -> Result<Node, Unfit> {
        let target = resolve(self.document, reference);
        let absent = || at.unfit(format!("it refers to `{reference}`, which is not in its schema"));
        self.read(target.ok_or_else(absent)?, &at.deeper()?)
    }

    pub(super) fn read(&self, schema: &Value, at: &Place) -> Result<Node, Unfit> {
        self.pay(at)?;
        let at = &at.deeper()?;
        let rules = match schema {
            Value::Bool(true) => return Ok(Shape::Any.into()),
            Value::Object(rules) => rules,
            _ => return Err(at.unfit("no value fits it")),
        };
        if rules.contains_key("$dynamicRef") || rules.contains_key("$recursiveRef") {
            return Err(at.unfit("where it refers to is only known when a value is there"));
        }
        let shape = self.own(rules, at)?;
        let notes = Notes::of(rules, shape == Shape::Any);
        let mut node = Node { shape, notes };
        for part in self.parts(rules, at)? {
            let both = self.both(node, part, at)?;
            node = both.ok_or_else(|| at.unfit("no value fits all that is said of it"))?;
        }
        if let Some(others) = rules.get("unevaluatedProperties") {
            let others = self.others(others, at)?;
            node = self.with_others(node, &others, at)?;
        }
        Ok(node)
    }

    /// What a place that may refer to another says in the end, with all that is said on the way.
    pub(super) fn followed(&self, mut node: Node, at: &Place) -> Result<Node, Unfit> {
        let mut at = at.clone();
        while let Shape::Reference(reference) = &node.shape {
            at = at.deeper()?;
            self.pay(&at)?;
            let target = self.target(reference, &at)?;
            node = Node { shape: target.shape, notes: node.notes.over(target.notes, &at)? };
        }
        Ok(node)
    }

    /// The other schemas that hold here as well.
    fn parts(&self, rules: &Map<String, Value>, at: &Place) -> Result<Vec<Node>, Unfit> {
        let mut parts = Vec::new();
        if let Some(Value::String(reference)) = rules.get("$ref") {
            parts.push(Shape::Reference(reference.clone()).into());
        }
        for part in listed(rules, "allOf") {
            parts.push(self.read(part, at)?);
        }
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            if rules.contains_key(keyword) {
                let among = listed(rules, keyword).iter().map(|branch| self.read(branch, at));
                let among = among.collect::<Result<_, _>>()?;
                parts.push(Shape::Choice(Choice { among, is_exclusive }).into());
            }
        }
        Ok(parts)
    }

    /// What the keywords of types say.
    fn own(&self, rules: &Map<String, Value>, at: &Place) -> Result<Shape, Unfit> {
        let types: Vec<_> = match rules.get("type") {
            Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect(),
            None => implied(rules).into_iter().collect(),
        };
        let values = match (rules.get("const"), rules.get("enum")) {
            (Some(only), _) => Some(std::slice::from_ref(only)),
            (None, Some(Value::Array(values))) => Some(values.as_slice()),
            _ => None,
        };
        let mut among = match values {
            Some(values) => of_values(values, &types, at)?,
            None => {
                let shapes = types.iter().map(|name| self.of_type(name, rules, at));
                shapes.map(|shape| shape.map(Node::from)).collect::<Result<Vec<_>, _>>()?
            }
        };
        Ok(match among.len() {
            0 => Shape::Any,
            1 => among.remove(0).shape,
            _ => Shape::Choice(Choice { among, is_exclusive: false }),
        })
    }

    fn of_type(&self, name: &str, rules: &Map<String, Value>, at: &Place) -> Result<Shape, Unfit> {
        let scalar = |kind, keywords| {
            Shape::Scalar(Scalar { kind, values: None, rules: picked(rules, keywords) })
        };
        Ok(match name {
            "null" => scalar(Kind::Null, &[]),
            "boolean" => scalar(Kind::Boolean, &[]),
            "integer" => scalar(Kind::Integer, &OF_NUMBERS),
            "number" => scalar(Kind::Number, &OF_NUMBERS),
            "string" => scalar(Kind::Text, &OF_TEXTS),
            "array" => self.list(rules, at)?,
            "object" => Shape::Object(self.object(rules, at)?),
            _ => return Err(at.unfit(format!("there is no type `{name}`"))),
        })
    }

    fn list(&self, rules: &Map<String, Value>, at: &Place) -> Result<Shape, Unfit> {
        // A list of schemas was spelled `items` before 2020-12.
        let key =
            if rules.get("items").is_some_and(Value::is_array) { "items" } else { "prefixItems" };
        let first = listed(rules, key).iter().zip(0..);
        let first = first.map(|(item, index)| self.read(item, &at.item(index)));
        let first = first.collect::<Result<Vec<_>, _>>()?;
        let rest = match rules.get("items") {
            Some(Value::Bool(false)) => None,
            Some(items) if !items.is_array() => Some(Box::new(self.read(items, &at.items())?)),
            _ => first.is_empty().then(|| Box::new(Shape::Any.into())),
        };
        Ok(Shape::List { first, rest, rules: picked(rules, &OF_LISTS) })
    }

    fn object(&self, rules: &Map<String, Value>, at: &Place) -> Result<Object, Unfit> {
        let mut members = BTreeMap::new();
        for (name, schema) in named(rules, "properties") {
            let node = self.read(schema, &at.member(name))?;
            members.insert(name.clone(), Member { node, is_required: false, place: usize::MAX });
        }
        for (place, name) in listed(rules, "required").iter().enumerate() {
            let Some(name) = name.as_str() else { continue };
            let any = || Member { node: Shape::Any.into(), is_required: true, place };
            let member = members.entry(name.to_owned()).or_insert_with(any);
            member.is_required = true;
            member.place = member.place.min(place);
        }
        let patterns = named(rules, "patternProperties").map(|(_, schema)| self.read(schema, at));
        let mut patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        let others = match rules.get("additionalProperties") {
            Some(others) => self.others(others, at)?,
            None if patterns.is_empty() => Others::Unsaid,
            None => Others::None,
        };
        let others = match (patterns.len(), others) {
            (0, others) => others,
            (1, Others::None | Others::Unsaid) => Others::Some(Box::new(patterns.remove(0))),
            (_, others) => {
                patterns.extend(match others {
                    Others::Some(node) => Some(*node),
                    _ => None,
                });
                let among = Choice { among: patterns, is_exclusive: false };
                Others::Some(Box::new(Shape::Choice(among).into()))
            }
        };
        Ok(Object { members, others, rules: picked(rules, &OF_OBJECTS) })
    }

    fn others(&self, schema: &Value, at: &Place) -> Result<Others, Unfit> {
        Ok(match schema {
            Value::Bool(false) => Others::None,
            schema => Others::Some(Box::new(self.read(schema, &at.member("*"))?)),
        })
    }

    /// The objects of a shape, where nothing is said there of members without a name.
    fn with_others(&self, node: Node, others: &Others, at: &Place) -> Result<Node, Unfit> {
        let Node { shape, notes } = self.followed(node, at)?;
        let shape = match shape {
            Shape::Object(object) if object.others == Others::Unsaid => {
                Shape::Object(Object { others: others.clone(), ..object })
            }
            Shape::Choice(choice) => {
                let among = choice.among.into_iter();
                let among = among.map(|node| self.with_others(node, others, at));
                Shape::Choice(Choice { among: among.collect::<Result<_, _>>()?, ..choice })
            }
            shape => shape,
        };
        Ok(Node { shape, notes })
    }
}

impl Notes {
    /// Where nothing is said of the type, the rules of all types are for the reader.
    fn of(rules: &Map<String, Value>, is_any: bool) -> Self {
        let description = rules.get("description").and_then(Value::as_str).map(str::to_owned);
        let mut more = picked(rules, &OF_ALL);
        if is_any {
            for keywords in [&OF_NUMBERS[..], &OF_TEXTS, &OF_LISTS, &OF_OBJECTS] {
                more.append(&mut picked(rules, keywords));
            }
        }
        Self { description, more }
    }
}

/// The values that are listed, by their types.
fn of_values(values: &[Value], types: &[&str], at: &Place) -> Result<Vec<Node>, Unfit> {
    let mut found: Vec<(Kind, Vec<Value>)> = Vec::new();
    for value in values {
        let Some(mut kind) = Kind::of(value) else {
            return Err(at.unfit("of lists and objects no single values can be listed"));
        };
        let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
        let is = |name: &&str| {
            *name == kind.name()
                || *name == "number" && is_number(kind)
                || *name == "integer" && is_whole
        };
        if !types.is_empty() && !types.iter().any(is) {
            continue;
        }
        if is_number(kind) && values.iter().any(Value::is_f64) {
            kind = Kind::Number;
        }
        match found.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) if known.contains(value) => {}
            Some((_, known)) => known.push(value.clone()),
            None => found.push((kind, vec![value.clone()])),
        }
    }
    if found.is_empty() {
        return Err(at.unfit("no value fits it"));
    }
    let scalar = |(kind, values): (Kind, Vec<Value>)| {
        let is_all = kind == Kind::Null || kind == Kind::Boolean && values.len() == 2;
        let values = Some(values).filter(|_| !is_all);
        Shape::Scalar(Scalar { kind, values, rules: Map::new() }).into()
    };
    Ok(found.into_iter().map(scalar).collect())
}

const fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Integer | Kind::Number)
}

/// The type that is meant where none is named.
fn implied(rules: &Map<String, Value>) -> Option<&'static str> {
    let has = |keywords: &[&str]| keywords.iter().any(|key| rules.contains_key(*key));
    if has(&["properties", "additionalProperties", "patternProperties", "required"]) {
        Some("object")
    } else if has(&["items", "prefixItems"]) {
        Some("array")
    } else {
        None
    }
}

/// What these keywords say, but for what says nothing.
fn picked(rules: &Map<String, Value>, keywords: &[&str]) -> Map<String, Value> {
    let says = |keyword: &str, value: &Value| match keyword {
        "minLength" | "minItems" | "minProperties" => value.as_u64() != Some(0),
        "uniqueItems" => value == &Value::Bool(true),
        "default" => !value.is_null(),
        "examples" => value.as_array().is_some_and(|examples| !examples.is_empty()),
        _ => true,
    };
    let all = keywords.iter().filter_map(|&keyword| rules.get_key_value(keyword));
    let said = all.filter(|(keyword, value)| says(keyword, value));
    said.map(|(keyword, value)| (keyword.clone(), value.clone())).collect()
}

fn listed<'v>(rules: &'v Map<String, Value>, keyword: &str) -> &'v [Value] {
    rules.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn named<'v>(
    rules: &'v Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'v String, &'v Value)> {
    rules.get(keyword).and_then(Value::as_object).into_iter().flatten()
}
