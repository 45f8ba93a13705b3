use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema as Document};
use serde_json::{Map, Value};

use super::Schema;
use super::constraints::is_constrained;

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
        root.to_value()
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

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None)
}

/// What schemars made, as it goes to a model.
pub(crate) fn finish(document: Value) -> Schema {
    // Asked first: what restates a Rust type is told from a rule by the format beside it.
    let mut constrained = is_constrained(&document);
    let mut document = Document::try_from(document).unwrap_or_default();
    RecursiveTransform(|schema: &mut Document| constrained |= say_bounds(schema))
        .transform(&mut document);
    Schema::new(document.to_value(), constrained)
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
    let target = root
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        .unwrap_or(root);
    let open = match target.get("additionalProperties") {
        None | Some(Value::Bool(false)) => false,
        Some(_) => true,
    };
    target.get("type").and_then(Value::as_str) == Some("object")
        && (target.get("properties").is_some() || !open)
}
