//! How a function's arguments lie in the object that a model sends, and the schema of that object.

use serde_json::{Map, Value, json};

use super::param::Parameter;
use crate::schema::{Generator, part_as_root, takes_whole_object};

/// Whether a lone parameter is the args struct.
#[derive(Clone, Copy, Debug)]
pub enum Lone {
    /// Its type says.
    ByType,
    /// It is.
    Whole,
    /// It is one named argument.
    Named,
}

/// How the arguments lie in the object that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// The object is the one argument, the parameter of this index: an args struct.
    Whole(usize),
    /// Each member is an argument.
    Named,
}

/// Where the arguments lie, and the schema of them all, still to be finished.
pub(super) fn lay_out(parameters: &[Parameter], lone: Lone) -> (Layout, Value) {
    let mut generator = Generator::new();
    let mut parts = Vec::new();
    for (index, parameter) in parameters.iter().enumerate() {
        if let Some(schema) = parameter.schema {
            parts.push((index, parameter, schema(&mut generator)));
        }
    }
    let definitions = generator.into_definitions();
    if let ([(index, _, part)], Lone::ByType | Lone::Whole) = (parts.as_slice(), lone) {
        let root = part_as_root(part, &definitions);
        if matches!(lone, Lone::Whole) || takes_whole_object(&root) {
            return (Layout::Whole(*index), root);
        }
    }
    let parts = parts.into_iter().map(|(_, parameter, part)| (parameter, part));
    (Layout::Named, object(parts, definitions))
}

/// The schema of an object with one member for each argument.
fn object<'a>(
    parts: impl Iterator<Item = (&'a Parameter, Value)>,
    definitions: Map<String, Value>,
) -> Value {
    let mut required = Vec::new();
    let mut properties = Map::new();
    for (parameter, part) in parts {
        if !(parameter.is_optional)() {
            required.push(parameter.name);
        }
        properties.insert(parameter.name.into(), described(part, parameter.description));
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if let Some(members) = schema.as_object_mut() {
        if !required.is_empty() {
            members.insert("required".into(), json!(required));
        }
        if !definitions.is_empty() {
            members.insert("$defs".into(), definitions.into());
        }
    }
    schema
}

/// What the parameter's own documentation says goes before what its type's says.
fn described(schema: Value, description: &str) -> Value {
    if description.is_empty() {
        return schema;
    }
    let mut members = match schema {
        Value::Object(members) => members,
        Value::Bool(false) => Map::from_iter([("not".into(), json!({}))]),
        _ => Map::new(),
    };
    members.insert("description".into(), description.into());
    Value::Object(members)
}
