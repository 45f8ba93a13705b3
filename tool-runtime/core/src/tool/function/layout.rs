//! The layout of a function's arguments in the JSON object of a call, and its schema.

use serde_json::{Map, Value, json};

use crate::schema::{Generator, part_as_root, takes_whole_object};
use crate::tool::param::Parameter;

/// Whether the only parameter of a function is its args struct.
#[derive(Clone, Copy, Debug)]
pub enum LoneParameter {
    /// The type of the parameter decides.
    ByType,
    /// The parameter is the args struct (`#[arg(flatten)]`).
    ArgsStruct,
    /// The parameter is a named argument (`#[arg(named)]`).
    Named,
}

/// How the arguments are laid out in the JSON object of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The object is the argument of the parameter with this index: an args struct.
    ArgsStruct(usize),
    /// Each member of the object is an argument.
    Named,
}

/// Returns the layout and the schema of all arguments, which is not finished yet.
pub(crate) fn lay_out(parameters: &[Parameter], lone: LoneParameter) -> (Layout, Value) {
    let mut generator = Generator::new();
    let mut parts = Vec::new();
    for (index, parameter) in parameters.iter().enumerate() {
        if let Some(schema) = parameter.schema {
            parts.push((index, parameter, schema(&mut generator)));
        }
    }
    let definitions = generator.into_definitions();
    if let ([(index, _, part)], LoneParameter::ByType | LoneParameter::ArgsStruct) =
        (parts.as_slice(), lone)
    {
        let root = part_as_root(part, &definitions);
        if matches!(lone, LoneParameter::ArgsStruct) || takes_whole_object(&root) {
            return (Layout::ArgsStruct(*index), root);
        }
    }
    let parts = parts.into_iter().map(|(_, parameter, part)| (parameter, part));
    (Layout::Named, object(parts, definitions))
}

/// Returns the schema of an object with one member for each argument.
fn object<'a>(
    parts: impl Iterator<Item = (&'a Parameter, Value)>,
    definitions: Map<String, Value>,
) -> Value {
    let mut required = Vec::new();
    let mut properties = Map::new();
    for (parameter, part) in parts {
        if !parameter.is_optional() {
            required.push(parameter.name);
        }
        properties.insert(parameter.name.into(), with_description(part, parameter.description));
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

/// Sets the description of a parameter, which takes precedence over that of its type.
fn with_description(schema: Value, description: &str) -> Value {
    if description.is_empty() {
        return schema;
    }
    let mut members = Map::new();
    match schema {
        Value::Object(keywords) => members = keywords,
        Value::Bool(false) => _ = members.insert("not".into(), json!({})),
        _ => {}
    }
    members.insert("description".into(), description.into());
    Value::Object(members)
}
