//! Generation of schemas from Rust types with schemars, simplified for language models.

use std::iter::successors;

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema as Document};
use serde_json::{Map, Value, json};

use super::Schema;
use super::argument_rule::apply_marks;
use super::constraints::is_constrained;
use super::inline::inline_definitions;

/// Generates the schemas of one tool, which share their `$defs`.
#[derive(Debug)]
#[doc(hidden)]
pub struct Generator(SchemaGenerator);

impl Generator {
    pub(crate) fn new() -> Self {
        Self(settings().into_generator())
    }

    /// Creates a generator for serialized values, whose schema may differ from that of decoded
    /// values.
    pub(crate) fn for_output() -> Self {
        Self(settings().for_serialize().into_generator())
    }

    /// Returns the schema of `T` as a separate document, which still has to be [finished](finish).
    pub(crate) fn root<T: JsonSchema + ?Sized>(self) -> Value {
        let mut root = self.0.into_root_schema_for::<T>();
        // schemars sets the title of the root to the type's name, which tells a model nothing.
        if root.get("title").and_then(Value::as_str) == Some(T::schema_name().as_ref()) {
            root.remove("title");
        }
        inline_newtype(root.to_value())
    }

    /// Returns the schema of `T` as part of a larger document.
    pub(crate) fn part<T: JsonSchema + ?Sized>(&mut self) -> Value {
        self.0.subschema_for::<T>().to_value()
    }

    /// Returns the `$defs` that the parts refer to.
    pub(crate) fn into_definitions(mut self) -> Map<String, Value> {
        self.0.take_definitions(true)
    }
}

/// Returns a [part](Generator::part) as a separate document, which still has to be
/// [finished](finish).
pub(crate) fn part_as_root(part: &Value, definitions: &Map<String, Value>) -> Value {
    let mut root = part.clone();
    if let (Value::Object(members), false) = (&mut root, definitions.is_empty()) {
        members.insert("$defs".into(), definitions.clone().into());
    }
    inline_newtype(root)
}

/// A newtype of a newtype takes two steps. The limit ends the loop for recursive types without
/// values.
fn inline_newtype(root: Value) -> Value {
    successors(Some(root), inline_root).take(9).last().unwrap_or_default()
}

/// Replaces a root that is only a reference, such as that of a newtype, with its target. The root
/// of a tool's parameters has to declare itself that it is an object.
fn inline_root(root: &Value) -> Option<Value> {
    let mut members = root.as_object()?.clone();
    let Value::String(reference) = members.remove("$ref")? else { return None };
    let Value::Object(mut definitions) = members.remove("$defs")? else { return None };
    if members.keys().any(|key| key != "description" && key != "title") {
        return None;
    }
    let name = reference.strip_prefix("#/$defs/")?;
    let target = definitions.get(name)?.as_object()?.clone();
    // Keywords of the newtype take precedence over those of the inner type.
    for (key, value) in &target {
        members.entry(key).or_insert_with(|| value.clone());
    }
    definitions.remove(name);
    // A recursive type, or one that others use, keeps its definition.
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

/// Simplifies a document of schemars for language models.
pub(crate) fn finish(document: Value) -> Schema {
    // This runs first, because `format` tells bounds of the Rust type from other bounds.
    let mut is_constrained_schema = is_constrained(&document);
    let mut document = Document::try_from(document).unwrap_or_default();
    RecursiveTransform(|schema: &mut Document| {
        drop_empty_choices(schema);
        is_constrained_schema |= write_integer_bounds(schema);
    })
    .transform(&mut document);
    // After the bounds of the types, which may be narrower, and while all definitions are there.
    let mut with_rules = document.to_value();
    is_constrained_schema |= apply_marks(&mut with_rules);
    let mut document = Document::try_from(with_rules).unwrap_or_default();
    inline_definitions(&mut document);
    Schema::new(document.to_value(), is_constrained_schema)
}

/// Removes empty choices, which schemars generates for an enum whose only undocumented variant is
/// skipped. Providers refuse them.
fn drop_empty_choices(schema: &mut Document) {
    if let Some(Value::Array(branches)) = schema.get_mut("oneOf") {
        let is_empty = |choices: &Value| choices.as_array().is_some_and(Vec::is_empty);
        branches.retain(|branch| !branch.get("enum").is_some_and(is_empty));
    }
}

/// Replaces `format: "uint32"` and the like, which name Rust types, with bounds, which a model
/// understands. Returns true if the bounds have to be checked: serde decodes numbers beyond `f32`
/// as infinity.
fn write_integer_bounds(schema: &mut Document) -> bool {
    let numeric = schema.get("type").is_some_and(|types| match types {
        Value::Array(types) => types.iter().any(is_numeric),
        name => is_numeric(name),
    });
    if !numeric {
        return false;
    }
    // schemars writes the bounds of smaller types itself. Those of larger types are beyond what a
    // model would send.
    let (min, max): (Value, Value) = match schema.remove("format").as_ref().and_then(Value::as_str)
    {
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        Some("uint32") => (0.into(), u32::MAX.into()),
        Some("float") => (f32::MIN.into(), f32::MAX.into()),
        _ => return false,
    };
    let to_check = max.is_f64();
    let members = schema.ensure_object();
    members.entry("minimum").or_insert(min);
    members.entry("maximum").or_insert(max);
    to_check
}

fn is_numeric(name: &Value) -> bool {
    matches!(name.as_str(), Some("integer" | "number"))
}

/// Returns true if a single parameter with this root schema is the arguments object itself, rather
/// than one named argument: an object with named members, or without members.
///
/// A map, and any value that is no object, is one argument.
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

    /// Money and its currency.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
    struct Pay {
        amount: bool,
    }

    /// A salary.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
    struct Wage(Pay);

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
    struct Tree {
        kids: Vec<Self>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
    struct Root(Tree);

    /// A type without values.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
    struct Endless(Box<Self>);

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema of the type is used")]
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
    fn newtype_has_schema_of_inner_type() {
        let pay = json!({
            "type": "object",
            "description": "A salary.",
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
    fn empty_choice_is_removed() {
        let celsius = json!({"type": "string", "const": "Celsius", "description": "Warm"});
        assert_eq!(of::<Unit>(), json!({"oneOf": [celsius]}));
    }
}
