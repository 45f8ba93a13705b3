//! Generates schemas of all shapes that schemars writes for types, and of shapes that people write
//! by hand.

use serde_json::{Map, Value, json};

use crate::draw::Draws;

const NAMES: [&str; 6] = ["a", "b", "how_many", "odd name", "of", "z1"];
const TAGS: [&str; 4] = ["one", "two", "Three", "four"];
const FORMATS: [&str; 4] = ["date-time", "uri", "uuid", "ip"];

pub(crate) struct Grammar<'a, 'b> {
    draws: &'a mut Draws<'b>,
    definitions: Map<String, Value>,
}

/// The parameters of a tool.
pub(crate) fn parameters(draws: &mut Draws<'_>) -> Value {
    let mut grammar = Grammar { draws, definitions: Map::new() };
    let mut root = grammar.object(3);
    if grammar.draws.one_in(12) {
        grammar.flatten(&mut root, 2);
    }
    if !grammar.definitions.is_empty() {
        root["$defs"] = grammar.definitions.into();
    }
    root
}

impl Grammar<'_, '_> {
    fn shape(&mut self, depth: usize) -> Value {
        let mut schema = match self.draws.below(if depth == 0 { 5 } else { 16 }) {
            0 => self.number(),
            1 => self.text(),
            2 => json!({"type": "boolean"}),
            3 => self.units(),
            4 => json!({"type": "integer", "format": "int64"}),
            5 | 6 => self.object(depth - 1),
            7 | 8 => self.list(depth - 1),
            9 => self.tuple(depth - 1),
            10 => self.optional(depth - 1),
            11 => self.tagged(depth - 1),
            12 => self.untagged(depth - 1),
            13 | 14 => self.reference(depth - 1),
            _ => self.rare(depth - 1),
        };
        if self.draws.one_in(3) {
            schema["description"] = json!("What it is.");
        }
        schema
    }

    fn number(&mut self) -> Value {
        let kind = self.draws.from(&["integer", "number"]);
        let mut schema = json!({"type": kind});
        if self.draws.one_in(2) {
            schema["minimum"] = json!(self.draws.below(3));
            schema["maximum"] = json!(3 + self.draws.below(90));
        }
        if self.draws.one_in(8) {
            schema["multipleOf"] = json!(5);
        }
        schema
    }

    fn text(&mut self) -> Value {
        let mut schema = json!({"type": "string"});
        match self.draws.below(7) {
            0 => schema["minLength"] = json!(1),
            1 => schema["maxLength"] = json!(4),
            2 => schema["pattern"] = json!("^[a-z]+$"),
            3 => schema["format"] = json!(self.draws.from(&FORMATS)),
            4 => schema["examples"] = json!(["Oslo"]),
            _ => {}
        }
        schema
    }

    /// An enum without data, with and without descriptions.
    fn units(&mut self) -> Value {
        let count = 1 + self.draws.below(3);
        match self.draws.below(4) {
            0 => {
                let tags = TAGS[..=count].iter();
                let tags =
                    tags.map(|tag| json!({"type": "string", "const": tag, "description": "So."}));
                json!({"oneOf": tags.collect::<Vec<_>>()})
            }
            1 => json!({"enum": [1, 2, 5]}),
            2 => json!({"enum": ["a", 1, null, true]}),
            _ => json!({"type": "string", "enum": TAGS[..count]}),
        }
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut members = Map::new();
        let mut required = Vec::new();
        for name in &NAMES[..self.draws.below(NAMES.len())] {
            members.insert((*name).to_owned(), self.shape(depth));
            match self.draws.below(3) {
                0 => required.push(*name),
                1 => members[*name]["default"] = json!(null),
                _ => {}
            }
        }
        let mut schema = json!({"type": "object", "properties": members});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if self.draws.one_in(2) {
            schema["additionalProperties"] = json!(false);
        }
        schema
    }

    fn list(&mut self, depth: usize) -> Value {
        let mut schema = json!({"type": "array", "items": self.shape(depth)});
        match self.draws.below(5) {
            0 => schema["minItems"] = json!(1),
            1 => schema["maxItems"] = json!(3),
            2 => schema["uniqueItems"] = json!(true),
            _ => {}
        }
        schema
    }

    fn tuple(&mut self, depth: usize) -> Value {
        let items: Vec<_> = (0..1 + self.draws.below(3)).map(|_| self.shape(depth)).collect();
        let count = items.len();
        json!({"type": "array", "prefixItems": items, "minItems": count, "maxItems": count})
    }

    fn optional(&mut self, depth: usize) -> Value {
        let mut inner = self.shape(depth);
        match (inner["type"].clone(), self.draws.one_in(2)) {
            (Value::String(kind), true)
                if kind != "null"
                    && inner.get("enum").is_none()
                    && inner.get("const").is_none() =>
            {
                inner["type"] = json!([kind, "null"]);
                inner
            }
            _ => json!({"anyOf": [inner, {"type": "null"}]}),
        }
    }

    fn tagged(&mut self, depth: usize) -> Value {
        let form = self.draws.below(3);
        let branches: Vec<_> = TAGS[..2 + self.draws.below(2)]
            .iter()
            .map(|tag| {
                let constant = json!({"type": "string", "const": tag});
                match form {
                    // Internally tagged.
                    0 => {
                        let mut object = self.object(depth);
                        object["properties"]["kind"] = constant;
                        let mut required = object["required"].as_array().cloned().unwrap_or_default();
                        required.push(json!("kind"));
                        object["required"] = required.into();
                        object
                    }
                    // Externally tagged.
                    1 if self.draws.one_in(3) => constant,
                    1 => json!({"type": "object", "properties": {*tag: self.shape(depth)},
                        "required": [tag], "additionalProperties": false}),
                    // Adjacently tagged.
                    _ => json!({"type": "object", "properties": {"kind": constant, "with": self.shape(depth)},
                        "required": ["kind", "with"]}),
                }
            })
            .collect();
        json!({"oneOf": branches})
    }

    fn untagged(&mut self, depth: usize) -> Value {
        let branches: Vec<_> = (0..2 + self.draws.below(2)).map(|_| self.shape(depth)).collect();
        json!({"anyOf": branches})
    }

    fn reference(&mut self, depth: usize) -> Value {
        let name = format!("T{}", self.draws.below(4));
        let reference = json!({"$ref": format!("#/$defs/{name}")});
        // A recursive type with finite values.
        if self.definitions.get(&name).is_some_and(Value::is_null) {
            return json!({"anyOf": [reference, {"type": "null"}]});
        }
        if !self.definitions.contains_key(&name) {
            self.definitions.insert(name.clone(), json!(null));
            let mut schema = self.object(depth);
            if self.draws.one_in(4) {
                let next = json!({"anyOf": [reference, {"type": "null"}]});
                schema["properties"]["next"] = next;
            } else if self.draws.one_in(6) {
                let kids = json!({"type": "array", "items": reference});
                schema["properties"]["kids"] = kids;
                schema["required"] = json!(["kids"]);
            }
            self.definitions.insert(name.clone(), schema);
        }
        reference
    }

    /// A flattened enum.
    fn flatten(&mut self, object: &mut Value, depth: usize) {
        object["oneOf"] = self.tagged(depth)["oneOf"].clone();
        if let Some(rules) = object.as_object_mut() {
            rules.remove("additionalProperties");
            rules.insert("unevaluatedProperties".into(), json!(false));
        }
    }

    fn rare(&mut self, depth: usize) -> Value {
        match self.draws.below(9) {
            0 => json!({"type": "object", "additionalProperties": self.shape(depth)}),
            1 => json!({}),
            2 => json!({"type": "object"}),
            3 => json!({"type": "array"}),
            4 => json!({"allOf": [self.object(depth), self.object(0)]}),
            5 => json!({"type": "null"}),
            6 => {
                let mut object = self.object(depth);
                self.flatten(&mut object, depth);
                object
            }
            7 => json!({"type": "integer", "not": {"const": 3}}),
            _ => {
                json!({"type": "object", "patternProperties": {"^\\d+$": self.shape(depth)}, "additionalProperties": false})
            }
        }
    }
}
