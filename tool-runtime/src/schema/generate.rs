use std::iter::successors;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema as Document};
use serde_json::{Map, Value, json};

use super::Schema;
use super::constraints::is_constrained;
use super::inlined::inline_definitions;

/// Makes the schemas of one tool, which share their `$defs`.
#[derive(Debug)]
pub struct Generator(SchemaGenerator);

impl Generator {
    pub(crate) fn new() -> Self {
        Self(settings().into_generator())
    }

    /// One for what values serialise to, which may differ from what they are read from.
    pub(crate) fn for_output() -> Self {
        Self(settings().for_serialize().into_generator())
    }

    /// The schema of `T` as a document of its own; still to be [finished](finish).
    pub(crate) fn root<T: JsonSchema + ?Sized>(self) -> Value {
        let mut root = self.0.into_root_schema_for::<T>();
        // schemars titles the root with the type's name, which says nothing to a model.
        if root.get("title").and_then(Value::as_str) == Some(T::schema_name().as_ref()) {
            root.remove("title");
        }
        inline(root.to_value())
    }

    /// The schema of `T` as part of a larger document.
    pub(crate) fn part<T: JsonSchema + ?Sized>(&mut self) -> Value {
        self.0.subschema_for::<T>().to_value()
    }

    /// The `$defs` that the parts refer to.
    pub(crate) fn into_definitions(mut self) -> Map<String, Value> {
        self.0.take_definitions(true)
    }
}

/// A [part](Generator::part) as a document of its own; still to be [finished](finish).
pub(crate) fn part_as_root(part: &Value, definitions: &Map<String, Value>) -> Value {
    let mut root = part.clone();
    if let (Value::Object(members), false) = (&mut root, definitions.is_empty()) {
        members.insert("$defs".into(), definitions.clone().into());
    }
    inline(root)
}

/// A newtype of a newtype takes two steps; types without values would go round in circles.
fn inline(root: Value) -> Value {
    successors(Some(root), inlined).take(9).last().unwrap_or_default()
}

/// What a root refers to, in the place of one that does nothing else, such as a newtype's: the root
/// of a tool's parameters has to say itself that it is an object.
fn inlined(root: &Value) -> Option<Value> {
    let mut members = root.as_object()?.clone();
    let Value::String(reference) = members.remove("$ref")? else { return None };
    let Value::Object(mut definitions) = members.remove("$defs")? else { return None };
    if members.keys().any(|key| key != "description" && key != "title") {
        return None;
    }
    let name = reference.strip_prefix("#/$defs/")?;
    let target = definitions.get(name)?.as_object()?.clone();
    // What the newtype says of itself goes before what the type in it says.
    for (key, value) in &target {
        members.entry(key).or_insert_with(|| value.clone());
    }
    definitions.remove(name);
    // A type that holds itself, or is held by others, keeps its definition.
    let quoted = Value::from(reference.as_str()).to_string();
    if json!([members, definitions]).to_string().contains(&quoted) {
        definitions.insert(name.into(), target.into());
    }
    if !definitions.is_empty() {
        members.insert("$defs".into(), definitions.into());
    }
    Some(members.into())
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

/// What schemars made, as it goes to a model.
pub(crate) fn finish(document: Value) -> Schema {
    // Asked first: what restates a Rust type is told from a rule by the format beside it.
    let mut constrained = is_constrained(&document);
    let mut document = Document::try_from(document).unwrap_or_default();
    RecursiveTransform(|schema: &mut Document| {
        drop_empty_choices(schema);
        constrained |= say_bounds(schema);
    })
    .transform(&mut document);
    inline_definitions(&mut document);
    Schema::new(document.to_value(), constrained)
}

/// An enum whose only variant without documentation is skipped has a choice of nothing among its
/// branches, which providers refuse.
fn drop_empty_choices(schema: &mut Document) {
    if let Some(Value::Array(branches)) = schema.get_mut("oneOf") {
        let is_empty = |choices: &Value| choices.as_array().is_some_and(Vec::is_empty);
        branches.retain(|branch| !branch.get("enum").is_some_and(is_empty));
    }
}

/// `format: "uint32"` and the like name Rust's types, which say nothing to a model; its bounds do.
/// Tells whether they have to be checked: serde makes infinity of what is too large for an `f32`.
fn say_bounds(schema: &mut Document) -> bool {
    let numeric = schema.get("type").is_some_and(|types| match types {
        Value::Array(types) => types.iter().any(is_numeric),
        one => is_numeric(one),
    });
    if !numeric {
        return false;
    }
    // schemars gives the bounds of the smaller types itself; those of the larger ones are beyond
    // what a model would send.
    let (least, most): (Value, Value) =
        match schema.remove("format").as_ref().and_then(Value::as_str) {
            Some("int32") => (i32::MIN.into(), i32::MAX.into()),
            Some("uint32") => (0.into(), u32::MAX.into()),
            Some("float") => (f32::MIN.into(), f32::MAX.into()),
            _ => return false,
        };
    let to_check = most.is_f64();
    let members = schema.ensure_object();
    members.entry("minimum").or_insert(least);
    members.entry("maximum").or_insert(most);
    to_check
}

fn is_numeric(name: &Value) -> bool {
    matches!(name.as_str(), Some("integer" | "number"))
}

/// Whether a lone parameter of the type with this root schema is the args struct itself, rather
/// than one named argument: an object whose members the schema names, or that has none.
///
/// A map (any member of some type) is one argument; so is everything that isn't an object.
pub(crate) fn takes_whole_object(root: &Value) -> bool {
    let open = root.get("patternProperties").is_some()
        || match root.get("additionalProperties") {
            None | Some(Value::Bool(false)) => false,
            Some(_) => true,
        };
    root.get("type").and_then(Value::as_str) == Some("object")
        && (root.get("properties").is_some() || !open)
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::{Value, json};

    use crate::schema::Schema;

    /// Money and its kind.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted; so below")]
    struct Pay {
        amount: bool,
    }

    /// Somebody's.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "as above")]
    struct Wage(Pay);

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "as above")]
    struct Tree {
        kids: Vec<Self>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "as above")]
    struct Root(Tree);

    /// Has no values.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "as above")]
    struct Endless(Box<Self>);

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "as above")]
    enum Unit {
        /// Warm
        Celsius,
        #[serde(skip)]
        Unknown,
    }

    fn of<T: JsonSchema>() -> Value {
        Schema::of::<T>().into()
    }

    #[test]
    fn a_newtype_is_what_is_in_it() {
        let pay = json!({
            "type": "object",
            "description": "Somebody's.",
            "properties": {"amount": {"type": "boolean"}},
            "required": ["amount"],
        });
        assert_eq!(of::<Wage>(), pay);
        let kids = json!({
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
            "required": ["kids"],
        });
        let mut root = kids.clone();
        root["$defs"] = json!({"Tree": kids});
        assert_eq!(of::<Root>(), root);
        assert!(of::<Endless>().get("$ref").is_some());
    }

    #[test]
    fn no_choice_is_empty() {
        let celsius = json!({"type": "string", "const": "Celsius", "description": "Warm"});
        assert_eq!(of::<Unit>(), json!({"oneOf": [celsius]}));
    }
}
