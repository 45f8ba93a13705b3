//! Random schemas with every keyword that validation knows.

use serde_json::{Map, Value, json};

use crate::draw::{Draws, KEYS, TEXTS, number};

/// Patterns that regex-lite and the engine of jsonschema interpret alike.
const PATTERNS: [&str; 9] = [
    "^a",
    "b$",
    "^[a-z]+$",
    "^\\d{4}-\\d{2}$",
    "^.{2,3}$",
    "^(a|b)*$",
    "^x|1$",
    "[^a-z]",
    "^\\S*$",
];
const DEFINITIONS: [(&str, &str); 4] = [("A", "A"), ("b/c", "b~1c"), ("d e", "d%20e"), ("~", "~0")];
const TYPES: [&str; 7] = ["string", "integer", "number", "object", "array", "boolean", "null"];

/// The limits of a schema at its location.
#[derive(Clone, Copy)]
struct Location {
    depth: usize,
    /// Definitions from this index on may be referred to without going deeper into the value, so
    /// that no reference leads back to itself.
    first_ref: usize,
    /// The value here is a part of the whole, so that any reference is allowed.
    is_inside: bool,
}

impl Location {
    fn deeper(self) -> Self {
        Self { depth: self.depth.saturating_sub(1), ..self }
    }

    fn inside(self) -> Self {
        Self { is_inside: true, first_ref: 0, ..self.deeper() }
    }

    /// A reference from a nested schema must not lead back to that schema for the same value.
    fn reference(self, draws: &mut Draws<'_>) -> Option<String> {
        if self.is_inside && draws.one_in(6) {
            return Some("#".to_owned());
        }
        let left = DEFINITIONS.len() - self.first_ref.min(DEFINITIONS.len());
        (left > 0).then(|| {
            let (_, pointer) = DEFINITIONS[self.first_ref + draws.below(left)];
            format!("#/$defs/{pointer}")
        })
    }
}

pub(crate) fn document(draws: &mut Draws<'_>) -> Value {
    let top = Location { depth: 4, first_ref: 0, is_inside: false };
    let mut root = schema(draws, top);
    if let Value::Object(rules) = &mut root {
        let mut definitions = Map::new();
        for (at, (name, _)) in DEFINITIONS.iter().enumerate() {
            let place = Location { depth: 2, first_ref: at + 1, is_inside: false };
            definitions.insert((*name).to_owned(), schema(draws, place));
        }
        rules.insert("$defs".to_owned(), definitions.into());
    }
    root
}

fn schema(draws: &mut Draws<'_>, place: Location) -> Value {
    if draws.one_in(40) {
        return json!(draws.one_in(2));
    }
    let mut rules = Map::new();
    if place.depth == 0 {
        scalar(draws, &mut rules);
        return rules.into();
    }
    match draws.below(12) {
        0 => scalar(draws, &mut rules),
        1..=3 => object(draws, place, &mut rules),
        4 => array(draws, place, &mut rules),
        5 => branches(draws, place, &mut rules),
        6 => tagged(draws, place, &mut rules),
        7 => reference(draws, place, &mut rules),
        8 => choice(draws, &mut rules),
        9 => flattened(draws, place, &mut rules),
        10 => logic(draws, place, &mut rules),
        _ => {
            // Keywords of several types at once, without `type`.
            scalar(draws, &mut rules);
            object(draws, place, &mut rules);
            array(draws, place, &mut rules);
            rules.remove("type");
        }
    }
    if draws.one_in(8) {
        reference(draws, place, &mut rules);
    }
    if draws.one_in(10) {
        logic(draws, place, &mut rules);
    }
    if draws.one_in(10) {
        branches(draws, place, &mut rules);
    }
    if draws.one_in(6) && rules.get("type").is_some_and(|kind| kind.is_string() && kind != "null") {
        rules["type"] = json!([rules["type"], "null"]);
    }
    rules.into()
}

fn put(rules: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    rules.insert(key.to_owned(), value.into());
}

fn scalar(draws: &mut Draws<'_>, rules: &mut Map<String, Value>) {
    let kind = draws.from(&["string", "integer", "number", "boolean", "null"]);
    put(rules, "type", kind);
    match kind {
        "string" => {
            if draws.one_in(3) {
                put(rules, "minLength", draws.below(4));
            }
            if draws.one_in(3) {
                put(rules, "maxLength", draws.below(5));
            }
            if draws.one_in(3) {
                put(rules, "pattern", draws.from(&PATTERNS));
            }
        }
        "integer" | "number" => {
            for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
                if draws.one_in(4) {
                    put(rules, key, number(draws));
                }
            }
            if draws.one_in(5) {
                // Divisors of a power of ten: implementations read large floats as 2^64 or as the
                // decimals that they print as.
                let steps = [json!(1), json!(2), json!(4.0), json!(0.5), json!(0.1), json!(0.01)];
                put(rules, "multipleOf", draws.from(&steps));
            }
        }
        _ => {}
    }
}

fn choice(draws: &mut Draws<'_>, rules: &mut Map<String, Value>) {
    let value = |draws: &mut Draws<'_>| match draws.below(6) {
        0..=2 => json!(draws.from(&TEXTS)),
        3 => number(draws),
        4 => json!(null),
        _ => draws.from(&[json!([1]), json!({"a": 1.0}), json!(true), json!({"kind": "a"})]),
    };
    if draws.one_in(2) {
        put(rules, "const", value(draws));
    } else {
        let choices: Vec<_> = (0..=draws.below(4)).map(|_| value(draws)).collect();
        put(rules, "enum", choices);
    }
}

fn object(draws: &mut Draws<'_>, place: Location, rules: &mut Map<String, Value>) {
    put(rules, "type", "object");
    let mut properties = Map::new();
    for _ in 0..draws.below(4) {
        let key = draws.from(&KEYS);
        properties.insert(key.to_owned(), schema(draws, place.inside()));
    }
    if draws.one_in(2) {
        let required: Vec<_> = properties.keys().filter(|_| draws.one_in(2)).cloned().collect();
        put(rules, "required", required);
    }
    put(rules, "properties", properties);
    match draws.below(6) {
        0 => put(rules, "additionalProperties", false),
        1 => put(rules, "additionalProperties", schema(draws, place.inside())),
        2 => put(rules, "unevaluatedProperties", false),
        _ => {}
    }
    if draws.one_in(8) {
        let pattern = draws.from(&PATTERNS);
        put(rules, "patternProperties", json!({pattern: schema(draws, place.inside())}));
        if draws.one_in(2) {
            put(rules, "additionalProperties", false);
        }
    }
    if draws.one_in(12) {
        put(rules, "propertyNames", json!({"pattern": draws.from(&PATTERNS)}));
    }
    if draws.one_in(12) {
        put(rules, "propertyNames", json!({"enum": KEYS[..3 + draws.below(3)], "maxLength": 4}));
    }
    if draws.one_in(10) {
        put(rules, "minProperties", draws.below(3));
    }
    if draws.one_in(10) {
        put(rules, "maxProperties", draws.below(4));
    }
    if draws.one_in(10) {
        let needs = json!({draws.from(&KEYS): [draws.from(&KEYS)]});
        put(rules, "dependentRequired", needs);
    }
    if draws.one_in(14) {
        let needs = json!({draws.from(&KEYS): schema(draws, place.deeper())});
        put(rules, "dependentSchemas", needs);
    }
}

fn array(draws: &mut Draws<'_>, place: Location, rules: &mut Map<String, Value>) {
    put(rules, "type", "array");
    if draws.one_in(3) {
        let first: Vec<_> = (0..=draws.below(3)).map(|_| schema(draws, place.inside())).collect();
        put(rules, "prefixItems", first);
    }
    match draws.below(5) {
        0..=2 => put(rules, "items", schema(draws, place.inside())),
        3 => put(rules, "items", false),
        _ => {}
    }
    if draws.one_in(5) {
        put(rules, "minItems", draws.below(3));
    }
    if draws.one_in(5) {
        put(rules, "maxItems", draws.below(4));
    }
    if draws.one_in(4) {
        put(rules, "uniqueItems", true);
    }
    if draws.one_in(6) {
        put(rules, "contains", schema(draws, place.inside()));
        if draws.one_in(2) {
            put(rules, "minContains", draws.below(3));
        }
        if draws.one_in(2) {
            put(rules, "maxContains", draws.below(3));
        }
    }
    if draws.one_in(8) {
        let others = [json!(false), json!({"type": "integer"})];
        put(rules, "unevaluatedItems", draws.from(&others));
    }
}

fn branches(draws: &mut Draws<'_>, place: Location, rules: &mut Map<String, Value>) {
    let key = draws.from(&["anyOf", "oneOf", "allOf"]);
    let mut branches: Vec<_> =
        (0..=draws.below(3)).map(|_| schema(draws, place.deeper())).collect();
    if draws.one_in(3) {
        branches.push(json!({"type": "null"}));
    }
    put(rules, key, branches);
}

/// An enum as serde writes it: with a tag, or with a key.
fn tagged(draws: &mut Draws<'_>, place: Location, rules: &mut Map<String, Value>) {
    let is_wrapped = draws.one_in(2);
    let branches: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .map(|tag| {
            if is_wrapped && draws.one_in(4) {
                return json!({"type": "string", "const": tag});
            }
            let inner = schema(draws, place.inside());
            if is_wrapped {
                let properties = json!({tag: inner});
                return json!({"type": "object", "properties": properties, "required": [tag],
                    "additionalProperties": false});
            }
            let kind = json!({"type": "string", "const": tag});
            let properties = json!({"kind": kind, draws.from(&KEYS[..3]): inner});
            json!({"type": "object", "properties": properties, "required": ["kind"]})
        })
        .collect();
    put(rules, draws.from(&["oneOf", "anyOf"]), branches);
}

fn reference(draws: &mut Draws<'_>, place: Location, rules: &mut Map<String, Value>) {
    if let Some(reference) = place.reference(draws) {
        put(rules, "$ref", reference);
    }
}

/// A flattened enum in a struct that denies unknown fields, as schemars writes it.
fn flattened(draws: &mut Draws<'_>, place: Location, rules: &mut Map<String, Value>) {
    object(draws, place, rules);
    rules.remove("additionalProperties");
    if draws.one_in(4) {
        // The inner schema evaluates all of its members.
        let open = json!({"additionalProperties": schema(draws, place.inside())});
        put(rules, "allOf", [open]);
    }
    branches(draws, place, rules);
    if draws.one_in(2) {
        tagged(draws, place, rules);
    }
    let others = match draws.below(4) {
        0 => schema(draws, place.inside()),
        _ => json!(false),
    };
    put(rules, "unevaluatedProperties", others);
}

fn logic(draws: &mut Draws<'_>, place: Location, rules: &mut Map<String, Value>) {
    if draws.one_in(2) {
        put(rules, "if", schema(draws, place.deeper()));
        if !draws.one_in(4) {
            put(rules, "then", schema(draws, place.deeper()));
        }
        if draws.one_in(2) {
            put(rules, "else", schema(draws, place.deeper()));
        }
    } else if draws.one_in(2) {
        put(rules, "not", json!({"type": draws.from(&TYPES)}));
    } else {
        put(rules, "not", schema(draws, place.deeper()));
    }
}
