use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// Makes the schemas of one tool, which share their `$defs`.
#[derive(Debug)]
pub struct Generator(SchemaGenerator);

impl Generator {
    pub(crate) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.meta_schema = None)
            .with_transform(RecursiveTransform(drop_number_format));
        Self(settings.into_generator())
    }

    /// The schema of `T` as a document of its own.
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
        let mut part = self.0.subschema_for::<T>();
        for transform in self.0.transforms_mut() {
            transform.transform(&mut part);
        }
        part.to_value()
    }

    /// The `$defs` that the parts refer to.
    pub(crate) fn into_definitions(mut self) -> Map<String, Value> {
        self.0.take_definitions(true)
    }
}

/// `format: "uint8"` and the like name Rust's types; the bounds beside them say it to a model.
fn drop_number_format(schema: &mut Schema) {
    let numeric = schema.get("type").is_some_and(|types| match types {
        Value::Array(types) => types.iter().any(is_numeric),
        one => is_numeric(one),
    });
    if numeric {
        schema.remove("format");
    }
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
